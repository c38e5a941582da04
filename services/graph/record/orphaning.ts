/**
 * By the deletion of which owner an object was orphaned: one that was deleted with orphan, and
 * whose reference the object had until then.
 *
 * What must stay true: it is said only where the record proves it: the last change of the object's
 * references removed that of an owner that was orphaning by then, and no verdict had another reason
 * for it. An object that has got an owner since is not orphaned any more. It is read from fields of
 * records; no sentence is read back.
 *
 * Not here: who deleted that owner (attribution.ts), words (web/deletion-text.ts).
 */
import type { Identity } from '../../../core/graph/identity.ts'
import type { History } from '../../../core/model/record.ts'
import type { KnownObject } from '../../../ports/record/lineage.ts'
import { BEGUN } from '../query/answer/actor.ts'
import type { Orphaned } from '../query/answer/deletion-cause.ts'
import { ownersMeant } from '../query/answer/owner-of-record.ts'
import type { HistoryIndex } from '../query/index/history-index.ts'
import type { Turns } from '../turns.ts'
import { type Attributors, attributionOf } from './attribution.ts'
import { type Life, MOST_OF_CHAIN } from './life.ts'

export interface OrphaningParts extends Attributors {
  readonly index: Pick<HistoryIndex, 'newest' | 'objectAfter' | 'namesOf'>
  readonly turns: Turns
}

/** Entries that are read at once, and at most. */
const AT_ONCE = 100
const MOST_ENTRIES = 2_000
/** Removed references whose owners are read. */
const MOST_OWNERS = 20

type Reference = KnownObject['owners'][number]

/** The last change of an object's references, which took some and added none. */
interface Removal {
  readonly entry: History
  readonly removed: readonly Reference[]
  /** The verdict by then; undefined for none. */
  readonly verdict: History | undefined
}

/** Of one that exists. Null where the record does not prove it. */
export async function orphaningOf(parts: OrphaningParts, of: Identity): Promise<Orphaned | null> {
  const removal = await lastRemoval(parts, of)
  if (removal === undefined) return null
  const begin = parts.lives.read
  for (const reference of removal.removed.slice(0, MOST_OWNERS)) {
    for (const owner of ownersMeant(parts.index, of, reference)) {
      if (parts.lives.read - begin >= MOST_OF_CHAIN) return null
      const life = await parts.lives.lastOf(owner)
      const begun = life.history.find(({ phase }) => phase === 'orphaning')
      if (begun !== undefined && isBy(removal, begun, life)) {
        return await orphanedBy(parts, { owner, life, begun }, removal)
      }
    }
  }
  return null
}

interface Owner {
  readonly owner: Identity
  readonly life: Life
  /** Since when it orphans its dependents. */
  readonly begun: History
}

async function orphanedBy(
  { lives, deleters }: OrphaningParts,
  { owner, life, begun }: Owner,
  { entry }: Removal,
): Promise<Orphaned> {
  // Whose request was another one first did not ask for orphans.
  const isFirst = !life.isCut && life.history.find(({ phase }) => BEGUN.has(phase)) === begun
  // A user who may know of an object may not know of its owner: no doubt names that.
  const asOwner: Attributors['deleters'] = {
    of: async (...asked) => await deleters.ofOwner(...asked),
    ofOwner: async (...asked) => await deleters.ofOwner(...asked),
    unprovenOf: () => null,
  }
  const attribution = isFirst
    ? await attributionOf({ lives, deleters: asOwner }, owner, life)
    : undefined
  const { group, kind, namespace, name, uid } = owner
  return {
    owner: { group, kind, namespace, name, uid },
    at: entry.at,
    since: begun.at,
    isOver: life.history.some(({ change }) => change === 'gone'),
    deletion: attribution?.deletion ?? null,
  }
}

/**
 * Both are entries of one log. A reference that a user removed before is no matter of the deletion,
 * nor is one that was removed after the request for orphans was taken back: a verdict says that it
 * is in force still, also of an owner that is deleted by now.
 */
function isBy({ entry, verdict }: Removal, begun: History, { history }: Life): boolean {
  if (entry.partition !== begun.partition || entry.position <= begun.position) return false
  const evidence = verdict?.evidence ?? null
  if (evidence !== null) return evidence === 'orphaning'
  const end = history.slice(history.indexOf(begun) + 1).find(({ change, phase }) => {
    return change === 'gone' || (phase !== null && phase !== 'orphaning')
  })
  return end === undefined || entry.position <= end.position
}

/** Undefined where the last change was another one, or is not known. */
async function lastRemoval(
  { index, turns }: OrphaningParts,
  of: Identity,
): Promise<Removal | undefined> {
  const walk = new Walk()
  let before: bigint | undefined
  for (let read = 0; read < MOST_ENTRIES; ) {
    const page = await index.newest(of, AT_ONCE, before)
    for (const [offset, entry] of page.entries.toReversed()) {
      await turns.take()
      const found = walk.back(entry, () => index.objectAfter(of, offset))
      if (found !== 'on') return found
    }
    read += page.entries.length
    before = page.entries[0]?.[0]
    if (!page.isCut || before === undefined) return walk.end()
  }
  return undefined
}

/** From the newest entry of an object back to the one before its references changed. */
class Walk {
  #now: readonly Reference[] | undefined
  /** The oldest so far with the references that it has now. */
  #entry: History | undefined
  /** The newest before that. */
  #verdict: History | undefined
  #removed: readonly Reference[] = []

  back(each: History, objectAfter: () => KnownObject | null): Removal | undefined | 'on' {
    // Of the life before.
    if (each.change === 'gone') return undefined
    const isBefore = this.#entry !== undefined && each.position < this.#entry.position
    if (isBefore && each.change === 'verdict') this.#verdict ??= each
    if (this.#removed.length === 0) {
      const known = objectAfter()
      if (known === null) return 'on'
      // What a long list was is not read.
      if (known.long !== null) return undefined
      this.#now ??= known.owners
      if (without(this.#now, known.owners).length > 0) return undefined
      this.#removed = without(known.owners, this.#now)
      if (this.#removed.length === 0) {
        this.#entry = each
        this.#verdict = undefined
      }
    }
    return this.#removed.length > 0 && this.#verdict !== undefined ? this.end() : 'on'
  }

  /** No older entry is there. */
  end(): Removal | undefined {
    const [entry, removed, verdict] = [this.#entry, this.#removed, this.#verdict]
    return entry === undefined || removed.length === 0 ? undefined : { entry, removed, verdict }
  }
}

function without(all: readonly Reference[], others: readonly Reference[]): readonly Reference[] {
  const known = new Set(others.map(keyOf))
  return all.filter((each) => !known.has(keyOf(each)))
}

function keyOf({ apiVersion, kind, name, uid }: Reference): string {
  return JSON.stringify([apiVersion, kind, name, uid])
}
