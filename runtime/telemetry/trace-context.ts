/**
 * W3C's `traceparent`, as records carry it.
 *
 * What must stay true: what another program wrote there is a context of the form that the standard
 * gives, or none.
 *
 * Not here: `tracestate`, which no record carries.
 */
import type { SpanContext } from '@opentelemetry/api'

/** Of version 00, the only one there is; ids of zeros alone are no ids. */
const TRACEPARENT = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/
const SAMPLED = 1

export function traceText({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & SAMPLED) === 0 ? '00' : '01'}`
}

export function traceOf(text: string | undefined): SpanContext | undefined {
  const match = text === undefined ? null : TRACEPARENT.exec(text)
  if (match === null) return undefined
  const [, traceId, spanId, flags] = match as unknown as [string, string, string, string]
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & SAMPLED, isRemote: true }
}

export function isSampled({ traceFlags }: SpanContext): boolean {
  return (traceFlags & SAMPLED) !== 0
}
