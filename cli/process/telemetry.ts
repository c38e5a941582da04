/**
 * Metrics of a process, and its traces where the environment asks for them.
 *
 * What must stay true: without OpenTelemetry's variables nothing is sent, and no module that sends
 * or traces is loaded.
 *
 * Not here: which variables there are (runtime/telemetry/settings.ts), what is in a trace
 * (runtime/telemetry/traces.ts).
 */
import { hostname } from 'node:os'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createMetrics, type Metrics, observeCounter, resourceOf } from '../../runtime/metrics.ts'
import type { CallObserver } from '../../runtime/telemetry/observed-cluster.ts'
import { telemetrySettings } from '../../runtime/telemetry/settings.ts'
import type { Traces } from '../../runtime/telemetry/traces.ts'
import type { TaskObserver } from '../../services/graph/fold/task.ts'
import { VERSION } from '../print/version.ts'

export interface Telemetry extends AsyncDisposable {
  readonly metrics: Metrics
  /** Undefined: they are switched off. */
  readonly traces: ProcessTraces | undefined
}

/** What a process has to tell them, and the log that carries them. */
export interface ProcessTraces {
  log(log: Log): Log
  readonly folded: NonNullable<TaskObserver['folded']>
  readonly called: CallObserver
}

export interface TelemetryParts {
  /** As others name it: `kinfold-watcher`, say. */
  readonly service: string
  readonly codec: Codec
  readonly clock: Clock
  readonly logger: Logger
}

export async function openTelemetry(parts: TelemetryParts): Promise<Telemetry> {
  const { service, clock, logger } = parts
  const settings = telemetrySettings(process.env)
  for (const reason of settings.warnings) logger.log('warn', 'telemetry', { reason })
  if (!settings.traces && !settings.metrics) {
    const metrics = createMetrics(resourceOf(service, VERSION))
    return { metrics, traces: undefined, [Symbol.asyncDispose]: () => close(metrics) }
  }
  // What several processes of a service send has to be distinguished; a scraper knows whom it
  // asked.
  const resource = resourceOf(service, VERSION, `${hostname()}:${process.pid}`)
  const otlp = await import('../../runtime/telemetry/otlp.ts')
  otlp.logComplaints(logger, () => clock.monotonicMs())
  const { traces: isTraced, metrics: isSent } = settings
  logger.log('info', 'telemetry is sent', { traces: isTraced, metrics: isSent })
  const metrics = createMetrics(resource, isSent ? [otlp.metricReader(settings)] : [])
  if (!isTraced) {
    const end = (): Promise<void> => otlp.withinLast(close(metrics))
    return { metrics, traces: undefined, [Symbol.asyncDispose]: end }
  }
  const tracer = otlp.openTracer(settings, resource, VERSION)
  const traces = await tracesOf(parts, tracer.tracer)
  observeCounter(
    metrics.meter,
    'kinfold_telemetry_spans',
    'Spans that the collector took (sent) or did not take (failed), or that were too many to wait for it (dropped).',
    () => Object.entries(tracer.counts()).map(([result, value]) => ({ value, labels: { result } })),
  )
  return {
    metrics,
    traces,
    [Symbol.asyncDispose]: async () => {
      await Promise.all([tracer[Symbol.asyncDispose](), otlp.withinLast(close(metrics))])
    },
  }
}

async function tracesOf(
  { codec, clock }: TelemetryParts,
  tracer: ConstructorParameters<typeof Traces>[0]['tracer'],
): Promise<Traces> {
  const { Traces } = await import('../../runtime/telemetry/traces.ts')
  return new Traces({ tracer, codec, clock })
}

async function close(metrics: Metrics): Promise<void> {
  await metrics[Symbol.asyncDispose]()
}
