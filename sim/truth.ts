/**
 * The truth about one server's objects beyond their present state: how each was deleted, and which
 * parts were already removed.
 *
 * What must stay true: it follows from the server's effects alone, so that a restored server has a
 * truth of its own.
 */
import type { ApiObject, Effect } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import type { Judged } from './oracle.ts'
import type { Acting, Site } from './site.ts'

type Reference = NonNullable<ApiObject['metadata']['ownerReferences']>[number]

/**
 * For how long the deletion of an object that was deleted with its namespace may still be reported
 * and have effects.
 */
const ENDED_MS = 40 * 60_000
/** A waiting owner is verified again by commands older than that. */
const LOOK_MS = 2_000

export class Truth implements Judged {
  readonly #site: Site
  readonly waited: Set<string> = new Set()
  /** Since when; a restore does not take that back. */
  readonly waitedSinceMs: Map<string, number> = new Map()
  readonly orphaned: Map<string, ApiObject> = new Map()
  readonly onceOrphaned: Map<string, ApiObject> = new Map()
  readonly orphanedBefore: ReadonlyMap<string, ApiObject>
  /** When one that waited became orphaning. */
  readonly #turnedMs: Map<string, number> = new Map()
  readonly #time: Clock
  readonly #begunAnewMs: () => number
  #forgotMs = Number.NEGATIVE_INFINITY
  /** Of the request that is judged. */
  #sentMs = 0
  /** Deletes by Kinfold that took effect, by uid. */
  readonly deleted: Map<string, number> = new Map()
  /** Effects of Kinfold, by uid. */
  readonly effects: Map<string, number> = new Map()
  /** For objects deleted by Kinfold, since when they could have been deleted; by uid. */
  readonly heldSinceMs: Map<string, number> = new Map()
  /**
   * Objects that Kinfold asked to delete, by uid: since when they could have been deleted, and the
   * references they had then.
   */
  readonly #commanded: Map<string, { readonly sinceMs: number; readonly names: string }> = new Map()
  /** Objects that exist no longer, and since when; by uid. */
  readonly #removed: Map<string, { readonly object: ApiObject; readonly ms: number }> = new Map()
  /** Since when each uid first named just these owners, by their names. */
  readonly #named: Map<string, Map<string, number>> = new Map()
  /** The life that the server was set back from, which a restore repeats up to a point. */
  readonly #former: Truth | undefined
  /**
   * Namespaces, and when they were deleted last, also where a restore took that back: their home
   * knows it for ten minutes more.
   */
  readonly #endedMs: Map<string, number>

  /**
   * `begunAnewMs`: wall time at which a person last began with an empty log. `former`: of the
   * server before its restore.
   */
  constructor(site: Site, time: Clock, begunAnewMs: () => number, former?: Truth) {
    this.orphanedBefore = new Map([
      ...(former?.orphanedBefore ?? []),
      ...(former?.onceOrphaned ?? []),
    ])
    this.#endedMs = new Map(former === undefined ? [] : former.#endedMs)
    this.#former = former
    this.#site = site
    this.#time = time
    this.#begunAnewMs = begunAnewMs
  }

  get server(): Judged['server'] {
    return this.#site.server
  }

  readonly hasJustTurned: Judged['hasJustTurned'] = (uid) => {
    const turnedMs = this.#turnedMs.get(uid)
    return turnedMs !== undefined && this.#sentMs - turnedMs <= LOOK_MS
  }

  readonly isGone: Judged['isGone'] = (dependent, reference) =>
    this.goneSinceMs(dependent, reference) > 0

  /**
   * The processes that could know how owners were deleted that exist no longer have lost their
   * memory.
   */
  forgetTheGone(): void {
    const uids = new Set(this.#site.all().map(({ metadata }) => metadata.uid))
    for (const uid of this.orphaned.keys()) if (!uids.has(uid)) this.orphaned.delete(uid)
  }

  /**
   * After a person began with an empty log, only what can be seen is known: also of a server that
   * is restored and replays its life.
   */
  #forgetTheUnseen(): void {
    const begunAnewMs = this.#begunAnewMs()
    if (this.#forgotMs >= begunAnewMs || this.#site.nowMs < begunAnewMs) return
    this.#forgotMs = begunAnewMs
    const orphaning = this.#site.all().filter(({ metadata }) => {
      const { deletionTimestamp, finalizers = [] } = metadata
      return deletionTimestamp !== undefined && finalizers.includes('orphan')
    })
    const uids = new Set(orphaning.map(({ metadata }) => metadata.uid))
    for (const uid of this.orphaned.keys()) if (!uids.has(uid)) this.orphaned.delete(uid)
  }

  /** Since when it has named the owners that it names now. */
  namesSinceMs({ metadata }: ApiObject): number {
    return this.#named.get(metadata.uid)?.get(namesOf(metadata)) ?? 0
  }

  /** Since when the referenced owner itself exists no longer; 0 if it never existed. */
  goneSinceMs(
    { metadata }: ApiObject,
    { kind, name, uid }: Pick<Reference, 'kind' | 'name' | 'uid'>,
  ): number {
    const gone = this.#removed.get(uid)
    if (gone === undefined) return 0
    const { object, ms } = gone
    const { namespace = metadata.namespace } = object.metadata
    const isIt = object.kind === kind && object.metadata.name === name
    return isIt && namespace === metadata.namespace ? ms : 0
  }

  /** From now on its deletion is initiated by Kinfold, also when another client is quicker. */
  commanded({ metadata }: ApiObject, sinceMs: number): void {
    this.#commanded.set(metadata.uid, { sinceMs, names: namesOf(metadata) })
    if (this.#removed.has(metadata.uid)) this.heldSinceMs.set(metadata.uid, sinceMs)
  }

  /**
   * For an object that Kinfold deleted at just that moment: since when it could have been deleted.
   */
  heldBefore(uid: string, removedMs: number): number | undefined {
    return this.#removed.get(uid)?.ms === removedMs ? this.heldSinceMs.get(uid) : undefined
  }

  /** An object that exists no longer, in its last version. */
  removed(uid: string): ApiObject | undefined {
    return this.#removed.get(uid)?.object
  }

  /** Whether its namespace was deleted a while ago at most. */
  hasEnded(namespace: string): boolean {
    const endedMs = this.#endedMs.get(namespace)
    return endedMs !== undefined && this.#site.nowMs - endedMs < ENDED_MS
  }

  #remember({ before, after, kind }: Effect, isOurs: boolean): void {
    const { nowMs } = this.#site
    if (after === null && before !== null) {
      const { uid } = before.metadata
      this.#removed.set(uid, { object: before, ms: nowMs })
      const formerlyMs = this.#former?.heldBefore(uid, nowMs)
      if (formerlyMs !== undefined) this.heldSinceMs.set(uid, formerlyMs)
      const commanded = this.#commanded.get(uid)
      if (commanded?.names === namesOf(before.metadata))
        this.heldSinceMs.set(uid, commanded.sinceMs)
    }
    if (after !== null) {
      const named = this.#named.get(after.metadata.uid) ?? new Map<string, number>()
      this.#named.set(after.metadata.uid, named)
      const names = namesOf(after.metadata)
      // References removed by Kinfold are no user's change: those that are left have been there
      // since before.
      const sinceMs = isOurs && before !== null ? named.get(namesOf(before.metadata)) : undefined
      if (!named.has(names)) named.set(names, sinceMs ?? nowMs)
    }
    const isEnding = after === null || after.metadata.deletionTimestamp !== undefined
    const { name = '' } = (after ?? before)?.metadata ?? {}
    if (kind.resource === 'namespaces' && isEnding) this.#endedMs.set(name, nowMs)
  }

  see(effect: Effect, acting: Acting | undefined): void {
    this.#forgetTheUnseen()
    this.#remember(effect, acting !== undefined)
    const { before, after } = effect
    const { finalizers = [], uid = '' } = after?.metadata ?? {}
    this.#sentMs = acting?.sentMs ?? this.#time.monotonicMs()
    const isTurned = finalizers.includes('orphan') && this.waited.has(uid)
    if (isTurned && !this.#turnedMs.has(uid)) this.#turnedMs.set(uid, this.#time.monotonicMs())
    const isDeleting = after?.metadata.deletionTimestamp !== undefined
    if (finalizers.includes('foregroundDeletion')) {
      this.waited.add(uid)
      if (!this.waitedSinceMs.has(uid)) this.waitedSinceMs.set(uid, this.#site.nowMs)
    }
    if (after !== null && isDeleting && finalizers.includes('orphan')) {
      this.orphaned.set(uid, after)
      this.onceOrphaned.set(uid, after)
    } else if (acting === undefined && before?.metadata.finalizers?.includes('orphan') === true) {
      // A user has asked for something else since.
      this.orphaned.delete(before.metadata.uid)
    }
  }
}

function namesOf({ ownerReferences = [] }: ApiObject['metadata']): string {
  return JSON.stringify(
    ownerReferences.map(({ apiVersion, kind, name, uid }) => [apiVersion, kind, name, uid]),
  )
}

/**
 * Whether the effect is the one that was requested: what else is deleted with it, such as a
 * namespace's content, is the server's doing.
 */
export function isAskedFor({ before, kind }: Effect, { request }: Acting): boolean {
  if (request.method !== 'DELETE' && request.method !== 'PATCH') return false
  const { pathname } = new URL(request.path, 'http://world')
  return before !== null && pathname.endsWith(`/${kind.resource}/${before.metadata.name}`)
}
