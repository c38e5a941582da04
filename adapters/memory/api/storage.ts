/**
 * All objects of one server under one growing version, and the three ways a write takes effect.
 *
 * What must stay true: versions grow by one with every effect, across all kinds; observers are
 * called for each effect after it took place and before any other request, so one of them can judge
 * it with full knowledge.
 *
 * Not here: whether a write is allowed (write.ts, removal.ts), requests (api-server.ts).
 */
import { type Change, Collection, keyOf, type Stored } from './collection.ts'
import type { Kind } from './kind.ts'
import type { ApiObject, Metadata } from './object.ts'
import type { Snapshot } from './ordered-index.ts'

/** One change of one object. `after` is null when it was removed; `before` when it is new. */
export interface Effect {
  readonly kind: Kind
  readonly before: ApiObject | null
  readonly after: ApiObject | null
  readonly version: number
}

/**
 * Lists under way that are held consistent at the same time; the oldest one expires for a new one.
 */
const SNAPSHOTS = 64

export class Storage {
  readonly #historyLimit: number
  readonly #collections = new Map<string, Collection>()
  readonly #snapshots = new Map<string, Snapshot<Stored>>()
  readonly #observers = new Set<(effect: Effect) => void>()
  /** Where the history of a kind begins that was served before and dropped. */
  readonly #dropped = new Map<string, number>()
  #version = 1
  #compacted = 0

  constructor(historyLimit: number) {
    this.#historyLimit = historyLimit
  }

  bump(by: number): void {
    this.#version += by
  }

  get version(): number {
    return this.#version
  }

  observe(observer: (effect: Effect) => void): () => void {
    this.#observers.add(observer)
    return () => this.#observers.delete(observer)
  }

  collection(kind: Kind): Collection {
    let found = this.#collections.get(kind.store)
    if (found === undefined) {
      const oldest = Math.max(this.#compacted, this.#dropped.get(kind.store) ?? 0)
      found = new Collection(this.#historyLimit, oldest)
      this.#collections.set(kind.store, found)
    }
    return found
  }

  get(kind: Kind, namespace: string, name: string): Stored | undefined {
    return this.collection(kind).get(keyOf(namespace, name))
  }

  /** Stores it, new or in the place of an earlier one, and returns it with its version. */
  put(kind: Kind, object: ApiObject): ApiObject {
    const { namespace = '', name } = object.metadata
    const key = keyOf(namespace, name)
    const collection = this.collection(kind)
    const before = collection.get(key)?.object
    const version = ++this.#version
    const after = withMetadata(object, { resourceVersion: String(version) })
    const type = before === undefined ? 'ADDED' : 'MODIFIED'
    const change: Change = { type, version, object: after, before }
    collection.put({ key, version, object: after }, change)
    this.#tell({ kind, before: before ?? null, after, version })
    return after
  }

  /** Removes it and returns its last state, with the version of the removal. */
  remove(kind: Kind, before: ApiObject): ApiObject {
    const { namespace = '', name } = before.metadata
    const version = ++this.#version
    const object = withMetadata(before, { resourceVersion: String(version) })
    const change: Change = { type: 'DELETED', version, object, before }
    this.collection(kind).remove(keyOf(namespace, name), change)
    this.#tell({ kind, before, after: null, version })
    return object
  }

  /** Drops a kind that is no longer served; watches of it end once they have sent everything. */
  drop(kind: Kind): void {
    this.#collections.get(kind.store)?.close()
    this.#collections.delete(kind.store)
    this.#dropped.set(kind.store, this.#version)
  }

  /** Keeps a list's snapshot for its later pages. */
  hold(kind: Kind, version: number, snapshot: Snapshot<Stored>): void {
    this.#snapshots.set(`${version} ${kind.store}`, snapshot)
    if (this.#snapshots.size <= SNAPSHOTS) return
    for (const oldest of this.#snapshots.keys()) {
      this.#snapshots.delete(oldest)
      return
    }
  }

  /** Its last page is sent. */
  release(kind: Kind, version: number): void {
    this.#snapshots.delete(`${version} ${kind.store}`)
  }

  /** The held snapshot, or the present state if that is still the requested version. */
  held(kind: Kind, version: number): Snapshot<Stored> | undefined {
    if (version === this.#version) return this.collection(kind).snapshot()
    return this.#snapshots.get(`${version} ${kind.store}`)
  }

  /** Forgets all history up to now: older watches and lists get 410. */
  compact(): void {
    this.#compacted = this.#version
    this.#snapshots.clear()
    for (const collection of this.#collections.values()) collection.compact(this.#version)
  }

  #tell(effect: Effect): void {
    for (const observer of this.#observers) observer(effect)
  }
}

export function withMetadata(object: ApiObject, changes: Partial<Metadata>): ApiObject {
  const metadata = { ...object.metadata, ...changes }
  // An empty list is never stored.
  if (metadata.finalizers?.length === 0) delete metadata.finalizers
  return { ...object, metadata }
}
