/**
 * What is committed, over all partitions of this process, for questions: nodes, owners, edges, and how complete the view is.
 *
 * What must stay true: it reads and changes nothing; a store goes on changing while a question is answered, so each read stands for its moment.
 */
import type { StateReader } from '../../core/graph.ts'
import { clusterOf, nodeOf } from '../../core/graph.ts'
import { edgesPrefix, lastPart } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, Uid } from '../../core/object.ts'
import type { StateValue } from '../../core/state.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Store } from '../../ports/store.ts'
import { prefixRange } from '../../ports/store.ts'
import type { Task } from './task.ts'

/** Of a task, what a question needs. */
export type Partition = Pick<Task, 'partition' | 'store' | 'status'>

/** More than anybody watches from one process. */
const MOST_CLUSTERS = 1_000
/** Edges read at once. */
const PAGE_EDGES = 500

export interface Found {
  readonly node: Node
  readonly reader: StateReader
}

export interface Committed {
  partitions(): readonly Partition[]
  readers(): readonly StateReader[]
  nodeAnywhere(cluster: ClusterId, uid: Uid): Found | undefined
  clusterName(cluster: ClusterId): string
  /** Ids of all clusters that were ever watched. */
  clusters(): Promise<readonly ClusterId[]>
  /** Uids of what names it as an owner, at whatever coordinates, a page at a time; one that names it twice may come twice. */
  dependentPages(cluster: ClusterId, uid: Uid): AsyncIterable<readonly Uid[]>
  /** Why an answer may be incomplete; empty when it is not. */
  partial(): string
}

export function createCommitted(partitions: () => readonly Partition[], codec: Codec): Committed {
  const readers = (): readonly StateReader[] =>
    partitions().map(({ store }) => readerOf(store, codec))

  return {
    partitions,
    readers,
    nodeAnywhere(cluster, uid) {
      for (const reader of readers()) {
        const node = nodeOf(reader, cluster, uid)
        if (node !== undefined) return { node, reader }
      }
      return undefined
    },
    clusterName(cluster) {
      for (const reader of readers()) {
        const state = clusterOf(reader, cluster)
        if (state !== undefined) return state.name
      }
      return cluster
    },
    async clusters() {
      const found = new Set<ClusterId>()
      for (const { store } of partitions()) {
        const page = await store.page(prefixRange('cluster/', MOST_CLUSTERS))
        for (const [key] of page) found.add(lastPart(key))
      }
      return [...found].sort()
    },
    async *dependentPages(cluster, uid) {
      const prefix = edgesPrefix(cluster, uid)
      for (const { store } of partitions()) {
        for (let range = prefixRange(prefix, PAGE_EDGES); ; ) {
          const page = await store.page(range)
          yield page.map(([key]) => lastPart(key))
          const last = page.at(-1)?.[0]
          if (last === undefined || page.length < PAGE_EDGES) break
          range = { ...range, gte: `${last}\0` }
        }
      }
    },
    partial() {
      const all = partitions()
      const behind = all.filter((each) => each.status().state !== 'folding')
      if (behind.length === 0) return ''
      return `${behind.length} of ${all.length} partitions are still being restored`
    },
  }
}

export function readerOf(store: Pick<Store, 'get'>, codec: Codec): StateReader {
  return {
    get(key) {
      const bytes = store.get(key)
      return bytes === undefined ? undefined : (codec.decode(bytes) as StateValue)
    },
  }
}
