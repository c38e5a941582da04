/**
 * Metrics through OpenTelemetry, in Prometheus' text form. What must stay true: labels are bounded
 * (cluster, group, kind, verb, result, reason, code), never a uid or a name.
 */
import type { Meter } from '@opentelemetry/api'
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from '@opentelemetry/resources'
import { MeterProvider, type MetricReader } from '@opentelemetry/sdk-metrics'

export interface Metrics extends AsyncDisposable {
  readonly meter: Meter
  /** Prometheus' text exposition format. */
  scrape(): Promise<string>
}

/**
 * What `target_info`, spans and metrics say of this process; what the environment says
 * (`OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`) goes before.
 */
export function resourceOf(service: string, version: string, instance?: string): Resource {
  const named = {
    ...{ 'service.name': service, 'service.version': version },
    ...(instance !== undefined && { 'service.instance.id': instance }),
  }
  return defaultResource()
    .merge(resourceFromAttributes(named))
    .merge(detectResources({ detectors: [envDetector, serviceNameEnvDetector] }))
}

/** `others`: where metrics go beside the endpoint. */
export function createMetrics(resource: Resource, others: readonly MetricReader[] = []): Metrics {
  // No server of its own: the endpoint is one of ours.
  const exporter = new PrometheusExporter({ preventServerStart: true })
  const provider = new MeterProvider({ resource, readers: [exporter, ...others] })
  const serializer = new PrometheusSerializer('', false)
  return {
    meter: provider.getMeter('kinfold'),
    async scrape() {
      const { resourceMetrics, errors } = await exporter.collect()
      if (errors.length > 0) throw new AggregateError(errors, 'metrics could not be collected')
      return serializer.serialize(resourceMetrics)
    },
    async [Symbol.asyncDispose]() {
      await provider.shutdown()
    },
  }
}

/**
 * A gauge or counter read from a snapshot whenever it is scraped: no counting twice, and no state
 * here.
 */
export interface Reading {
  readonly value: number
  readonly labels: Readonly<Record<string, string>>
}

export function observeGauge(
  meter: Meter,
  name: string,
  description: string,
  read: () => readonly Reading[],
): void {
  meter.createObservableGauge(name, { description }).addCallback((result) => {
    for (const { value, labels } of read()) result.observe(value, labels)
  })
}

/** `name` without `_total`: the exporter adds it. */
export function observeCounter(
  meter: Meter,
  name: string,
  description: string,
  read: () => readonly Reading[],
): void {
  meter.createObservableCounter(name, { description }).addCallback((result) => {
    for (const { value, labels } of read()) result.observe(value, labels)
  })
}
