/**
 * Sends spans and metrics by OTLP over HTTP. Loaded only where the environment asks for it
 * (settings.ts).
 *
 * What must stay true: a collector that does not answer holds up neither the service nor its end.
 * What goes wrong is a line in the log, once a minute at most for the same thing.
 */
import { DiagLogLevel, diag, type Tracer } from '@opentelemetry/api'
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import type { Resource } from '@opentelemetry/resources'
import { type MetricReader, PeriodicExportingMetricReader } from '@opentelemetry/sdk-metrics'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from '../logger.ts'
import { BoundedMap } from './bounded-map.ts'
import type { Sampling, TelemetrySettings } from './settings.ts'
import { type SpanCounts, SpanQueue } from './span-queue.ts'
import { MOST_LINKS } from './traces.ts'

/** What is left is sent at the end, for so long at most. */
const LAST_MS = 2_000
const LINE_MS = 60_000
const MOST_COMPLAINTS = 64
const COMPLAINT_LENGTH = 300

export interface OpenTracer extends AsyncDisposable {
  readonly tracer: Tracer
  counts(): SpanCounts
}

export function openTracer(
  { sampling, batching }: TelemetrySettings,
  resource: Resource,
  version: string,
): OpenTracer {
  const queue = new SpanQueue(
    batching.maxQueueSize,
    new OTLPTraceExporter(),
    (exporter) => new BatchSpanProcessor({ exporter, ...batching }),
  )
  const provider = new TracerProvider({
    resource,
    sampler: samplerOf(sampling),
    spanLimits: { linkCountLimit: MOST_LINKS, attributeValueLengthLimit: 1_024 },
    spanProcessors: [queue],
  })
  return {
    tracer: provider.getTracer('kinfold', version),
    counts: () => queue.counts(),
    [Symbol.asyncDispose]: () => withinLast(provider.shutdown()),
  }
}

export function metricReader(settings: TelemetrySettings): MetricReader {
  const { metricIntervalMs, metricTimeoutMs } = settings
  return new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: metricIntervalMs,
    exportTimeoutMillis: metricTimeoutMs,
  })
}

/** OpenTelemetry's own complaints. */
export function logComplaints(logger: Logger, monotonicMs: () => number): void {
  const said = new BoundedMap<string, number>(MOST_COMPLAINTS)
  const complain = (message: string, ...details: readonly unknown[]): void => {
    const reason = [message, ...details].map((each) => reasonOf(each)).join(' ')
    const complaint = reason.slice(0, COMPLAINT_LENGTH)
    const saidMs = said.get(complaint)
    if (saidMs !== undefined && monotonicMs() - saidMs < LINE_MS) return
    said.delete(complaint)
    said.set(complaint, monotonicMs())
    logger.log('warn', 'telemetry', { reason: complaint })
  }
  const ignore = (): void => undefined
  diag.setLogger(
    { error: complain, warn: complain, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  )
}

function reasonOf(detail: unknown): string {
  if (typeof detail === 'string') return detail
  return detail instanceof Error ? detail.message : (JSON.stringify(detail) ?? String(detail))
}

function samplerOf({ isParentBased, root, ratio }: Sampling): Sampler {
  const sampler = rootOf(root, ratio)
  return isParentBased ? new ParentBasedSampler({ root: sampler }) : sampler
}

function rootOf(root: Sampling['root'], ratio: number): Sampler {
  switch (root) {
    case 'always_on':
      return new AlwaysOnSampler()
    case 'always_off':
      return new AlwaysOffSampler()
    case 'traceidratio':
      return new TraceIdRatioBasedSampler(ratio)
  }
}

/** Whatever becomes of it: the end of the process does not depend on a collector. */
export async function withinLast(work: Promise<unknown>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, LAST_MS)
  try {
    await Promise.race([work.catch(() => undefined), promise])
  } finally {
    clearTimeout(timer)
  }
}
