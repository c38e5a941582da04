/**
 * Publishes the observations of one kind: new or changed objects in full (of a long list of
 * references what changed), objects with only another version as `Touched`, and each relist from
 * its start to its finish.
 *
 * What must stay true: no event moves a version without confirming the content; versions only move
 * forward within a cluster epoch; an observation that contradicts that is returned to the caller as
 * `rewound` or `doubted`, and not published.
 *
 * Not here: when to list or watch (monitor.ts), the order and bounds of appends (publisher.ts).
 */
import type { SetHash } from '../../../core/model/hash.ts'
import { EMPTY_SET, withMember } from '../../../core/model/hash.ts'
import type { SyncId } from '../../../core/model/id.ts'
import type {
  ClusterId,
  GroupKind,
  ObjectMeta,
  ResourceVersion,
  Uid,
} from '../../../core/model/object.ts'
import { compareVersions, projectionHash } from '../../../core/model/object.ts'
import { homeOf } from '../../../core/model/partition.ts'
import type { WatchEvent } from '../../../ports/cluster.ts'
import type { Random } from '../../../ports/random.ts'
import type { WatcherConfig } from '../config.ts'
import type { Counters } from '../status.ts'
import { LongLists } from './long-list.ts'
import type { Deletions } from './memory.ts'
import { hasHash, Sightings } from './memory.ts'
import type { Publisher, Tellable } from './publisher.ts'
import { TouchedBatch } from './touched.ts'

export interface TellingDeps {
  readonly cluster: ClusterId
  readonly epoch: number
  readonly publisher: Publisher
  readonly deletions: Deletions
  readonly counters: Counters
  readonly config: WatcherConfig
  readonly random: Random
  readonly onlooker?: Onlooker | undefined
}

/** Learns what is published of objects, after it was. */
export interface Onlooker {
  /** `isNew`: as one that may not be known: it was forgotten, or its record cannot be read. */
  published(object: ObjectMeta, isNew: boolean): void
  /** It was deleted, or a list missed it. */
  left(uid: Uid): void
}

/** `rewound`: the cluster was restored. `doubted`: only a list can settle it. */
export type Verdict = 'fine' | 'rewound' | 'doubted'

interface OpenSync {
  readonly id: SyncId
  /** Everything is published in full: the held content is untrusted. */
  readonly full: boolean
  listed: SetHash
  count: number
}

export class Telling {
  readonly #deps: TellingDeps
  readonly #kind: GroupKind
  readonly #kindKey: string
  readonly #sightings = new Sightings()
  readonly #lists: LongLists
  readonly #touched: TouchedBatch
  #sync: OpenSync | undefined
  #position: ResourceVersion | null
  #heldBefore = 0
  #unlisted: ReadonlySet<Uid> = new Set()

  /** `position`: that of an earlier watcher, null without one. */
  constructor(deps: TellingDeps, kind: GroupKind, position: ResourceVersion | null) {
    this.#deps = deps
    this.#lists = new LongLists(deps.random)
    this.#touched = new TouchedBatch(deps.config.touchedEntries)
    this.#kind = { group: kind.group, kind: kind.kind }
    this.#kindKey = `${kind.group}/${kind.kind}`
    this.#position = position
  }

  /** Everything up to it is published, once `flush` was called. */
  get position(): ResourceVersion | null {
    return this.#position
  }

  get objects(): number {
    return this.#sightings.count
  }

  /** Objects held before the open relist, and listed by it. */
  get compared(): { readonly held: number; readonly listed: number } {
    return { held: this.#heldBefore, listed: this.#sync?.count ?? 0 }
  }

  /** Objects that were held and that the last relist found missing, until they are taken. */
  takeUnlisted(): ReadonlySet<Uid> {
    const unlisted = this.#unlisted
    this.#unlisted = new Set()
    return unlisted
  }

  /** Opens a relist; one that was open is dropped, here as in the fold. */
  beginSync(id: SyncId, full: boolean): void {
    const { cluster, epoch } = this.#deps
    this.flush()
    this.#heldBefore = this.#sightings.count
    this.#sync = { id, full, listed: EMPTY_SET, count: 0 }
    this.#publish({ type: 'SyncStarted', cluster, epoch, ...this.#kind, sync: id })
  }

  /** One object of the open relist. */
  listed(object: ObjectMeta): Verdict {
    const sync = this.#sync
    if (sync === undefined) throw new Error('An object was listed outside of any relist.')
    const known = this.#sightings.get(object.uid)
    if (this.#deps.deletions.get(this.#kindKey, object.uid) !== undefined) return 'rewound'
    if (known !== undefined && isOlder(object.resourceVersion, known.version)) return 'rewound'
    sync.count++
    sync.listed = withMember(sync.listed, object.uid)
    this.#tell(object, sync, known === undefined)
    return 'fine'
  }

  /**
   * Closes the relist: what it did not list is forgotten, and the watch continues from its version.
   */
  finishSync(version: ResourceVersion): SyncId {
    const sync = this.#sync
    if (sync === undefined) throw new Error('A relist was finished that never began.')
    const { cluster, epoch, counters } = this.#deps
    this.flush()
    this.#publish({
      type: 'SyncFinished',
      cluster,
      epoch,
      ...this.#kind,
      sync: sync.id,
      resourceVersion: version,
      listed: sync.listed,
    })
    this.#unlisted = this.#sightings.forgetUnlisted(sync.id)
    for (const uid of this.#unlisted) {
      this.#lists.forget(uid)
      this.#deps.onlooker?.left(uid)
    }
    this.#sync = undefined
    this.#position = version
    counters.syncs++
    return sync.id
  }

  /**
   * Whether a list's version is older than the published one, so that it cannot belong to the same
   * cluster epoch.
   */
  isBehind(version: ResourceVersion): boolean {
    return this.#position !== null && isOlder(version, this.#position)
  }

  /** One event of a live watch. */
  watched(event: WatchEvent): Verdict {
    switch (event.type) {
      case 'Added':
      case 'Modified':
        return this.#sighted(event.object, event.type === 'Added')
      case 'Deleted':
        this.#deleted(event.object)
        return 'fine'
      case 'Bookmark':
        this.#deps.counters.bookmarks++
        this.#advance(event.resourceVersion)
        return 'fine'
    }
  }

  /** Sends the gathered entries. */
  flush(): void {
    const entries = this.#touched.take()
    if (entries.length === 0) return
    const { cluster, epoch } = this.#deps
    const sync = this.#sync?.id ?? null
    this.#publish({ type: 'Touched', cluster, epoch, ...this.#kind, sync, entries })
  }

  #sighted(object: ObjectMeta, added: boolean): Verdict {
    const { uid, resourceVersion } = object
    const known = this.#sightings.get(uid)
    const deleted = this.#deps.deletions.get(this.#kindKey, uid)
    if (deleted !== undefined) {
      // A deletion is final: something newer of the same object is a restore, which a list will
      // show.
      return this.#ignoreOlder(isOlder(deleted, resourceVersion) ? 'doubted' : 'fine')
    }
    if (known !== undefined && isOlder(resourceVersion, known.version)) {
      return this.#ignoreOlder('fine')
    }
    this.#tell(object, null, added && known === undefined)
    this.#advance(resourceVersion)
    return 'fine'
  }

  #deleted(object: ObjectMeta): void {
    const { uid, resourceVersion } = object
    const known = this.#sightings.get(uid)
    if (known !== undefined && isOlder(resourceVersion, known.version)) {
      this.#ignoreOlder('fine')
      return
    }
    const { deletions, publisher, onlooker, cluster, epoch, counters } = this.#deps
    this.#touched.drop(uid)
    this.#sightings.forget(uid)
    this.#lists.forget(uid)
    deletions.add(this.#kindKey, uid, resourceVersion)
    publisher.tell(homeOf(cluster, object.namespace), {
      type: 'ObjectDeleted',
      cluster,
      epoch,
      object,
      ageMs: 0,
    })
    onlooker?.left(uid)
    counters.deleted++
    this.#advance(resourceVersion)
  }

  #tell(object: ObjectMeta, sync: OpenSync | null, isNew: boolean): void {
    const { publisher, onlooker, cluster, epoch, counters } = this.#deps
    const { uid, resourceVersion } = object
    const hash = projectionHash(object)
    const known = this.#sightings.get(uid)
    const isSame = known !== undefined && hasHash(known, hash)
    // A repeat (an equal version, from a watch) publishes nothing at all.
    if (isSame && sync === null && known.version === resourceVersion) return
    this.#sightings.set(uid, hash, resourceVersion, sync?.id ?? null)
    if (isSame && sync?.full !== true) {
      counters.touched++
      if (this.#touched.add({ uid, hash, resourceVersion })) this.flush()
      return
    }
    this.#touched.drop(uid)
    const edit = this.#lists.editOf(object, hash, isNew || sync?.full === true)
    const about = { cluster, epoch, sync: sync?.id ?? null }
    publisher.tell(
      homeOf(cluster, object.namespace),
      edit === undefined
        ? { type: isNew ? 'ObjectAdded' : 'ObjectUpdated', ...about, object }
        : { type: 'ObjectEdited', ...about, object: withoutReferences(object), hash, ...edit },
    )
    onlooker?.published(object, isNew || sync?.full === true)
    if (isNew) counters.added++
    else counters.updated++
  }

  /** Publishes an event about no single object. */
  #publish(event: Tellable): void {
    this.#deps.publisher.tell(this.#deps.cluster, event)
  }

  #ignoreOlder(verdict: Verdict): Verdict {
    this.#deps.counters.ignored++
    return verdict
  }

  #advance(version: ResourceVersion): void {
    if (this.#position === null || !isOlder(version, this.#position)) this.#position = version
  }
}

function withoutReferences(object: ObjectMeta): ObjectMeta {
  return { ...object, ownerReferences: [] }
}

/** Versions that cannot be compared prove nothing. */
export function isOlder(version: ResourceVersion, than: ResourceVersion): boolean {
  return (compareVersions(version, than) ?? 0) < 0
}
