/**
 * Records by which the state can be read as it was at a moment (services/graph/fold/former): those
 * that a store keeps beside its values, and that of the log from which another store has them, too.
 *
 * What must stay true: every shape here has its schema in schemas/. Positions are numbers here,
 * exact up to 2^53.
 */

/** In which records a key was changed: the newest part of the list. */
export interface LastChange {
  readonly type: 'LastChange'
  /** Of the newest change. */
  readonly position: number
  /**
   * Numbers of `PackedFormers` that have the key, in ascending order: each is the position before
   * `to`.
   */
  readonly records: readonly number[]
  /** The last number of the part before; null: there is none. */
  readonly older: number | null
}

/** An older part of such a list. */
export interface FormerChain {
  readonly type: 'FormerChain'
  readonly records: readonly number[]
  readonly older: number | null
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
 * In `former`, and in a store: what keys held before the events of some positions changed them.
 * Records of a partition follow each other without gaps.
 */
export interface PackedFormers {
  readonly type: 'PackedFormers'
  readonly partition: number
  /** Position of the first event, and behind the last one. */
  readonly from: number
  readonly to: number
  /** `FormerValues`, encoded, then compressed: Zstandard (RFC 8878). */
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

export type FormerRecord = PackedFormers | FormerValues | FormerChain | LastChange | FormerReach
