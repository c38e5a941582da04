/**
 * In which partition each cluster is, and what it is called, as `control` says: followed by every
 * process, whatever partitions it has.
 *
 * What must stay true: the partition of a cluster is the one that its record names; it is never
 * guessed. While the log cannot be reached, what was read last is valid.
 *
 * Not here: whether this process has a partition (view/clusters.ts).
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import { FollowedClusters, type KnownClusters } from '../../../../ports/assignment.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import { isAway } from './follower/rounds.ts'

/** For so long a record that was read is believed: it changes by an order of a person. */
const FRESH_MS = 1_000

export class AssignedClusters {
  readonly #clock: Clock
  readonly #followed: FollowedClusters
  #last: KnownClusters | undefined
  #readAt = 0

  constructor(log: Log, codec: Codec, clock: Clock) {
    this.#clock = clock
    this.#followed = new FollowedClusters(log, codec, clock)
  }

  /** As it was read last; undefined where no partition was given to it by then. */
  partitionOf(cluster: ClusterId): number | undefined {
    return this.#last?.assignments.get(cluster)?.partition
  }

  /** As it was read within the last second, or is read now. */
  async lately(): Promise<KnownClusters> {
    const isFresh = this.#clock.monotonicMs() - this.#readAt < FRESH_MS
    // The first cluster is found at once: that there is none is no answer to remember.
    if (isFresh && this.#last !== undefined && this.#last.assignments.size > 0) return this.#last
    return await this.read()
  }

  async read(): Promise<KnownClusters> {
    try {
      this.#last = await this.#followed.read()
      this.#readAt = this.#clock.monotonicMs()
    } catch (error) {
      if (this.#last === undefined || !isAway(error)) throw error
    }
    return this.#last
  }
}
