/**
 * The fold of a replay: the state after each event, as the values that the fold reads and writes,
 * and nothing that a service publishes or an audit compares.
 *
 * What must stay true: the outcome of an event is that of a service's fold (fold/batch.ts). Nothing
 * is encoded: what becomes of the state is of no use to others.
 */
import { foldRecord } from '../../../core/fold.ts'
import type { PageRequest } from '../../../core/graph/agenda.ts'
import type { Graph, OverlaidRange } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import { tableOf } from '../../../core/graph/table.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Position, StateValue } from '../../../core/model/state.ts'
import { SortedKeys } from '../../../ports/sorted-keys.ts'
import { prefixRange } from '../../../ports/store.ts'
import { firstPosition } from '../fold/batch.ts'
import { isChunkKey, stateValueOf } from '../fold/bytes/long-node.ts'
import type { RefoldParts } from './refold.ts'

/** Moved at once: the state is never there twice. */
const MOVED_KEYS = 1_000

/**
 * Continues from there (undefined: from nothing) with what the store holds, and empties the store.
 */
export async function decodedFold(
  { store, codec, log, partition }: RefoldParts,
  from: Position | undefined,
): Promise<DecodedFold> {
  const graph = new DecodedGraph()
  const read = (key: string): Uint8Array | undefined => store.get(key)
  for (let isMore = true; isMore; ) {
    const { rows, isCut } = await store.page({ gte: '', lt: '~', limit: MOVED_KEYS })
    isMore = isCut
    for (const [key, bytes] of rows) {
      // Keys of chunks sort after the nodes that name them, which are whole by then.
      if (!isChunkKey(key)) graph.put(key, stateValueOf(codec, key, bytes, read))
    }
    const changelog = { changelog: 0n, position: from?.position ?? 0n }
    await store.write(
      rows.map(([key]) => [key, null]),
      changelog,
    )
  }
  return new DecodedFold(graph, from ?? firstPosition(partition, log.partitions('events')))
}

export class DecodedFold {
  readonly #graph: DecodedGraph
  readonly #page: (request: PageRequest) => readonly string[]
  #position: Position

  constructor(graph: DecodedGraph, from: Position) {
    this.#graph = graph
    this.#page = (request) => graph.page(request)
    this.#position = from
  }

  get graph(): Graph {
    return this.#graph
  }

  /** After the last event folded. */
  get position(): Pick<Position, 'position' | 'partition' | 'partitions' | 'inForce'> {
    return this.#position
  }

  /** The orders that are in effect with the next event. */
  obey(inForce: readonly string[]): void {
    this.#position = { ...this.#position, inForce }
  }

  fold(event: Event, at: At): Outcome {
    const outcome = foldRecord(this.#graph, event, at, this.#page)
    this.#graph.takeRecent()
    this.#position = { ...this.#position, position: at.position + 1n }
    return outcome
  }
}

/**
 * Its changes take effect at once, so there is no overlay but for the keys that the present record
 * has added.
 */
class DecodedGraph implements Graph {
  readonly changes: ReadonlyMap<string, StateValue | null> = new Map()
  readonly #values = new Map<string, StateValue>()
  /** Those that are read in pages. */
  readonly #keys = new SortedKeys()
  #added: string[] = []

  get(key: string): StateValue | undefined {
    return this.#values.get(key)
  }

  put(key: string, value: StateValue): void {
    const { size } = this.#values
    this.#values.set(key, value)
    if (this.#values.size === size || tableOf(key).page === null) return
    this.#keys.add(key)
    this.#added.push(key)
  }

  remove(key: string): void {
    if (this.#values.delete(key) && tableOf(key).page !== null) this.#keys.delete(key)
  }

  takeRecent(): Map<string, StateValue | null> {
    if (this.#added.length > 0) this.#added = []
    return NONE
  }

  overlaid(stored: readonly string[], { prefix, after, upTo }: OverlaidRange): readonly string[] {
    const added = this.#added.filter((key) => key.startsWith(prefix) && key > after)
    const within = added.filter((key) => this.#values.has(key) && !(upTo && key > upTo))
    return [...new Set([...stored, ...within])].sort()
  }

  clear(): void {}

  page({ prefix, after, limit }: PageRequest): readonly string[] {
    const { lt } = prefixRange(prefix, limit)
    return this.#keys.page(after === '' ? prefix : `${after}\0`, lt, limit)
  }
}

const NONE = new Map<string, StateValue | null>()
