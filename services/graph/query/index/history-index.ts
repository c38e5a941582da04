/**
 * Finds objects by name, their history and what clusters are called: names of all clusters in one
 * store, histories of the partitions that are open here in a store of each.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far
 * it has come. Histories of a cluster that are not here are never read as empty.
 *
 * Not here: reading the log (follower/), what objects were at a moment (fold/former), who opens the
 * histories of a partition (main.ts).
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
import { HistoryFollower, type IndexBegin } from './follower/history-follower.ts'
import { IndexFollower } from './follower/index-follower.ts'
import { NameFollower } from './follower/name-follower.ts'
import { NameIndex } from './name-index.ts'
import { type Newest, PartitionHistories, type Placed } from './partition-histories.ts'

/** History entries of one object that an answer holds at most, the newest. */
export const HISTORY_LIMIT = 10_000

export type { Indexed, Named } from './name-key.ts'

/** Histories of a partition for as long as they are here; then their store is closed. */
export interface OpenHistories extends AsyncDisposable {
  /** They have all that the log held when they were opened. */
  readonly isFollowing: boolean
}

interface Open {
  readonly follower: HistoryFollower
  readonly histories: PartitionHistories
}

export class HistoryIndex {
  /** Of all clusters. */
  readonly names: NameIndex
  readonly #log: Log
  readonly #codec: Codec
  readonly #turns: Turns
  readonly #open = new Map<number, Open>()
  readonly #follower: IndexFollower

  /** `names`: the store of these. */
  constructor(log: Log, codec: Codec, clock: Clock, names: Store) {
    this.#log = log
    this.#codec = codec
    this.#turns = new Turns(clock)
    this.names = new NameIndex(names)
    this.#follower = new IndexFollower({
      ...{ log, clock, names: new NameFollower(codec, names, this.#turns) },
      histories: (partition) => this.#open.get(partition)?.follower,
    })
  }

  readonly run: IndexFollower['run'] = (signal) => this.#follower.run(signal)
  readonly lagEntries: IndexFollower['lagEntries'] = () => this.#follower.lagEntries()
  readonly caughtUp: IndexFollower['caughtUp'] = () => this.#follower.caughtUp()

  /** From now on the histories of this partition are here, in that store. */
  open(partition: number, store: Store): OpenHistories {
    const { names } = this
    const follower = new HistoryFollower({
      ...{ log: this.#log, codec: this.#codec, turns: this.#turns },
      ...{ partition, store, lastOf: (cluster, uid) => names.lastOf(cluster, uid) },
    })
    const open: Open = { follower, histories: new PartitionHistories(this.#codec, store, names) }
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

  /** Where its histories begin. Undefined while nothing is read there, and where none are here. */
  begin(partition: number): IndexBegin | undefined {
    return this.#open.get(partition)?.follower.begin()
  }

  /** How far it has read this partition of `history`. */
  position(partition: number): bigint {
    return this.#partition(partition).follower.position
  }

  /** The newest of it, `HISTORY_LIMIT` at most. */
  async history(of: Identity): Promise<Newest<History>> {
    const { entries, isCut } = await this.newest(of, HISTORY_LIMIT)
    return { entries: entries.map(([, entry]) => entry), isCut }
  }

  async newest(...asked: Parameters<PartitionHistories['newest']>): Promise<Newest<Placed>> {
    const its = this.#historiesOf(asked[0].cluster)
    return its === undefined ? { entries: [], isCut: false } : await its.newest(...asked)
  }

  async entries(...asked: Parameters<PartitionHistories['entries']>): Promise<readonly Placed[]> {
    return (await this.#historiesOf(asked[0].cluster)?.entries(...asked)) ?? []
  }

  objectAfter(of: Identity, offset: bigint): KnownObject | null {
    return this.#historiesOf(of.cluster)?.objectAfter(of, offset) ?? null
  }

  /** Undefined: nothing of the cluster is indexed yet. */
  #historiesOf(cluster: ClusterId): PartitionHistories | undefined {
    const partition = this.names.partitionOf(cluster)
    return partition === undefined ? undefined : this.#partition(partition).histories
  }

  #partition(partition: number): Open {
    const open = this.#open.get(partition)
    if (open !== undefined) return open
    throw new StoreError('CLOSED', `histories of partition ${partition} are in another process`)
  }
}
