/**
 * Port: one task's state, an ordered map of keys to bytes. A materialized view of the changelog, and disposable.
 *
 * Guarantees: a write is atomic with its checkpoint; after a crash the content is that of some earlier write, whole; damage is
 * reported by `DAMAGED` at open, at a read or by `verify`, never by a hole or another value. Assumes: keys are printable ASCII (so all
 * orders agree) and do not begin with `~`, which is the store's own; values are not changed after `write`; one writer.
 *
 * Not here: changes not yet committed (core/graph/graph.ts holds those), the meaning of the values (codec.ts).
 */

export type StoreEntry = readonly [key: string, value: Uint8Array]
export type StoreChange = readonly [key: string, value: Uint8Array | null]

export interface Checkpoint {
  /** Next changelog offset to apply. */
  readonly changelog: bigint
  /** Next event to fold. */
  readonly position: bigint
}

export interface KeyRange {
  /** Inclusive. */
  readonly gte: string
  /** Exclusive. */
  readonly lt: string
  readonly limit: number
}

/** The content of a store at one moment, whatever is written later. */
export interface StoreView extends AsyncDisposable {
  /** In key order. `CLOSED` once the store was closed or wiped. */
  page(range: KeyRange): Promise<readonly StoreEntry[]>
}

export interface Store extends AsyncDisposable {
  /** Undefined when nothing was ever written (or after `wipe`). */
  checkpoint(): Checkpoint | undefined
  /** Synchronous: the fold reads while it runs. */
  get(key: string): Uint8Array | undefined
  /** In key order. */
  page(range: KeyRange): Promise<readonly StoreEntry[]>
  /** As of now, which is between two writes. Close it when it has been read: until then it keeps its space. */
  view(): StoreView
  write(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void>
  /** Forgets everything, damage included; the store is then as new. */
  wipe(): Promise<void>
  /** Reads everything back and checks it. */
  verify(signal?: AbortSignal): Promise<void>
}

/** Half-open range of all keys that begin with `prefix`. */
export function prefixRange(prefix: string, limit: number): KeyRange {
  const last = prefix.charCodeAt(prefix.length - 1)
  return { gte: prefix, lt: prefix.slice(0, -1) + String.fromCharCode(last + 1), limit }
}

/** `rebuild`: wipe it and replay the changelog. `stop`: only a person can help. */
export type StoreRemedy = 'rebuild' | 'stop'

export type StoreErrorCode = 'DAMAGED' | 'FORMAT' | 'LOCKED' | 'FULL' | 'IO' | 'CLOSED'

const REMEDIES: Readonly<Record<StoreErrorCode, StoreRemedy>> = {
  DAMAGED: 'rebuild',
  FORMAT: 'rebuild',
  LOCKED: 'stop',
  FULL: 'stop',
  IO: 'stop',
  CLOSED: 'stop',
}

export class StoreError extends Error {
  override readonly name = 'StoreError'
  readonly code: StoreErrorCode
  readonly remedy: StoreRemedy

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.remedy = REMEDIES[code]
  }
}
