/**
 * Why an object was deleted, as far as its own record and the request say: by a collector, whose
 * cause is the deletion of its owners, or by anybody else, whose cause is nowhere else.
 *
 * What must stay true: where a user or a controller deleted it, nothing follows from it: a controller
 * scales, cleans up and empties namespaces for reasons that no owner reference says. What is inferred
 * is called so. It is read from fields of records; no sentence is read back.
 *
 * Not here: which owner it was (record/attribution.ts), which request (actor.ts).
 */
import type { CommandId } from '../../../../core/model/id.ts'
import type { Coordinates, Uid } from '../../../../core/model/object.ts'
import type { Evidence } from '../../../../core/model/proof.ts'
import type { History } from '../../../../core/model/record.ts'
import { HIDDEN } from '../view/sight.ts'
import { BEGUN, type FoundActor } from './actor.ts'

export type By = 'kinfold' | 'others' | 'unknown'

/** What every answer that names a deletion says of it. */
export interface Deletion {
  readonly by: By
  /** What Kinfold's delete rested on; null for any other. */
  readonly evidence: Evidence | null
  readonly command: CommandId | null
  /** Who asked an API server for it, as its audit log says; null where nobody can say. */
  readonly deletedBy: FoundActor | null
  /** The owner by whose deletion it was deleted, perhaps through others: one that no collector deleted. Null for what users deleted, and where it is not known. */
  readonly root: (Coordinates & { readonly uid: Uid }) | null
  /** Who asked for the deletion of `root`; null where nobody can say. */
  readonly rootDeletedBy: FoundActor | null
  /** Another collector deleted it, or an owner of it, and the record has that `root` was why. */
  readonly isInferred: boolean
  /** False: it may have followed from the deletion of an owner, of which one nobody knows. */
  readonly isRootKnown: boolean
  /** Deleted since then: nothing was seen of its cluster. Null: seen at once, as far as is known. */
  readonly unseenSince: number | null
  /** One sentence: why Kinfold deleted it. Empty for any other. */
  readonly text: string
}

export type Cause =
  /** The deletion of its owners, which was recorded by `at`. */
  | { readonly type: 'owner'; readonly at: number; readonly isInferred: boolean }
  /** Whoever deleted it decided that. */
  | { readonly type: 'own' }
  /** Either, if all its owners were deleted by `at`; `own` if one was not. Null: nobody can say. */
  | { readonly type: 'unknown'; readonly at: number | null }

/** A life of an object as it was read. */
export interface Ended {
  /** When Kinfold decided the delete that it carried out; null where it carried out none. */
  readonly decidedAt: number | null
  readonly history: readonly History[]
}

/** Two watches may report one moment so far apart. */
const SKEW_MS = 2_000
/** An owner whose deletion is recorded so much later was there: a watch that is behind by more has no term. */
const BEHIND_MS = 60_000
const NOBODY_KNOWS: Cause = { type: 'unknown', at: null }

export function causeOf({ decidedAt, history }: Ended, actor: FoundActor | null): Cause {
  if (decidedAt !== null) return { type: 'owner', at: decidedAt, isInferred: false }
  if (actor?.match === 'audit-id') return ofCommand(history, actor.auditId)
  const begun = beginOf(history)
  const either: Cause = { type: 'unknown', at: begun === undefined ? null : begun.at + BEHIND_MS }
  if (actor !== null && !actor.isCollector) {
    return actor.others === 0 ? { type: 'own' } : either
  }
  // Of what happened between two lists nobody knows whom it named last.
  const isSeen = !history.some(
    ({ change, evidence }) => change === 'gone' && evidence !== 'deleted',
  )
  if (begun === undefined || !isSeen) return NOBODY_KNOWS
  // It may be faster than the watch by which the record learns of the owner's deletion.
  if (actor !== null) return { type: 'owner', at: begun.at + SKEW_MS, isInferred: true }
  const decided = decidedIn(history.slice(0, history.indexOf(begun)))
  return decided === undefined ? either : { type: 'owner', at: decided.at, isInferred: true }
}

/** Of one that exists: what the record has decided of it, before anybody deleted it. */
export function causeNow(history: readonly History[]): Cause {
  const decided = decidedIn(history)
  return decided === undefined
    ? { type: 'own' }
    : { type: 'owner', at: decided.at, isInferred: false }
}

/** Ours, whose result is not known, or not any more. */
function ofCommand(history: readonly History[], auditId: string): Cause {
  const command = history.find((each) => each.change === 'command' && each.command === auditId)
  return command === undefined ? NOBODY_KNOWS : { type: 'owner', at: command.at, isInferred: false }
}

/** The last verdict, where it was that no owner is left: what came after its deletion began says nothing of why. */
function decidedIn(history: readonly History[]): History | undefined {
  const last = history.findLast(({ change }) => change === 'verdict')
  if (last === undefined || last.evidence === null || last.evidence === 'orphaning')
    return undefined
  return last
}

/** Of one life, in order: where its deletion was recorded first. */
export function beginOf(history: readonly History[]): History | undefined {
  return history.find(({ change, phase }) => {
    return change === 'gone' || BEGUN.has(phase)
  })
}

/** For who may see the object, and not its root. */
export function withoutRoot<T extends Deletion>(deletion: T): T {
  const { root } = deletion
  if (root === null) return deletion
  return { ...deletion, root: { ...root, name: HIDDEN, uid: HIDDEN }, rootDeletedBy: null }
}
