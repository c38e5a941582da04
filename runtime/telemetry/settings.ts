/**
 * What the standard environment variables of OpenTelemetry ask for. Without them nothing is sent,
 * and nothing that sends is loaded.
 *
 * What must stay true: a value that cannot be used costs a warning, never the start, as the
 * standard has it.
 *
 * Not here: those that the exporters read themselves (`OTEL_EXPORTER_OTLP_*`: endpoint, headers,
 * timeout, compression, certificates).
 */

type Environment = Readonly<Record<string, string | undefined>>

export type SamplerName = 'always_on' | 'always_off' | 'traceidratio'

export interface Sampling {
  /** Whether a span with a parent goes by its parent's. */
  readonly isParentBased: boolean
  readonly root: SamplerName
  /** For `traceidratio`, from 0 to 1. */
  readonly ratio: number
}

export interface Batching {
  readonly maxQueueSize: number
  readonly maxExportBatchSize: number
  readonly scheduledDelayMillis: number
  readonly exportTimeoutMillis: number
}

export interface TelemetrySettings {
  readonly traces: boolean
  readonly metrics: boolean
  readonly sampling: Sampling
  readonly batching: Batching
  /** How often metrics are sent, and for how long that may take. */
  readonly metricIntervalMs: number
  readonly metricTimeoutMs: number
  /** What was asked for and cannot be. */
  readonly warnings: readonly string[]
}

const SAMPLERS: Readonly<Record<string, Omit<Sampling, 'ratio'>>> = {
  always_on: { isParentBased: false, root: 'always_on' },
  always_off: { isParentBased: false, root: 'always_off' },
  traceidratio: { isParentBased: false, root: 'traceidratio' },
  parentbased_always_on: { isParentBased: true, root: 'always_on' },
  parentbased_always_off: { isParentBased: true, root: 'always_off' },
  parentbased_traceidratio: { isParentBased: true, root: 'traceidratio' },
}
const DEFAULT_SAMPLER = 'parentbased_always_on'
/** A queue holds spans of some hundred bytes each. */
const MOST_QUEUED = 65_536
const MOST_MS = 3_600_000

export function telemetrySettings(environment: Environment): TelemetrySettings {
  const warnings: string[] = []
  const read = (name: string): string => environment[name]?.trim() ?? ''
  const isOff = read('OTEL_SDK_DISABLED').toLowerCase() === 'true'
  const isOn = (signal: 'TRACES' | 'METRICS'): boolean => {
    if (isOff) return false
    const hasExporter = exports(signal, read, warnings)
    return hasExporter && speaksOurs(signal, read, warnings)
  }
  const number = (name: string, otherwise: number, most: number): number => {
    const text = read(name)
    if (text === '') return otherwise
    const value = Number(text)
    if (Number.isInteger(value) && value > 0 && value <= most) return value
    warnings.push(`${name} is no whole number from 1 to ${most}: ${otherwise} is taken`)
    return otherwise
  }
  const traces = isOn('TRACES')
  const metrics = isOn('METRICS')
  const maxQueueSize = number('OTEL_BSP_MAX_QUEUE_SIZE', 2_048, MOST_QUEUED)
  const batch = number('OTEL_BSP_MAX_EXPORT_BATCH_SIZE', 512, MOST_QUEUED)
  const metricIntervalMs = number('OTEL_METRIC_EXPORT_INTERVAL', 60_000, MOST_MS)
  const metricTimeoutMs = number('OTEL_METRIC_EXPORT_TIMEOUT', 30_000, MOST_MS)
  return {
    traces,
    metrics,
    sampling: samplingOf(read, warnings),
    batching: {
      maxQueueSize,
      maxExportBatchSize: Math.min(batch, maxQueueSize),
      scheduledDelayMillis: number('OTEL_BSP_SCHEDULE_DELAY', 5_000, MOST_MS),
      exportTimeoutMillis: number('OTEL_BSP_EXPORT_TIMEOUT', 30_000, MOST_MS),
    },
    metricIntervalMs,
    metricTimeoutMs: Math.min(metricTimeoutMs, metricIntervalMs),
    // Warnings about what is switched off are of no use.
    warnings: isOff ? [] : warnings,
  }
}

type Read = (name: string) => string

/**
 * The standard's default is `otlp`; here an endpoint has to be named as well, so that nothing is
 * sent unasked.
 */
function exports(signal: string, read: Read, warnings: string[]): boolean {
  const name = `OTEL_${signal}_EXPORTER`
  const asked = read(name)
  if (asked === '') {
    return (
      read('OTEL_EXPORTER_OTLP_ENDPOINT') !== '' ||
      read(`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`) !== ''
    )
  }
  const exporters = asked.split(',').map((each) => each.trim())
  // Metrics are served for Prometheus in any case.
  const known = new Set(['otlp', 'none', ...(signal === 'METRICS' ? ['prometheus'] : [])])
  for (const each of exporters) {
    if (!known.has(each)) warnings.push(`${name} names ${each}: only otlp and none are known`)
  }
  return exporters.includes('otlp')
}

function speaksOurs(signal: string, read: Read, warnings: string[]): boolean {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`
  const asked = read(own) || read('OTEL_EXPORTER_OTLP_PROTOCOL')
  if (asked === '' || asked === 'http/protobuf') return true
  warnings.push(
    `OTEL_EXPORTER_OTLP_PROTOCOL is ${asked}: nothing is sent, only http/protobuf is known (port 4318 of most collectors)`,
  )
  return false
}

function samplingOf(read: Read, warnings: string[]): Sampling {
  const name = read('OTEL_TRACES_SAMPLER') || DEFAULT_SAMPLER
  const found = SAMPLERS[name]
  if (found === undefined) {
    warnings.push(`OTEL_TRACES_SAMPLER names ${name}: ${DEFAULT_SAMPLER} is taken`)
  }
  const sampler = found ?? { isParentBased: true, root: 'always_on' }
  const argument = read('OTEL_TRACES_SAMPLER_ARG')
  const ratio = argument === '' ? 1 : Number(argument)
  if (sampler.root !== 'traceidratio' || (ratio >= 0 && ratio <= 1)) return { ...sampler, ratio }
  warnings.push(`OTEL_TRACES_SAMPLER_ARG is no number from 0 to 1: 1 is taken`)
  return { ...sampler, ratio: 1 }
}
