/**
 * Which clusters there are, what they are called, which partition each of them is, and whether that
 * is in this process.
 *
 * What must stay true: of a cluster whose name is not known here it is never said that it has
 * another one.
 *
 * Not here: what the log says of them (index/assigned-clusters.ts), what to do when another process
 * has one (forward.ts).
 */
import { factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import type { KnownClusters } from '../../../../ports/assignment.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { AssignedClusters } from '../index/assigned-clusters.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import { KindWords } from './kind-word.ts'
import type { Here, LocalPartition } from './view.ts'
import { readerOf, View } from './view.ts'

export interface KnownCluster {
  readonly id: ClusterId
  /**
   * Where another process has it: as its watcher said last; the id where it has said nothing yet.
   */
  readonly name: string
  /** False where another process has it, and its watcher has not said yet what it is called. */
  readonly isNamed: boolean
  readonly partition: number
}

export interface ClustersParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly here: Here
  readonly index: Pick<HistoryIndex, 'clusters'>
}

export class Clusters {
  readonly #parts: ClustersParts
  readonly #assigned: AssignedClusters
  /** Which kind a word of a user means. */
  readonly kindWords: KindWords
  /** Of all processes together. */
  readonly partitions: number
  readonly here: Here

  constructor(parts: ClustersParts) {
    this.#parts = parts
    this.kindWords = new KindWords(parts)
    this.#assigned = parts.index.clusters
    this.partitions = parts.log.partitions('events')
    this.here = parts.here
  }

  /**
   * All that were ever given a partition, by id: as they were read lately, and anew where none of
   * these has the name or id that is asked for.
   */
  async all(asked?: string): Promise<readonly KnownCluster[]> {
    const lately = this.#allOf(await this.#assigned.lately())
    const isKnown = asked === undefined || lately.some(({ id, name }) => [id, name].includes(asked))
    return isKnown ? lately : await this.now()
  }

  /** Also those that were given one just now. */
  async now(): Promise<readonly KnownCluster[]> {
    return this.#allOf(await this.#assigned.read())
  }

  /** Undefined when no partition was ever given to it. */
  async one(cluster: ClusterId): Promise<KnownCluster | undefined> {
    const known = this.#known(cluster, await this.#assigned.lately())
    return known ?? this.#known(cluster, await this.#assigned.read())
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

  #allOf(known: KnownClusters): readonly KnownCluster[] {
    const all = [...known.assignments.keys()].flatMap((id) => this.#known(id, known) ?? [])
    return all.sort((a, b) => (a.id < b.id ? -1 : 1))
  }

  #known(id: ClusterId, { assignments, names }: KnownClusters): KnownCluster | undefined {
    const assigned = assignments.get(id)
    if (assigned === undefined) return undefined
    const { partition } = assigned
    const local = this.here(partition)
    const state = local && factsOf(this.readerOf(local), id).state
    const isNamed = local !== undefined || names.has(id)
    return { id, name: state?.name ?? names.get(id) ?? id, isNamed, partition }
  }
}
