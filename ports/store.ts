/**
 * Port: one task's state, an ordered map of keys to bytes. A materialized view of the changelog,
 * and disposable.
 *
 * Guarantees: a write is atomic with its checkpoint; after a crash the content is that of some
 * earlier write, whole; damage is reported by `DAMAGED` at open, at a read or by `verify`, never by
 * a hole or another value. Assumes: keys are printable ASCII (so all orders agree) and do not begin
 * with `~`, which is the store's own; values are not changed after `write`; one writer.
 *
 * Not here: changes not yet committed (core/graph/graph.ts holds those), the meaning of the values
 * (codec.ts).
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
  /** Of a page. */
  readonly limit: number
  /**
   * Which keys a page has where the range has more than its limit: the first, unless it says so.
   */
  readonly take?: 'first' | 'last'
  /**
   * At most so many keys are in the range, as the caller knows from a count: none beyond them is
   * searched for. A page of LevelDB that looks for one more key passes all that were deleted there.
   */
  readonly most?: number
}

/** Never the rows alone: who reads a page decides what a cut one means. */
export interface StorePage {
  /** In key order, whichever end of the range they were taken from. */
  readonly rows: readonly StoreEntry[]
  /**
   * The range has further keys, after the last row; before the first, where the last were taken.
   */
  readonly isCut: boolean
}

/** The content of a store at one moment, whatever is written later. */
export interface StoreView extends AsyncDisposable {
  /** `CLOSED` once the store was closed or wiped. */
  page(range: KeyRange): Promise<StorePage>
}

export interface Store extends AsyncDisposable {
  /** Undefined when nothing was ever written (or after `wipe`). */
  checkpoint(): Checkpoint | undefined
  /** Synchronous: the fold reads while it runs. */
  get(key: string): Uint8Array | undefined
  page(range: KeyRange): Promise<StorePage>
  /**
   * As of now, which is between two writes. Close it when it has been read: until then it keeps its
   * space.
   */
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

/** All of a range, as of now for what was read already: pages of `limit`, one after the other. */
export async function* entriesIn(
  store: Pick<Store, 'page'>,
  range: Omit<KeyRange, 'take' | 'most'>,
): AsyncGenerator<StoreEntry> {
  for (let { gte } = range; ; ) {
    const { rows, isCut } = await store.page({ ...range, gte })
    yield* rows
    const last = rows.at(-1)
    if (!isCut || last === undefined) return
    gte = `${last[0]}\0`
  }
}

/** So many keys have to be read for a page, to know whether it is cut. */
export function keysToRead({ limit, most = Number.POSITIVE_INFINITY }: KeyRange): number {
  return Math.max(0, Math.min(limit + 1, most))
}

/** Of what was read: `keysToRead` entries at most, from the end of the range that was asked for. */
export function pageOfRead({ limit, take }: KeyRange, read: readonly StoreEntry[]): StorePage {
  const isCut = read.length > limit
  if (!isCut) return { rows: read, isCut }
  return { rows: take === 'last' ? read.slice(read.length - limit) : read.slice(0, limit), isCut }
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
