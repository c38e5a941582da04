/**
 * A small API server and its watches, for tests of the fold: objects, versions, guarded calls, and
 * one stream of events for each kind.
 *
 * What must stay true: it shares only the nouns with the graph. The events of one kind are in
 * order; how the kinds' streams mix is the caller's choice. `onRemoved` is called for every removal
 * before it takes effect.
 *
 * Not here: HTTP (adapters/memory/api), the rules of collection (oracle.ts).
 */
import type {
  AnnotateObject,
  Command,
  DeleteObject,
  OrphanDependent,
  RemoveFinalizer,
  VerifyOwner,
} from '../../core/model/command.ts'
import type { CommandSettled, Event, OwnerAbsent, OwnerFound } from '../../core/model/event.ts'
import { EMPTY_SET, type SetHash, withMember } from '../../core/model/hash.ts'
import type { Coordinates, ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import {
  FINALIZER_FOREGROUND,
  FINALIZER_ORPHAN,
  isSamePlace,
  projectionHash,
} from '../../core/model/object.ts'
import { KINDS, kindNotation, shortKind } from './notation.ts'

export const CLUSTER = 'c'

/**
 * The kinds that the cluster serves: those of `UNSERVED` never, `deploy` is served and not watched.
 */
export const UNSERVED: readonly string[] = [
  ...['widget', 'pvc', 'secret', 'sa', 'role', 'clusterrole', 'binding', 'user'],
]
export const UNMONITORED: readonly string[] = ['deploy']
export const MONITORED: readonly string[] = Object.keys(KINDS).filter(
  (short) => !UNSERVED.includes(short) && !UNMONITORED.includes(short),
)

type Effect = DeleteObject | AnnotateObject | OrphanDependent | RemoveFinalizer

export class ModelCluster {
  readonly objects: Map<string, ObjectMeta> = new Map()
  /** Events of the watches that were not taken yet, by short kind. */
  readonly streams: Map<string, Event[]> = new Map()
  readonly #departed: ObjectMeta[] = []
  readonly #watched = new Set<string>()
  readonly #unserved = new Set(UNSERVED)
  readonly #onRemoved: (object: ObjectMeta, command: DeleteObject | null) => void
  readonly #onFinish: (object: ObjectMeta, command: RemoveFinalizer) => void
  #version = 0
  #sync = 0

  constructor(
    onRemoved: (object: ObjectMeta, command: DeleteObject | null) => void = () => {},
    onFinish: (object: ObjectMeta, command: RemoveFinalizer) => void = () => {},
  ) {
    this.#onRemoved = onRemoved
    this.#onFinish = onFinish
    for (const short of [...MONITORED, ...UNMONITORED]) {
      this.streams.set(short, [served(short, MONITORED.includes(short))])
    }
  }

  /** As it is now, with streams of its own: later changes of one do not affect the other. */
  copy(
    onRemoved: (object: ObjectMeta, command: DeleteObject | null) => void = this.#onRemoved,
  ): ModelCluster {
    const copy = new ModelCluster(onRemoved, this.#onFinish)
    for (const [uid, object] of this.objects) copy.objects.set(uid, object)
    for (const [short, stream] of this.streams) copy.streams.set(short, [...stream])
    for (const short of this.#watched) copy.#watched.add(short)
    copy.#departed.push(...this.#departed)
    copy.#unserved.clear()
    for (const short of this.#unserved) copy.#unserved.add(short)
    copy.#version = this.#version
    copy.#sync = this.#sync
    return copy
  }

  get departed(): readonly ObjectMeta[] {
    return this.#departed
  }

  at(place: Coordinates): ObjectMeta | undefined {
    return [...this.objects.values()].find((object) => isSamePlace(object, place))
  }

  create(object: ObjectMeta): void {
    if (this.#unserved.has(shortKind(object.group, object.kind))) return
    if (this.at(object) !== undefined || this.objects.has(object.uid)) return
    this.#write(object, 'ObjectAdded')
  }

  update(uid: string, change: Partial<ObjectMeta>): void {
    const object = this.objects.get(uid)
    if (object === undefined) return
    const changed = { ...object, ...change }
    if (changed.deletedAt !== null && changed.finalizers.length === 0) this.#remove(changed, null)
    else this.#write(changed, 'ObjectUpdated')
  }

  /** A write that changes nothing the fold reads, such as a status. */
  touch(uid: string): void {
    const object = this.objects.get(uid)
    if (object === undefined) return
    this.#version += 1
    const touched = { ...object, resourceVersion: String(this.#version) }
    this.objects.set(uid, touched)
    const { group, kind } = object
    const entry = { uid, hash: projectionHash(touched), resourceVersion: touched.resourceVersion }
    const about = { cluster: CLUSTER, epoch: 1, sync: null }
    this.#tell(object, { type: 'Touched', ...about, group, kind, entries: [entry] })
  }

  /**
   * As DELETE: sets the finalizers that the policy demands, and removes an object that has none.
   */
  delete(uid: string, policy: string, command: DeleteObject | null = null): ObjectMeta | null {
    const object = this.objects.get(uid)
    if (object === undefined) return null
    const own = [FINALIZER_FOREGROUND, FINALIZER_ORPHAN]
    const asked =
      policy === 'Foreground'
        ? [FINALIZER_FOREGROUND]
        : policy === 'Orphan'
          ? [FINALIZER_ORPHAN]
          : []
    const finalizers = [...object.finalizers.filter((each) => !own.includes(each)), ...asked]
    if (finalizers.length === 0) {
      this.#remove(object, command)
      return null
    }
    const isOther = finalizers.join() !== object.finalizers.join()
    if (object.deletedAt === null || isOther)
      this.#write({ ...object, finalizers, deletedAt: 1 }, 'ObjectUpdated')
    return this.objects.get(uid) ?? null
  }

  /**
   * The watch of a kind breaks, losing the last `lost` events that were not taken, and begins with
   * a new list.
   */
  relist(short: string, lost: number, isCut: boolean): void {
    const { group, kind } = kindNotation(short)
    const stream = this.streams.get(short) ?? []
    if (this.#unserved.delete(short)) stream.push(served(short, true))
    for (let i = 0; i < lost && isLive(stream.at(-1)); i++) stream.pop()
    this.#watched.add(short)
    this.#sync += 1
    const about = { cluster: CLUSTER, epoch: 1, group, kind, sync: 1_000_000 + this.#sync }
    const listed = [...this.objects.values()].filter((o) => o.kind === kind && o.group === group)
    stream.push({ type: 'SyncStarted', ...about })
    for (const object of isCut ? listed.slice(0, listed.length / 2) : listed) {
      stream.push({ type: 'ObjectUpdated', cluster: CLUSTER, epoch: 1, sync: about.sync, object })
    }
    if (isCut) return this.relist(short, 0, false)
    const resourceVersion = String(this.#version)
    stream.push({ type: 'SyncFinished', ...about, resourceVersion, listed: setOf(listed) })
  }

  /**
   * The kind's CustomResourceDefinition is deleted: its objects are deleted without events. It is
   * served again when it is relisted.
   */
  unserve(short: string): void {
    const { group, kind, resource } = kindNotation(short)
    if (this.#unserved.has(short)) return
    this.#unserved.add(short)
    this.#watched.delete(short)
    for (const object of [...this.objects.values()]) {
      if (shortKind(object.group, object.kind) === short) this.objects.delete(object.uid)
    }
    const gone = { type: 'KindGone', cluster: CLUSTER, epoch: 1, group, kind, resource } as const
    this.streams.get(short)?.push(gone)
  }

  /** Carries out a command within its guards, as a reaper does, and returns its result. */
  carryOut(command: Effect): CommandSettled {
    const { target } = command
    const object = this.objects.get(target.uid)
    if (object === undefined || !isSamePlace(object, target))
      return settled(command, 'absent', null)
    if (command.type === 'OrphanDependent') return this.#dropReferences(command, object)
    if (command.type === 'RemoveFinalizer') return this.#removeFinalizer(command, object)
    if (command.type === 'AnnotateObject') return this.#annotate(command, object)
    if (object.deletedAt !== null) return settled(command, 'absent', object)
    if (command.rule !== null && object.resourceVersion !== target.resourceVersion)
      return settled(command, 'stale', object)
    const isSame = sameReferences(object.ownerReferences, command.references)
    if (!isSame) return settled(command, 'stale', object)
    const isLive = command.evidence === 'deleted' && command.freshness === 'live'
    const isProven = isLive || command.owners.every((o) => this.#holds(o))
    if (!isProven) return settled(command, 'stale', object)
    return settled(command, 'done', this.delete(target.uid, command.propagationPolicy, command))
  }

  verify(command: VerifyOwner): OwnerFound | OwnerAbsent | CommandSettled {
    const { group, kind, namespace, name, uid } = command.target
    if (this.#unserved.has(shortKind(group, kind))) return settled(command, 'blocked', null)
    const owner = { group, kind, namespace, name }
    const found = this.at(owner)
    const about = { cluster: CLUSTER, clusterEpoch: 1, owner, uid, command: command.id }
    if (found?.uid === uid) return { type: 'OwnerFound', ...about, object: found }
    const how = found === undefined ? 'NotFound' : 'OtherUid'
    return { type: 'OwnerAbsent', ...about, how, otherUid: found?.uid ?? null }
  }

  #dropReferences(command: OrphanDependent, object: ObjectMeta): CommandSettled {
    const isSame = command.drop.every((index) =>
      sameReferences(
        object.ownerReferences.slice(index, index + 1),
        command.references.slice(index, index + 1),
      ),
    )
    if (!isSame) return settled(command, 'stale', object)
    const kept = object.ownerReferences.filter((_, index) => !command.drop.includes(index))
    this.update(object.uid, { ownerReferences: kept })
    return settled(command, 'done', this.objects.get(object.uid) ?? null)
  }

  #annotate({ annotation, ...command }: AnnotateObject, object: ObjectMeta): CommandSettled {
    const about = { annotation, ...command }
    const { resourceVersion } = command.target
    if (object.resourceVersion !== resourceVersion) return settled(about, 'stale', object)
    if (!command.owners.every((each) => this.#holds(each))) return settled(about, 'stale', object)
    const others = object.annotations.filter(({ key }) => key !== annotation.key)
    this.update(object.uid, { annotations: [...others, annotation] })
    return settled(about, 'done', this.objects.get(object.uid) ?? null)
  }

  #removeFinalizer(command: RemoveFinalizer, object: ObjectMeta): CommandSettled {
    if (!object.finalizers.includes(command.finalizer)) return settled(command, 'done', object)
    const isSame = object.finalizers.join() === command.finalizers.join()
    if (!isSame) return settled(command, 'stale', object)
    const finalizers = object.finalizers.filter((each) => each !== command.finalizer)
    this.#onFinish(object, command)
    this.update(object.uid, { finalizers })
    return settled(command, 'done', this.objects.get(object.uid) ?? null)
  }

  #holds(owner: DeleteObject['owners'][number]): boolean {
    const found = this.at(owner)
    if (owner.claim === 'absent') return found?.uid !== owner.uid
    return found === undefined || found.finalizers.includes(FINALIZER_FOREGROUND)
  }

  #write(object: ObjectMeta, type: 'ObjectAdded' | 'ObjectUpdated'): void {
    this.#version += 1
    const written = { ...object, resourceVersion: String(this.#version) }
    this.objects.set(object.uid, written)
    this.#tell(object, { type, cluster: CLUSTER, epoch: 1, sync: null, object: written })
  }

  #remove(object: ObjectMeta, command: DeleteObject | null): void {
    this.#onRemoved(object, command)
    this.#version += 1
    const removed = { ...object, resourceVersion: String(this.#version) }
    this.objects.delete(object.uid)
    this.#departed.push(removed)
    this.#tell(object, {
      type: 'ObjectDeleted',
      cluster: CLUSTER,
      epoch: 1,
      object: removed,
      ageMs: 0,
    })
  }

  #tell(object: ObjectMeta, event: Event): void {
    const short = shortKind(object.group, object.kind)
    if (this.#watched.has(short)) this.streams.get(short)?.push(event)
  }
}

function setOf(listed: readonly ObjectMeta[]): SetHash {
  return listed.reduce((set, { uid }) => withMember(set, uid), EMPTY_SET)
}

function isLive(event: Event | undefined): boolean {
  if (event === undefined) return false
  if (event.type === 'ObjectDeleted') return true
  const isSighting = event.type === 'ObjectAdded' || event.type === 'ObjectUpdated'
  return (isSighting || event.type === 'Touched') && event.sync === null
}

export function served(short: string, monitored: boolean): Event {
  const { group, kind, resource, scope, version } = kindNotation(short)
  const about = { group, kind, resource, scope, versions: [version], monitored }
  const rest = { reason: '', ambiguous: false, aggregated: false }
  return { type: 'KindServed', cluster: CLUSTER, epoch: 1, ...about, ...rest }
}

export function settled(
  command: Command,
  outcome: CommandSettled['outcome'],
  object: ObjectMeta | null,
): CommandSettled {
  const { group, kind, namespace, name, uid } = command.target
  return {
    type: 'CommandSettled',
    cluster: CLUSTER,
    clusterEpoch: 1,
    command: command.id,
    verb: command.type,
    uid,
    place: { group, kind, namespace, name },
    outcome,
    reason: '',
    code: null,
    object,
    calls: 1,
    list: null,
  }
}

function sameReferences(a: readonly OwnerReference[], b: readonly OwnerReference[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}
