/**
 * Records that a store keeps beside its values, so that the state can be read as it was at a moment
 * (services/graph/fold/former). They are on no log: a store makes them from the events that it folds.
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
  /** Of the newest change whose number is a multiple of 64; null: there is none. */
  readonly mark: number | null
}

/** Which keys the events of a commit changed, in the order of events. */
export interface ChangedKeys {
  readonly type: 'ChangedKeys'
  readonly keys: readonly string[]
  /** Of the events, in the order of `keys`. */
  readonly positions: readonly number[]
  /** Their append times, in milliseconds. */
  readonly times: readonly number[]
}

/** From which position on all that changed is kept as it was before. */
export interface FormerReach {
  readonly type: 'FormerReach'
  /** The earliest at which the state can be read. */
  readonly begin: number
  /** Next event to fold. */
  readonly end: number
}

export type FormerRecord = FormerValue | LastChange | ChangedKeys | FormerReach
