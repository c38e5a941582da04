/**
 * Traces and metrics of a whole Kinfold go to a collector when the environment asks for it, and a
 * collector that does not work costs nothing else.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { type Manner, OtlpReceiver, tracedDeletion } from '../../testing/otlp-receiver.ts'
import { type Ran, startKinfold } from '../../testing/process/kinfold-command.ts'
import { VERSION } from '../print/version.ts'

const SOON = { OTEL_BSP_SCHEDULE_DELAY: '200', OTEL_METRIC_EXPORT_INTERVAL: '500' }

test('a deletion is one trace, from the event that was read to the answer of the API server', async (t) => {
  const collector = await receiver(t)
  const data = playground(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...SOON })
  await eventually('a deletion was traced', async () => {
    const found = tracedDeletion(collector.spans)
    return typeof found !== 'string' || found
  })
  const found = tracedDeletion(collector.spans)
  ok(typeof found !== 'string')
  const { watch, command, reap, call } = found
  deepEqual(
    [watch, command, reap, call].map(({ traceId }) => traceId === watch.traceId),
    [true, true, true, true],
  )
  equal(watch.parentSpanId, '')
  equal(command.attributes['kinfold.command.id'], reap.attributes['kinfold.command.id'])
  match(command.attributes['kinfold.command.id'] ?? '', /^\d+-\d+-\d+$/)
  equal(command.attributes['kinfold.object.uid'], reap.attributes['kinfold.object.uid'])
  match(call.attributes['kinfold.call.outcome'] ?? '', /^(Removed|Changed|Absent|Conflict)$/)
  ok(call.startNanos >= reap.startNanos && call.endNanos >= call.startNanos)
  deepEqual(
    [watch.resource['service.name'], watch.resource['service.version']],
    ['kinfold', VERSION],
  )
  await eventually('metrics came, too', async () => {
    const names = collector.metrics.get('kinfold') ?? new Set()
    return names.has('kinfold_objects') && names.has('kinfold_api_call_duration_seconds')
  })
  match(await data.metrics(), /^kinfold_telemetry_spans_total\{.*result="sent".*\} [1-9]/m)
  equal((await data.stop()).code, 0)
})

for (const manner of ['refuse', 'hang'] as const satisfies readonly Manner[]) {
  test(`a collector that would ${manner} costs spans, and holds nothing up`, async (t) => {
    const collector = await receiver(t)
    collector.manner = manner
    const queue = { OTEL_BSP_MAX_QUEUE_SIZE: '16', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8' }
    const endpoint = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_METRICS_EXPORTER: 'none' }
    // An end that waited for the collector would come in an hour.
    const patient = { OTEL_EXPORTER_OTLP_TIMEOUT: '3600000' }
    const data = playground(t, { ...endpoint, ...patient, ...SOON, ...queue })
    await eventually('spans are dropped, and objects deleted all the same', async () => {
      const text = await data.metrics()
      const isDropped = /^kinfold_telemetry_spans_total\{.*result="dropped".*\} [1-9]/m.test(text)
      const isDeleting = /^kinfold_commands_total\{.*result="done".*\} [1-9]/m.test(text)
      return (isDropped && isDeleting) || `${isDropped} ${isDeleting} of ${collector.requests}`
    })
    const { code, stderr } = await data.stop()
    equal(code, 0, stderr)
  })
}

test('what cannot be had of the variables is a warning, and nothing is sent', async (t) => {
  const collector = await receiver(t)
  const data = playground(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
    ...SOON,
  })
  await data.metrics()
  const { code, stderr } = await data.stop()
  equal(code, 0)
  match(stderr, /OTEL_EXPORTER_OTLP_PROTOCOL is grpc: nothing is sent, only http\/protobuf/)
  equal(collector.requests, 0)
})

async function receiver(t: TestContext): Promise<OtlpReceiver> {
  const collector = await OtlpReceiver.start()
  t.after(() => collector[Symbol.asyncDispose]())
  return collector
}

interface Playing {
  /** Once it is ready. */
  metrics(): Promise<string>
  stop(): Promise<Ran>
}

function playground(t: TestContext, env: Readonly<Record<string, string>>): Playing {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-telemetry-'))
  const args = ['playground', '--http', '127.0.0.1:0', '--data', data]
  const { child, ended } = startKinfold(args, env)
  const stop = async (): Promise<Ran> => {
    child.kill('SIGTERM')
    return await ended
  }
  t.after(async () => {
    await stop()
    rmSync(data, { recursive: true, force: true })
  })
  return {
    stop,
    async metrics() {
      let text = ''
      await eventually('the endpoint answers', async () => {
        const { url } = JSON.parse(readFileSync(join(data, 'http.json'), 'utf8')) as { url: string }
        text = await (await fetch(`${url}/metrics`)).text()
        return true
      })
      return text
    },
  }
}
