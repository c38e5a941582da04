/**
 * Why an object was deleted, as far as its own record and the request say: by a collector, whose
 * cause is the deletion of its owners, by the namespace controller, whose cause is the deletion of
 * its namespace, or by another client, whose cause is not recorded.
 *
 * What must stay true: where a user or another controller deleted it, nothing follows from it: a
 * controller scales and cleans up for reasons that no record says. An inference is called one. It
 * is read from fields of records; no sentence is read back.
 *
 * Not here: which owner it was (record/attribution.ts), which request (actor.ts).
 */
import type { Evidence } from '../../../../core/model/proof.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Unshaped } from '../../api/document.ts'
import type {
  Deletion as AnsweredDeletion,
  Orphaned as AnsweredOrphaned,
} from '../../api/part-schema.ts'
import { HIDDEN } from '../view/sight.ts'
import { BEGUN, type FoundActor, isNamespaceController } from './actor.ts'

export type By = Deletion['by']

/** What every answer that names a deletion says of it. */
export type Deletion = Unshaped<AnsweredDeletion>

/** The owner that orphaned an object. */
export type Orphaned = Unshaped<AnsweredOrphaned>

export type Cause =
  /** The deletion of its owners, which was recorded by `at`. */
  | { readonly type: 'owner'; readonly at: number; readonly isInferred: boolean }
  /** The deletion of its namespace, which is all that the namespace controller follows. */
  | { readonly type: 'namespace'; readonly begun: Begun }
  /** The client that deleted it decided that. */
  | { readonly type: 'own' }
  /**
   * Either, if all its owners were deleted by `at`; `own` if one was not. Null: unknown. `begun`:
   * no request is known, so a namespace whose deletion had begun may be the cause.
   */
  | { readonly type: 'unknown'; readonly at: number | null; readonly begun: Begun | null }

/** When its deletion began, in log time: between these, as far as is known. */
export interface Begun {
  readonly from: number
  readonly to: number
}

/** A life of an object as it was read. */
export interface Ended {
  /** When Kinfold decided the delete that it carried out; null where it carried out none. */
  readonly decidedAt: number | null
  readonly history: readonly History[]
  /** It ended since then, of a cluster of which nothing was seen; null: it was seen at once. */
  readonly unseenSince: number | null
}

/** Two watches may report one moment so far apart. */
const SKEW_MS = 2_000
/**
 * An owner whose deletion is recorded so much later existed: a watch that lags by more has no term.
 */
const BEHIND_MS = 60_000
const NOBODY_KNOWS: Cause = { type: 'unknown', at: null, begun: null }

export function causeOf(ended: Ended, actor: FoundActor | null): Cause {
  const { decidedAt, history } = ended
  if (decidedAt !== null) return { type: 'owner', at: decidedAt, isInferred: false }
  if (actor?.match === 'audit-id') return ofCommand(history, actor.auditId)
  const begun = beginOf(history)
  if (actor !== null && !actor.isCollector) {
    if (actor.others > 0) return eitherOf(begun)
    return isNamespaceController(actor) ? ofNamespace(ended, begun) : { type: 'own' }
  }
  // Which owners it referenced last is unknown for a change between two lists.
  const isSeen = !history.some(
    ({ change, evidence }) => change === 'gone' && evidence !== 'deleted',
  )
  if (begun === undefined || !isSeen) return NOBODY_KNOWS
  // It may be faster than the watch by which the record learns of the owner's deletion.
  if (actor !== null) return { type: 'owner', at: latestOf(ended, begun), isInferred: true }
  const decided = decidedIn(history.slice(0, history.indexOf(begun)))
  if (decided !== undefined) return { type: 'owner', at: decided.at, isInferred: true }
  // It may have been deleted as early as that, by any client.
  const from = ended.unseenSince ?? begun.at
  return { ...eitherOf(begun), begun: { from, to: from } }
}

function eitherOf(begun: History | undefined): Cause & { readonly type: 'unknown' } {
  return { type: 'unknown', at: begun === undefined ? null : begun.at + BEHIND_MS, begun: null }
}

function ofNamespace(ended: Ended, begun: History | undefined): Cause {
  if (begun === undefined) return NOBODY_KNOWS
  const from = ended.unseenSince ?? begun.at - SKEW_MS
  return { type: 'namespace', begun: { from, to: latestOf(ended, begun) } }
}

/**
 * By then the cause that a controller followed is recorded. After an outage each watch reports in
 * its own time.
 */
function latestOf({ unseenSince }: Ended, { at }: History): number {
  return at + (unseenSince === null ? SKEW_MS : BEHIND_MS)
}

/** Of one that exists: the verdict that is recorded of it, before its deletion by any client. */
export function causeNow(history: readonly History[]): Cause {
  const decided = decidedIn(history)
  return decided === undefined
    ? { type: 'own' }
    : { type: 'owner', at: decided.at, isInferred: false }
}

/** Initiated by Kinfold; its result is unknown, or no longer known. */
function ofCommand(history: readonly History[], auditId: string): Cause {
  const command = history.find((each) => each.change === 'command' && each.command === auditId)
  if (command?.evidence === 'rule') return { type: 'own' }
  return command === undefined ? NOBODY_KNOWS : { type: 'owner', at: command.at, isInferred: false }
}

/**
 * The last verdict, where it was that no owner is left: what came after its deletion began says
 * nothing of why.
 */
function decidedIn(history: readonly History[]): History | undefined {
  const last = history.findLast(({ change }) => change === 'verdict')
  return last?.evidence == null || NO_OWNER.has(last.evidence) ? undefined : last
}

/** These say nothing of an owner that was deleted. */
const NO_OWNER: ReadonlySet<Evidence> = new Set(['orphaning', 'rule'])

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

/** For who may see the object, and not the owner that orphaned it. */
export function withoutOwner(orphaned: Orphaned): Orphaned {
  const owner = { ...orphaned.owner, name: HIDDEN, uid: HIDDEN }
  return { ...orphaned, owner, deletion: null }
}
