/** What both sides of watches.ts have to know. */

export const CERTIFICATES: URL = new URL(
  '../../adapters/kubernetes/test-certificates/',
  import.meta.url,
)

/** About what PartialObjectMetadata of a pod is. */
const EVENT_BYTES = 1_024

export function eventBytes(): Buffer {
  return Buffer.from(`${'a'.repeat(EVENT_BYTES - 1)}\n`)
}

/** Of one turn. */
export interface Watched {
  readonly connections: number
  readonly memoryKb: number
  /** Of this process: to open all, and for all a second while nothing happens. */
  readonly openMs: number
  readonly quietMs: number
  /** Microseconds of it. */
  readonly eventUs: number
}
