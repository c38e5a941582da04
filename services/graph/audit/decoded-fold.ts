/**
 * The fold of a replay and of an audit: the state after each event, as the values that the fold
 * reads and writes, and nothing that a service publishes.
 *
 * What must stay true: the outcome of an event is that of a service's fold (fold/batch.ts), and so
 * are the changes of the state, where they are asked for. Nothing is encoded.
 *
 * Not here: the digests that an audit compares (digests.ts).
 */
import { foldRecord } from '../../../core/fold.ts'
import type { PageRequest } from '../../../core/graph/agenda.ts'
import type { Graph, OverlaidRange } from '../../../core/graph/graph.ts'
import { ALL_NODES_PREFIX, clusterIn } from '../../../core/graph/key.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import { subjectOf } from '../../../core/graph/row.ts'
import { tableOf } from '../../../core/graph/table.ts'
import type { Event } from '../../../core/model/event.ts'
import type { ClusterId, Uid } from '../../../core/model/object.ts'
import type { Position, StateValue } from '../../../core/model/state.ts'
import type { Entry } from '../../../ports/log.ts'
import { SortedKeys } from '../../../ports/sorted-keys.ts'
import { prefixRange } from '../../../ports/store.ts'
import { firstPosition } from '../fold/batch.ts'
import { isChunkKey, stateValueOf } from '../fold/bytes/long-node.ts'
import type { RefoldParts } from './refold.ts'

/** Moved at once: the state is never there twice. */
const MOVED_KEYS = 1_000

/**
 * Continues from there (undefined: from nothing) with what the store holds, and empties the store.
 * `isNoting`: what each event changed can be asked for.
 */
export async function decodedFold(
  { store, codec, log, partition }: RefoldParts,
  from: Position | undefined,
  isNoting = false,
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
  if (isNoting) graph.noteChanges()
  return new DecodedFold(graph, from ?? firstPosition(partition, log.partitions('events')))
}

/** By key, in the order in which the keys were first changed, what they had before. */
export type Replaced = ReadonlyMap<string, StateValue | undefined>

export class DecodedFold {
  readonly #graph: DecodedGraph
  readonly #page: (request: PageRequest) => readonly string[]
  #from: Position
  #next: bigint

  constructor(graph: DecodedGraph, from: Position) {
    this.#graph = graph
    this.#page = (request) => graph.page(request)
    this.#from = from
    this.#next = from.position
  }

  get graph(): Graph {
    return this.#graph
  }

  /** All objects there are, whatever changes meanwhile. */
  *objects(): Generator<{ readonly cluster: ClusterId; readonly uid: Uid }> {
    const keys: string[] = []
    for (let after = ''; ; after = keys.at(-1) ?? '') {
      const page = this.#page({
        prefix: ALL_NODES_PREFIX,
        after,
        limit: MOVED_KEYS,
        countKey: null,
      })
      if (page.length === 0) break
      keys.push(...page)
    }
    for (const key of keys) yield { cluster: clusterIn(key), uid: subjectOf(key) }
  }

  /** By the last event; valid until the next one. Empty unless they are noted. */
  get replaced(): Replaced {
    return this.#graph.replaced
  }

  /** After the last event folded. */
  get position(): Pick<Position, 'position' | 'partition' | 'partitions' | 'inForce'> {
    return { ...this.#from, position: this.#next }
  }

  /** The orders that are in effect with the next event. */
  obey(inForce: readonly string[]): void {
    this.#from = { ...this.#from, inForce }
  }

  at({ offset, timestamp }: Pick<Entry, 'offset' | 'timestamp'>): At {
    const { partition, partitions } = this.#from
    return { partition, partitions, position: offset, timestamp }
  }

  fold(event: Event, at: At): Outcome {
    this.#graph.beginRecord()
    const outcome = foldRecord(this.#graph, event, at, this.#page)
    this.#next = at.position + 1n
    return outcome
  }
}

/** The values of one table, or of a few that share the place of their names. */
interface Shelf {
  readonly values: Map<string, StateValue>
  /** Those that are read in pages. */
  readonly keys: SortedKeys
}

const SHELVES = 64

/** By the first letters of its table's name: which keys share a shelf does not matter. */
function shelfAt(key: string): number {
  return (key.charCodeAt(0) * 53 + key.charCodeAt(1)) & (SHELVES - 1)
}

/**
 * Its changes take effect at once, so there is no overlay but for the keys that the present record
 * has added.
 *
 * A record reads some forty values, most of them of tables with a few keys, or none. Those are not
 * sought among all objects of the state, which no processor has at hand.
 */
class DecodedGraph implements Graph {
  readonly #shelves: readonly Shelf[] = Array.from({ length: SHELVES }, () => ({
    values: new Map(),
    keys: new SortedKeys(),
  }))
  #added: string[] = []
  #replaced: Map<string, StateValue | undefined> | undefined

  get replaced(): Replaced {
    return this.#replaced ?? NOTHING_REPLACED
  }

  noteChanges(): void {
    this.#replaced = new Map()
  }

  get(key: string): StateValue | undefined {
    return this.#shelves[shelfAt(key)]!.values.get(key)
  }

  put(key: string, value: StateValue): void {
    const { values, keys } = this.#shelves[shelfAt(key)]!
    const { size } = values
    this.#note(key, values)
    values.set(key, value)
    if (values.size === size || tableOf(key).page === null) return
    keys.add(key)
    this.#added.push(key)
  }

  remove(key: string): void {
    const { values, keys } = this.#shelves[shelfAt(key)]!
    this.#note(key, values)
    if (values.delete(key) && tableOf(key).page !== null) keys.delete(key)
  }

  #note(key: string, values: ReadonlyMap<string, StateValue>): void {
    const replaced = this.#replaced
    if (replaced !== undefined && !replaced.has(key)) replaced.set(key, values.get(key))
  }

  beginRecord(): void {
    if (this.#added.length > 0) this.#added = []
    this.#replaced?.clear()
  }

  overlaid(stored: readonly string[], { prefix, after, upTo }: OverlaidRange): readonly string[] {
    const added = this.#added.filter((key) => key.startsWith(prefix) && key > after)
    const within = added.filter((key) => this.get(key) !== undefined && !(upTo && key > upTo))
    return [...new Set([...stored, ...within])].sort()
  }

  /** All keys of a page have the first letters of its prefix. */
  page({ prefix, after, limit }: PageRequest): readonly string[] {
    const { lt } = prefixRange(prefix, limit)
    const { keys } = this.#shelves[shelfAt(prefix)]!
    return keys.page(after === '' ? prefix : `${after}\0`, lt, limit)
  }
}

const NOTHING_REPLACED: Replaced = new Map()
