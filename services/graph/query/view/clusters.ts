/**
 * Which clusters there are, what they are called, which partition each of them is, and whether that
 * is in this process.
 *
 * What must stay true: the partition of a cluster is the one that its record in `control` names; it
 * is never guessed.
 *
 * Not here: what to do when another process has it (forward.ts).
 */
import { factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import { FollowedAssignments } from '../../../../ports/assignment.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import { isAway } from '../index/follower/rounds.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { KindWords } from './kind-word.ts'
import type { Here, LocalPartition } from './view.ts'
import { readerOf, View } from './view.ts'

/** For so long a record that was read is believed: it changes by an order of a person. */
const FRESH_MS = 1_000

export interface KnownCluster {
  readonly id: ClusterId
  /**
   * Where another process has it: as the record of an object said last; the id before there is any.
   */
  readonly name: string
  readonly partition: number
}

export interface ClustersParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly here: Here
  readonly index: Pick<HistoryIndex, 'names'>
}

export class Clusters {
  readonly #parts: ClustersParts
  readonly #assignments: FollowedAssignments
  /** Which kind a word of a user means. */
  readonly kindWords: KindWords
  /** Of all processes together. */
  readonly partitions: number
  readonly here: Here
  #last: ReadonlyMap<ClusterId, number> | undefined
  #readAt = 0

  constructor(parts: ClustersParts) {
    this.#parts = parts
    this.kindWords = new KindWords(parts)
    this.#assignments = new FollowedAssignments(parts.log, parts.codec, parts.clock)
    this.partitions = parts.log.partitions('events')
    this.here = parts.here
  }

  /** All that were ever given a partition, by id. */
  async all(): Promise<readonly KnownCluster[]> {
    const all = [...(await this.#lately())].map(([id, partition]) => this.#known(id, partition))
    return all.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  /** Undefined when no partition was ever given to it. */
  async one(cluster: ClusterId): Promise<KnownCluster | undefined> {
    const partition = (await this.#lately()).get(cluster) ?? (await this.#assigned()).get(cluster)
    return partition === undefined ? undefined : this.#known(cluster, partition)
  }

  /** Undefined when this process does not have it. */
  view({ id, partition }: Pick<KnownCluster, 'id' | 'partition'>): View | undefined {
    const { codec, clock } = this.#parts
    const local = this.here(partition)
    const { partitions } = this
    return local && new View({ cluster: id, partition: local, partitions, codec, clock })
  }

  /** The plural of a kind in paths, of whatever cluster; undefined where it is not known. */
  async resourceOf(kind: GroupKind & { readonly cluster: ClusterId }): Promise<string | undefined> {
    const cluster = await this.one(kind.cluster)
    const local = cluster && this.view(cluster)
    const own = local?.facts.kind(kind)?.resource
    return own ?? (await this.kindWords.resourceOf(kind))
  }

  /** Of a partition that this process has. */
  readerOf(partition: LocalPartition): StateReader {
    return readerOf(partition.store, this.#parts.codec)
  }

  /**
   * Of each partition that this process has: for orders and policies, which all partitions hold.
   */
  readers(): readonly StateReader[] {
    const all = Array.from({ length: this.partitions }, (_, partition) => this.here(partition))
    return all.flatMap((local) => (local === undefined ? [] : this.readerOf(local)))
  }

  #known(id: ClusterId, partition: number): KnownCluster {
    const local = this.here(partition)
    const state = local && factsOf(this.readerOf(local), id).state
    return { id, name: state?.name ?? this.#parts.index.names.clusterName(id) ?? id, partition }
  }

  /** As it was read within the last second, or is read now. */
  async #lately(): Promise<ReadonlyMap<ClusterId, number>> {
    const isFresh = this.#parts.clock.monotonicMs() - this.#readAt < FRESH_MS
    // The first cluster is found at once: that there is none is no answer to remember.
    const known = this.#last ?? new Map()
    return isFresh && known.size > 0 ? known : await this.#assigned()
  }

  /** While the log cannot be reached, what was read last is valid. */
  async #assigned(): Promise<ReadonlyMap<ClusterId, number>> {
    const { clock } = this.#parts
    try {
      const records = [...(await this.#assignments.read()).values()]
      this.#last = new Map(records.map(({ cluster, partition }) => [cluster, partition]))
      this.#readAt = clock.monotonicMs()
    } catch (error) {
      if (this.#last === undefined || !isAway(error)) throw error
    }
    return this.#last
  }
}
