/**
 * What names and histories of one partition are followed with.
 *
 * What must stay true: both are in one store, which is closed with the seat in the partition.
 *
 * Not here: how they follow the log (name-follower.ts, history-follower.ts).
 */
import type { Log } from '../../../../../ports/log.ts'
import type { Codec } from '../../../../../ports/record/codec.ts'
import type { Store } from '../../../../../ports/store.ts'
import type { Turns } from '../../../turns.ts'

export interface FollowerParts {
  readonly log: Log
  readonly codec: Codec
  readonly partition: number
  readonly store: Store
  /**
   * To be taken between any two entries: one of an object with many owners costs as much as
   * hundreds of others.
   */
  readonly turns: Turns
}
