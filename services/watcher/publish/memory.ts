/**
 * The memory of a watcher process: for each published object the hash of its projection and its
 * version, and which uids were deleted.
 *
 * What must stay true: nothing here is needed for a right result. A forgotten object is published
 * in full once more.
 *
 * Not here: its effects (telling.ts). Some 200 bytes an object, its uid included.
 */

import type { SyncId } from '../../../core/model/id.ts'
import type { ResourceVersion, Uid } from '../../../core/model/object.ts'

/** The hash in two signed halves: small integers, so no string of its own. */
export interface Sighting {
  high: number
  low: number
  version: ResourceVersion
  /** Last relist it was listed in; 0 for none. */
  sync: SyncId
}

export class Sightings {
  readonly #byUid = new Map<Uid, Sighting>()

  get count(): number {
    return this.#byUid.size
  }

  get(uid: Uid): Sighting | undefined {
    return this.#byUid.get(uid)
  }

  /** `sync` null: published by a watch, so the last relist does not change. */
  set(uid: Uid, hash: string, version: ResourceVersion, sync: SyncId | null): void {
    const high = half(hash, 0)
    const low = half(hash, 8)
    const known = this.#byUid.get(uid)
    if (known === undefined) {
      this.#byUid.set(uid, { high, low, version, sync: sync ?? 0 })
      return
    }
    known.high = high
    known.low = low
    known.version = version
    if (sync !== null) known.sync = sync
  }

  forget(uid: Uid): void {
    this.#byUid.delete(uid)
  }

  /** After a complete relist: objects that it did not list exist no longer. Returns them. */
  forgetUnlisted(sync: SyncId): ReadonlySet<Uid> {
    const unlisted = new Set<Uid>()
    for (const [uid, sighting] of this.#byUid) {
      if (sighting.sync === sync) continue
      this.#byUid.delete(uid)
      unlisted.add(uid)
    }
    return unlisted
  }
}

export function hasHash(sighting: Sighting, hash: string): boolean {
  return sighting.high === half(hash, 0) && sighting.low === half(hash, 8)
}

function half(hash: string, from: number): number {
  return Number.parseInt(hash.slice(from, from + 8), 16) | 0
}

/** Deletions observed lately in one cluster; a deletion is final until the cluster is restored. */
export class Deletions {
  readonly #limit: number
  /** By kind and uid: two kinds may show the same object. Oldest first. */
  readonly #versions = new Map<string, ResourceVersion>()

  constructor(limit: number) {
    this.#limit = limit
  }

  add(kind: string, uid: Uid, version: ResourceVersion): void {
    const key = `${kind}/${uid}`
    this.#versions.delete(key)
    this.#versions.set(key, version)
    if (this.#versions.size <= this.#limit) return
    for (const oldest of this.#versions.keys()) {
      this.#versions.delete(oldest)
      return
    }
  }

  /** The version of the deletion. */
  get(kind: string, uid: Uid): ResourceVersion | undefined {
    return this.#versions.get(`${kind}/${uid}`)
  }
}
