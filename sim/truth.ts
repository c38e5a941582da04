/**
 * What is true of one server's objects beyond their present state: who was deleted how, and what was already taken away.
 *
 * What must stay true: it follows from the server's effects alone, so that a restored server has a truth of its own.
 */
import type { ApiObject, Effect } from '../adapters/memory/api-server.ts'
import type { Clock } from '../ports/clock.ts'
import type { Judged } from './oracle.ts'
import type { Acting, Site } from './site.ts'

/** A waiting owner is looked at again by commands older than that. */
const LOOK_MS = 2_000

export class Truth implements Judged {
  readonly #site: Site
  readonly waited: Set<string> = new Set()
  readonly orphaned: Map<string, ApiObject> = new Map()
  readonly onceOrphaned: Map<string, ApiObject> = new Map()
  /** When one that waited became orphaning. */
  readonly #turnedMs: Map<string, number> = new Map()
  readonly #time: Clock
  /** Of the request that is judged. */
  #sentMs = 0
  /** Deletes of ours that took effect, by uid. */
  readonly deleted: Map<string, number> = new Map()
  /** Effects of ours, by uid. */
  readonly effects: Map<string, number> = new Map()

  constructor(site: Site, time: Clock) {
    this.#site = site
    this.#time = time
  }

  get server(): Judged['server'] {
    return this.#site.server
  }

  readonly hasJustTurned: Judged['hasJustTurned'] = (uid) => {
    const turnedMs = this.#turnedMs.get(uid)
    return turnedMs !== undefined && this.#sentMs - turnedMs <= LOOK_MS
  }

  /** Whoever could know how owners went that are no more has lost its memory. */
  forgetTheGone(): void {
    const uids = new Set(this.#site.all().map(({ metadata }) => metadata.uid))
    for (const uid of this.orphaned.keys()) if (!uids.has(uid)) this.orphaned.delete(uid)
  }

  /** Somebody begins with an empty log: what is known from then on is what can be seen. */
  forgetTheUnseen(): void {
    const orphaning = this.#site.all().filter(({ metadata }) => {
      const { deletionTimestamp, finalizers = [] } = metadata
      return deletionTimestamp !== undefined && finalizers.includes('orphan')
    })
    const uids = new Set(orphaning.map(({ metadata }) => metadata.uid))
    for (const uid of this.orphaned.keys()) if (!uids.has(uid)) this.orphaned.delete(uid)
  }

  see({ before, after }: Effect, acting: Acting | undefined): void {
    const { finalizers = [], uid = '' } = after?.metadata ?? {}
    this.#sentMs = acting?.sentMs ?? this.#time.monotonicMs()
    const isTurned = finalizers.includes('orphan') && this.waited.has(uid)
    if (isTurned && !this.#turnedMs.has(uid)) this.#turnedMs.set(uid, this.#time.monotonicMs())
    const isDeleting = after?.metadata.deletionTimestamp !== undefined
    if (finalizers.includes('foregroundDeletion')) this.waited.add(uid)
    if (after !== null && isDeleting && finalizers.includes('orphan')) {
      this.orphaned.set(uid, after)
      this.onceOrphaned.set(uid, after)
    } else if (acting === undefined && before?.metadata.finalizers?.includes('orphan') === true) {
      // Somebody else has asked for something else since.
      this.orphaned.delete(before.metadata.uid)
    }
  }
}

/** Whether the effect is the one that was asked for: what goes with it, such as a namespace's content, is the server's doing. */
export function isAskedFor({ before, kind }: Effect, { request }: Acting): boolean {
  if (request.method !== 'DELETE' && request.method !== 'PATCH') return false
  const { pathname } = new URL(request.path, 'http://world')
  return before !== null && pathname.endsWith(`/${kind.resource}/${before.metadata.name}`)
}
