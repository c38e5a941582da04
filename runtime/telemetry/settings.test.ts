/**
 * The standard variables: off without them, on by those that the standard names, and a value that
 * cannot be used is a warning.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { telemetrySettings } from './settings.ts'

const AT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' }

const CASES: readonly (readonly [string, Readonly<Record<string, string>>, string])[] = [
  ['nothing', {}, ''],
  ['an endpoint', AT, 'traces metrics'],
  ['an endpoint that is empty', { OTEL_EXPORTER_OTLP_ENDPOINT: ' ' }, ''],
  ['an endpoint of one signal', { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://c' }, 'traces'],
  ['an exporter without an endpoint', { OTEL_TRACES_EXPORTER: 'otlp' }, 'traces'],
  ['metrics alone', { ...AT, OTEL_TRACES_EXPORTER: 'none' }, 'metrics'],
  ['traces alone', { ...AT, OTEL_METRICS_EXPORTER: 'none' }, 'traces'],
  ['metrics for Prometheus', { ...AT, OTEL_METRICS_EXPORTER: 'prometheus' }, 'traces'],
  ['both of metrics', { OTEL_METRICS_EXPORTER: 'prometheus,otlp' }, 'metrics'],
  ['an SDK that is disabled', { ...AT, OTEL_SDK_DISABLED: 'TRUE' }, ''],
  ['our protocol', { ...AT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }, 'traces metrics'],
]

for (const [what, environment, expected] of CASES) {
  test(`${what} asks for ${expected || 'nothing'}`, () => {
    const { traces, metrics, warnings } = telemetrySettings(environment)
    equal([...(traces ? ['traces'] : []), ...(metrics ? ['metrics'] : [])].join(' '), expected)
    deepEqual(warnings, [])
  })
}

for (const [what, environment, warning, expected] of [
  ['another exporter', { OTEL_TRACES_EXPORTER: 'zipkin' }, /names zipkin/, false],
  ['another exporter beside ours', { OTEL_TRACES_EXPORTER: 'otlp,console' }, /console/, true],
  ['another protocol', { ...AT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, /is grpc/, false],
  ['another sampler', { ...AT, OTEL_TRACES_SAMPLER: 'jaeger_remote' }, /jaeger_remote/, true],
  ['a queue of nothing', { ...AT, OTEL_BSP_MAX_QUEUE_SIZE: '0' }, /MAX_QUEUE_SIZE/, true],
  ['a queue without end', { ...AT, OTEL_BSP_MAX_QUEUE_SIZE: '9999999' }, /MAX_QUEUE_SIZE/, true],
] as const) {
  test(`${what} is a warning`, () => {
    const { traces, warnings } = telemetrySettings(environment)
    equal(traces, expected)
    match(warnings.join('\n'), warning)
  })
}

test('spans go by their parents, or by the share that is asked for', () => {
  const sampling = (name: string, argument = ''): unknown =>
    telemetrySettings({ OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument }).sampling
  deepEqual(sampling(''), { isParentBased: true, root: 'always_on', ratio: 1 })
  deepEqual(sampling('always_off'), { isParentBased: false, root: 'always_off', ratio: 1 })
  const share = { isParentBased: true, root: 'traceidratio' }
  deepEqual(sampling('parentbased_traceidratio', '0.01'), { ...share, ratio: 0.01 })
  for (const wrong of ['-1', '2', 'x']) {
    deepEqual(sampling('parentbased_traceidratio', wrong), { ...share, ratio: 1 })
  }
})

test('a batch is no larger than the queue, and no send takes longer than until the next', () => {
  const { batching, metricIntervalMs, metricTimeoutMs } = telemetrySettings({
    OTEL_BSP_MAX_QUEUE_SIZE: '10',
    OTEL_METRIC_EXPORT_INTERVAL: '100',
  })
  deepEqual([batching.maxQueueSize, batching.maxExportBatchSize], [10, 10])
  deepEqual([metricIntervalMs, metricTimeoutMs], [100, 100])
})
