/**
 * The objects of one kind in key order, and the recent changes to them, which watches read at their
 * own pace.
 *
 * What must stay true: a watch is a cursor into the one history, so a write costs the same however
 * many watches there are and however slow; a cursor that the history has left behind gets an error
 * and never skips.
 *
 * Not here: versions (storage.ts gives them), what each watch sends (watch.ts).
 */
import type { ApiObject } from './object.ts'
import { OrderedIndex, type Snapshot } from './ordered-index.ts'

export interface Stored {
  /** `namespace/name`; a cluster-scoped object's namespace is empty. */
  readonly key: string
  readonly version: number
  readonly object: ApiObject
}

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly version: number
  /** Of a deletion: the last state, with the version of the deletion. */
  readonly object: ApiObject
  /** The object that a selector compares with; undefined for a new object. */
  readonly before: ApiObject | undefined
}

export function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** All keys of a namespace, or of all with an empty one. The code unit after `/` is `0`. */
export function keysOf(namespace: string): readonly [gte: string, lt: string] {
  return namespace === '' ? ['', '\uffff'] : [`${namespace}/`, `${namespace}0`]
}

export class Collection {
  readonly #index = new OrderedIndex<Stored>()
  readonly #historyLimit: number
  #history: Change[] = []
  /** How many changes came before the first one held. */
  #dropped = 0
  /** A watch from an older version would miss something. */
  #oldest: number
  #listeners = new Set<() => void>()
  #closed = false

  constructor(historyLimit: number, oldest: number) {
    this.#historyLimit = historyLimit
    this.#oldest = oldest
  }

  get size(): number {
    return this.#index.size
  }

  get oldest(): number {
    return this.#oldest
  }

  /** Nothing more will come: its kind is no longer served. */
  get closed(): boolean {
    return this.#closed
  }

  get(key: string): Stored | undefined {
    return this.#index.get(key)
  }

  hasAny(gte: string, lt: string): boolean {
    const first = this.#index.first(gte)
    return first !== undefined && first.key < lt
  }

  snapshot(): Snapshot<Stored> {
    return this.#index.snapshot()
  }

  put(stored: Stored, change: Change): void {
    this.#index.set(stored)
    this.#publish(change)
  }

  remove(key: string, change: Change): void {
    this.#index.delete(key)
    this.#publish(change)
  }

  /** Where a watch from just after `version` begins. */
  cursorAfter(version: number): number {
    let low = 0
    let high = this.#history.length
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#history[middle]!.version <= version) low = middle + 1
      else high = middle
    }
    return this.#dropped + low
  }

  /** At most `limit` changes from a cursor on; undefined when the history has left it behind. */
  changesFrom(cursor: number, limit: number): readonly Change[] | undefined {
    const from = cursor - this.#dropped
    return from < 0 ? undefined : this.#history.slice(from, from + limit)
  }

  /** Calls back once, at the next change or at the close; the returned function revokes that. */
  whenChanged(wake: () => void): () => void {
    if (this.#closed) wake()
    else this.#listeners.add(wake)
    return () => this.#listeners.delete(wake)
  }

  /** How many wait for a change. */
  get listening(): number {
    return this.#listeners.size
  }

  /** Forgets all changes; watches that have not read them yet end. */
  compact(version: number): void {
    this.#dropped += this.#history.length
    this.#history = []
    this.#oldest = version
  }

  close(): void {
    this.#closed = true
    this.#wake()
  }

  #publish(change: Change): void {
    this.#history.push(change)
    // Dropped in halves, so that a write does not shift the whole history.
    if (this.#history.length > 2 * this.#historyLimit) {
      const gone = this.#history.splice(0, this.#historyLimit)
      this.#dropped += gone.length
      this.#oldest = gone.at(-1)!.version
    }
    this.#wake()
  }

  #wake(): void {
    if (this.#listeners.size === 0) return
    const listeners = this.#listeners
    this.#listeners = new Set()
    for (const wake of listeners) wake()
  }
}
