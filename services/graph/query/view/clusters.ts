/**
 * Which clusters there are, what they are called, which partition each of them is, and whether that
 * is in this process.
 *
 * What must stay true: a cluster is the partition that its record in `control` names; nobody
 * guesses one.
 *
 * Not here: what to do when another process has it (forward.ts).
 */
import { factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import type { ClusterId, GroupKind } from '../../../../core/model/object.ts'
import { readAssignments } from '../../../../ports/assignment.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import { isAway } from '../index/follower/rounds.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { KindWord } from './kind-word.ts'
import { createKindWords } from './kind-word.ts'
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

export interface Clusters {
  /** Of all processes together. */
  readonly partitions: number
  readonly here: Here
  /** All that were ever given a partition, by id. */
  all(): Promise<readonly KnownCluster[]>
  /** Undefined when no partition was ever given to it. */
  one(cluster: ClusterId): Promise<KnownCluster | undefined>
  /** Undefined when this process does not have it. */
  view(cluster: Pick<KnownCluster, 'id' | 'partition'>): View | undefined
  /** What somebody calls a kind. */
  kindWord(word: string): Promise<KindWord>
  /** The plural of a kind in paths, of whatever cluster; undefined where it is not known. */
  resourceOf(kind: GroupKind & { readonly cluster: ClusterId }): Promise<string | undefined>
  /** Of a partition that this process has. */
  readerOf(partition: LocalPartition): StateReader
  /**
   * Of each partition that this process has: for orders and policies, which all partitions hold.
   */
  readers(): readonly StateReader[]
}

export interface ClustersParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly here: Here
  readonly index: Pick<HistoryIndex, 'clusterName'>
}

export function createClusters({ log, codec, clock, here, index }: ClustersParts): Clusters {
  const partitions = log.partitions('events')
  const kindWords = createKindWords({ log, codec, clock })
  let last: ReadonlyMap<ClusterId, number> | undefined
  let readAt = 0

  /** While the log cannot be reached, what was read last stands. */
  async function assigned(): Promise<ReadonlyMap<ClusterId, number>> {
    try {
      const records = [...(await readAssignments(log, codec)).values()]
      last = new Map(records.map(({ cluster, partition }) => [cluster, partition]))
      readAt = clock.monotonicMs()
    } catch (error) {
      if (last === undefined || !isAway(error)) throw error
    }
    return last
  }

  /** As it was read within the last second, or is read now. */
  async function lately(): Promise<ReadonlyMap<ClusterId, number>> {
    const isFresh = clock.monotonicMs() - readAt < FRESH_MS
    return isFresh && last !== undefined ? last : await assigned()
  }

  function known(id: ClusterId, partition: number): KnownCluster {
    const local = here(partition)
    const state = local && factsOf(readerOf(local.store, codec), id).state
    return { id, name: state?.name ?? index.clusterName(id) ?? id, partition }
  }

  function view({ id, partition }: Pick<KnownCluster, 'id' | 'partition'>): View | undefined {
    const local = here(partition)
    return local && new View({ cluster: id, partition: local, partitions, codec, clock })
  }

  async function one(cluster: ClusterId): Promise<KnownCluster | undefined> {
    const partition = (await lately()).get(cluster) ?? (await assigned()).get(cluster)
    return partition === undefined ? undefined : known(cluster, partition)
  }

  return {
    partitions,
    here,
    async all() {
      const all = [...(await lately())].map(([id, partition]) => known(id, partition))
      return all.sort((a, b) => (a.id < b.id ? -1 : 1))
    },
    one,
    view,
    readerOf: (partition) => readerOf(partition.store, codec),
    kindWord: async (word) => await kindWords.of(word),
    async resourceOf(kind) {
      const cluster = await one(kind.cluster)
      const local = cluster && view(cluster)
      const own = local?.facts.kind(kind)?.resource
      return own ?? (await kindWords.resourceOf(kind))
    },
    readers() {
      const all = Array.from({ length: partitions }, (_, partition) => here(partition))
      return all.flatMap((local) => (local === undefined ? [] : readerOf(local.store, codec)))
    },
  }
}
