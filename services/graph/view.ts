/**
 * What is committed, over all partitions, for one question: nodes, owners, edges, and how complete the view is.
 *
 * What must stay true: it reads and changes nothing; partitions go on changing while a question is answered, so each read stands for its moment. What
 * is read of partitions elsewhere is read in pieces that have no effect of their own: a piece is run to learn what it needs, and again once
 * that was fetched, until nothing is missing. Pieces are small, and others get their turn between two.
 *
 * Not here: where a partition is (viewed-partition.ts).
 */
import type { StateReader } from '../../core/graph.ts'
import { clusterOf, countOf } from '../../core/graph.ts'
import { invariant } from '../../core/invariant.ts'
import { countKey, edgesPrefix, lastPart, nodeKey } from '../../core/key.ts'
import type { Node } from '../../core/node.ts'
import type { ClusterId, Uid } from '../../core/object.ts'
import type { StateValue } from '../../core/state.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Store } from '../../ports/store.ts'
import { prefixRange } from '../../ports/store.ts'
import { Turns } from './turns.ts'
import type { ViewedPartitionParts } from './viewed-partition.ts'
import { ViewedPartition } from './viewed-partition.ts'

/** More than anybody watches. */
const MOST_CLUSTERS = 500
/** Edges read at once. */
const PAGE_EDGES = 500
/** Objects that one piece of reading looks at: about a millisecond's. */
export const PIECE_OBJECTS = 50
/** Each time a piece is run it gets at least one step further; none has as many. */
const MOST_ROUNDS = 1_000

export interface Found {
  readonly node: Node
  readonly reader: StateReader
}

export interface Views {
  open(): Promise<View>
}

export interface ViewParts extends ViewedPartitionParts {
  readonly codec: Codec
}

export function createViews(parts: ViewParts): Views {
  return {
    async open() {
      const view = new View(parts)
      await Promise.all(view.partitions.map((partition) => partition.greet()))
      return view
    },
  }
}

export class View {
  /** All there are, in order. */
  readonly partitions: readonly ViewedPartition[]
  readonly readers: readonly StateReader[]
  readonly #codec: Codec
  readonly #turns: Turns
  /** What the piece that is run just now would have to know; undefined between pieces. */
  #missed: Map<ViewedPartition, Set<string>> | undefined

  constructor({ codec, ...parts }: ViewParts) {
    this.#codec = codec
    this.#turns = new Turns(parts.clock)
    this.partitions = Array.from(
      { length: parts.partitions },
      (_, partition) => new ViewedPartition(partition, parts),
    )
    this.readers = this.partitions.map((partition) => ({
      get: (key) => {
        const bytes = this.bytesOf(partition, key)
        return bytes == null ? undefined : (codec.decode(bytes) as StateValue)
      },
    }))
  }

  /** Within a piece: undefined where it has to be fetched first, which is noted; null where nothing is. */
  bytesOf(partition: ViewedPartition, key: string): Uint8Array | null | undefined {
    const bytes = partition.known(key)
    if (bytes === undefined) this.#miss(partition, key)
    return bytes
  }

  #miss(partition: ViewedPartition, key: string): void {
    invariant(this.#missed !== undefined, 'a partition elsewhere is read outside of a piece')
    const keys = this.#missed.get(partition) ?? new Set()
    this.#missed.set(partition, keys.add(key))
  }

  /** What the piece answers once all is known that it reads. It is run as often as that takes. */
  async read<T>(piece: () => T): Promise<T> {
    await this.#turns.take()
    for (let round = 0; round < MOST_ROUNDS; round++) {
      const tried = this.#try(piece)
      if ('value' in tried) return tried.value
      await tried.fetched
    }
    invariant(false, 'a piece that never knows enough')
  }

  /** Runs a piece once; undefined when something was missing. That is there for the next time. */
  async attempt<T extends object>(piece: () => T): Promise<T | undefined> {
    await this.#turns.take()
    const tried = this.#try(piece)
    if ('value' in tried) return tried.value
    await tried.fetched
    return undefined
  }

  #try<T>(piece: () => T): { readonly value: T } | { readonly fetched: Promise<unknown> } {
    const missed = new Map<ViewedPartition, Set<string>>()
    this.#missed = missed
    try {
      const value = piece()
      if (missed.size === 0) return { value }
    } catch (error) {
      // With something missing it may run into what cannot be.
      if (missed.size === 0) throw error
    } finally {
      this.#missed = undefined
    }
    return { fetched: Promise.all([...missed].map(([each, keys]) => each.fetch(keys))) }
  }

  /** In a piece. */
  nodeAnywhere(cluster: ClusterId, uid: Uid): Found | undefined {
    const key = nodeKey(cluster, uid)
    const unknown: ViewedPartition[] = []
    for (const [index, partition] of this.partitions.entries()) {
      const bytes = partition.known(key)
      const reader = this.readers[index]
      if (bytes === undefined) unknown.push(partition)
      else if (bytes !== null && reader !== undefined) {
        return { node: this.#codec.decode(bytes) as Node, reader }
      }
    }
    for (const partition of unknown) this.#miss(partition, key)
    return undefined
  }

  /** In a piece. */
  clusterName(cluster: ClusterId): string {
    for (const reader of this.readers) {
      const state = clusterOf(reader, cluster)
      if (state !== undefined) return state.name
    }
    return cluster
  }

  /** In a piece: whether anything names it as an owner, at whatever coordinates. */
  hasDependents(cluster: ClusterId, uid: Uid): boolean {
    const has = this.readers.map((reader) => countOf(reader, cluster, uid) !== undefined)
    return has.includes(true)
  }

  /** Ids of all clusters that were ever watched. */
  async clusters(): Promise<readonly ClusterId[]> {
    const found = new Set<ClusterId>()
    for (const partition of this.partitions) {
      const page = await partition.page(prefixRange('cluster/', MOST_CLUSTERS))
      for (const [key] of page) found.add(lastPart(key))
    }
    return [...found].sort()
  }

  /** Uids of what names it as an owner, at whatever coordinates, a page at a time; one that names it twice may come twice. */
  async *dependentPages(cluster: ClusterId, uid: Uid): AsyncIterable<readonly Uid[]> {
    const having = await this.read(() =>
      this.partitions.filter((_, index) => {
        const reader = this.readers[index]
        return reader !== undefined && countOf(reader, cluster, uid) !== undefined
      }),
    )
    const prefix = edgesPrefix(cluster, uid)
    for (const partition of having) {
      for (let range = prefixRange(prefix, PAGE_EDGES); ; ) {
        const page = await partition.page(range)
        const uids = page.map(([key]) => lastPart(key))
        // They have their homes where their edges are.
        await partition.fetch(uids.map((each) => nodeKey(cluster, each)))
        yield uids
        const last = page.at(-1)?.[0]
        if (last === undefined || page.length < PAGE_EDGES) break
        range = { ...range, gte: `${last}\0` }
      }
    }
  }

  /** Before it is asked what hangs on these: all at once instead of one after the other. */
  async fetchCounts(cluster: ClusterId, uids: readonly Uid[]): Promise<void> {
    await this.#fetchAll(uids.map((uid) => countKey(cluster, uid)))
  }

  /** The same before pieces that ask for these nodes, wherever they are. */
  async fetchNodes(cluster: ClusterId, uids: readonly Uid[]): Promise<void> {
    if (this.partitions.every((partition) => partition.isHere)) return
    const keys = uids.map((uid) => nodeKey(cluster, uid))
    const isFound = (key: string): boolean => this.partitions.some((each) => each.known(key))
    await this.#fetchAll(keys.filter((key) => !isFound(key)))
  }

  async #fetchAll(keys: readonly string[]): Promise<void> {
    await Promise.all(this.partitions.map((partition) => partition.fetch(keys)))
  }

  /** What was fetched of partitions elsewhere, to make room where it is much. */
  forget(): void {
    for (const partition of this.partitions) partition.forget()
  }

  /** Why an answer may be incomplete; empty when it is not. */
  partial(): string {
    const doubts = Map.groupBy(this.partitions, (partition) => partition.doubt())
    doubts.delete('')
    const all = this.partitions.length
    return [...doubts]
      .map(([doubt, partitions]) => {
        const numbers = partitions.map(({ partition }) => partition).join(', ')
        return `partition${partitions.length === 1 ? '' : 's'} ${numbers} of ${all}: ${doubt}`
      })
      .join('; ')
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

/** Lists in pieces of as many objects as are looked at without a turn for others. */
export function* piecesOf<T>(all: readonly T[]): Iterable<readonly T[]> {
  for (let from = 0; from < all.length; from += PIECE_OBJECTS) {
    yield all.slice(from, from + PIECE_OBJECTS)
  }
}
