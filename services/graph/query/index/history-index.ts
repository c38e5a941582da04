/**
 * Finds objects by name and their history, of the partitions that are open here: each in a store of
 * its own.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far
 * it has come. What is of a cluster that is not here is never read as empty.
 *
 * Not here: reading the log (follower/), what objects were at a moment (fold/former), who opens a
 * partition (main.ts), objects of other processes (ask/finder.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { KnownObject } from '../../../../ports/record/lineage.ts'
import { type Store, StoreError } from '../../../../ports/store.ts'
import { Turns } from '../../turns.ts'
import { AssignedClusters } from './assigned-clusters.ts'
import type { IndexBegin } from './follower/history-follower.ts'
import { IndexFollower } from './follower/index-follower.ts'
import { PartitionFollower } from './follower/partition-follower.ts'
import { NameIndex } from './name-index.ts'
import { type Newest, PartitionHistories, type Placed } from './partition-histories.ts'

/** History entries of one object that an answer holds at most, the newest. */
export const HISTORY_LIMIT = 10_000

export type { Indexed, Named } from './name-key.ts'

/** Names and histories of a partition for as long as they are here; then their store is closed. */
export interface OpenIndex extends AsyncDisposable {
  /** They have all that the log held when they were opened. */
  readonly isFollowing: boolean
}

interface Open {
  readonly follower: PartitionFollower
  readonly names: NameIndex
  readonly histories: PartitionHistories
}

export class HistoryIndex {
  /** Also those that are not here. */
  readonly clusters: AssignedClusters
  readonly #log: Log
  readonly #codec: Codec
  readonly #turns: Turns
  readonly #open = new Map<number, Open>()
  readonly #follower: IndexFollower

  constructor(log: Log, codec: Codec, clock: Clock) {
    this.#log = log
    this.#codec = codec
    this.#turns = new Turns(clock)
    this.clusters = new AssignedClusters(log, codec, clock)
    const here = (): PartitionFollower[] => [...this.#open.values()].map((each) => each.follower)
    this.#follower = new IndexFollower({ log, clock, here })
  }

  readonly run: IndexFollower['run'] = (signal) => this.#follower.run(signal)
  readonly lagEntries: IndexFollower['lagEntries'] = () => this.#follower.lagEntries()
  readonly caughtUp: IndexFollower['caughtUp'] = () => this.#follower.caughtUp()

  /** From now on names and histories of this partition are here, in that store. */
  open(partition: number, store: Store): OpenIndex {
    const [log, codec] = [this.#log, this.#codec]
    const names = new NameIndex(store)
    const histories = new PartitionHistories(codec, store, names)
    const follower = new PartitionFollower({ log, codec, partition, store, turns: this.#turns })
    const open: Open = { follower, names, histories }
    this.#open.set(partition, open)
    return {
      get isFollowing() {
        return follower.isFollowing
      },
      [Symbol.asyncDispose]: async () => {
        if (this.#open.get(partition) === open) this.#open.delete(partition)
        await store[Symbol.asyncDispose]()
      },
    }
  }

  /** Names of the objects of one cluster, beside those of others in its partition. */
  namesOf(cluster: ClusterId): NameIndex {
    return this.#of(cluster).names
  }

  /** Names of the objects of all clusters of one partition. */
  namesIn(partition: number): NameIndex {
    return this.#partition(partition).names
  }

  /** Where its histories begin. Undefined while nothing is read there, and where none are here. */
  begin(partition: number): IndexBegin | undefined {
    return this.#open.get(partition)?.follower.histories.begin()
  }

  /** Whether this partition is here, and has all that the log held when it was opened. */
  isFollowing(partition: number): boolean {
    return this.#open.get(partition)?.follower.isFollowing === true
  }

  /** How far it has read this partition of `history`. */
  position(partition: number): bigint {
    return this.#partition(partition).follower.histories.position
  }

  /** The newest of it, `HISTORY_LIMIT` at most. */
  async history(of: Identity): Promise<Newest<History>> {
    const { entries, isCut } = await this.newest(of, HISTORY_LIMIT)
    return { entries: entries.map(([, entry]) => entry), isCut }
  }

  async newest(...asked: Parameters<PartitionHistories['newest']>): Promise<Newest<Placed>> {
    return await this.#of(asked[0].cluster).histories.newest(...asked)
  }

  async entries(...asked: Parameters<PartitionHistories['entries']>): Promise<readonly Placed[]> {
    return await this.#of(asked[0].cluster).histories.entries(...asked)
  }

  objectAfter(of: Identity, offset: bigint): KnownObject | null {
    return this.#of(of.cluster).histories.objectAfter(of, offset)
  }

  /** Who asks has looked up its partition just before (view/clusters.ts). */
  #of(cluster: ClusterId): Open {
    const partition = this.clusters.partitionOf(cluster)
    if (partition !== undefined) return this.#partition(partition)
    throw new StoreError('CLOSED', `the partition of cluster ${cluster} is not known`)
  }

  #partition(partition: number): Open {
    const open = this.#open.get(partition)
    if (open !== undefined) return open
    throw new StoreError('CLOSED', `the index of partition ${partition} is in another process`)
  }
}
