/**
 * Records by which the state can be read as it was at a moment (services/graph/fold/former): those
 * that a store keeps beside its values, and that of the log from which another store has them, too.
 *
 * What must stay true: every shape here has its schema in schemas/. Positions are numbers here, exact
 * up to 2^53.
 */

/** What a key held before the event at a position. */
export interface FormerValue {
  readonly type: 'FormerValue'
  /** Of the change before that one; null: none is kept. */
  readonly previous: number | null
  /** Of a change further back, where a search for an old one goes on; null: there is none. */
  readonly mark: number | null
  /** Encoded store value; empty where there was none. */
  readonly value: Uint8Array
}

/** Of a key that holds a value, or held one: its newest change. */
export interface LastChange {
  readonly type: 'LastChange'
  readonly position: number
  /** Changes so far. */
  readonly count: number
  /** It is the first one, and put the key: nothing was there before, and there is no `FormerValue`. */
  readonly isNew: boolean
  /** Of the newest change whose number is a multiple of 64; null: there is none. */
  readonly mark: number | null
}

/** From which position on all that changed is kept as it was before. */
export interface FormerReach extends FormerSegment {
  readonly type: 'FormerReach'
  /** The log has nothing older. */
  readonly isFilled: boolean
  /** Of which all is kept, too, below a gap that is being filled; null: there is none. */
  readonly older: FormerSegment | null
}

export interface FormerSegment {
  /** The earliest position at which the state can be read. */
  readonly begin: number
  /** Next event to fold. */
  readonly end: number
}

/**
 * In `former`, and in a store: what keys held before the events of some positions changed them. Records of a partition
 * follow each other without gaps.
 */
export interface PackedFormers {
  readonly type: 'PackedFormers'
  readonly partition: number
  /** Position of the first event, and behind the last one. */
  readonly from: number
  readonly to: number
  /** `FormerValues`, encoded, then deflated (RFC 1951). */
  readonly packed: Uint8Array
}

/** What keys held before events changed them, in the order of events. */
export interface FormerValues {
  readonly type: 'FormerValues'
  readonly keys: readonly string[]
  /** Of the events, in the order of `keys`, and their append times, in milliseconds. */
  readonly positions: readonly number[]
  readonly times: readonly number[]
  /** Encoded store values; empty where there was none. */
  readonly values: readonly Uint8Array[]
}

export type FormerRecord = PackedFormers | FormerValues | FormerValue | LastChange | FormerReach
