/**
 * A node of the graph: one object that was observed, what is known of it beside its content, and
 * the command under way for it.
 *
 * What must stay true: its phase follows from the object, the doubt about it and what a server
 * answered (`nodePhase`). A move that `mayMove` does not allow is no crash: the node is untrusted,
 * gets no verdict and waits for a relist.
 */
import type { CommandType, Outcome } from './command.ts'
import { backoffMs } from './constant.ts'
import type { CommandId } from './id.ts'
import type { ObjectMeta } from './object.ts'
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from './object.ts'
import type { Evidence } from './proof.ts'

/**
 * - `observed`: seen, not being deleted.
 * - `deleting`: has a deletionTimestamp and no collector's finalizer.
 * - `waiting`: being deleted in the foreground.
 * - `orphaning`: being deleted with the orphan finalizer (which wins over the other).
 * - `reaped`: our DELETE was answered "gone"; the watch has not confirmed it yet.
 * - `suspect`: it exists, but its content is untrusted.
 */
export type Phase = 'observed' | 'deleting' | 'waiting' | 'orphaning' | 'reaped' | 'suspect'

/**
 * An object is on a one-way trip to its deletion: nothing but a restore, or an answer that was
 * wrong, takes it back.
 */
export function mayMove(from: Phase, to: Phase): boolean {
  const isGoing = from === 'deleting' || from === 'waiting' || from === 'orphaning'
  return !(isGoing && to === 'observed')
}

/** The phase that an object's own fields say. */
export function phaseOf(object: ObjectMeta): Phase {
  if (object.deletedAt === null) return 'observed'
  if (object.finalizers.includes(FINALIZER_ORPHAN)) return 'orphaning'
  if (object.finalizers.includes(FINALIZER_FOREGROUND)) return 'waiting'
  return 'deleting'
}

/**
 * Why a node's content is not trusted, until a list shows it.
 *
 * - `content`: it is not what a watcher confirmed, or contradicts itself.
 * - `unserved`: its kind is no longer served.
 */
export type Doubt = 'content' | 'unserved'

/** Each of both says that it is deleted because Kinfold requested it. */
export interface AnsweredDeletion {
  /** A server has accepted our DELETE, and shown the object. */
  readonly isAccepted: boolean
  /** A server has said that it is gone; no watch has confirmed it yet. */
  readonly isGone: boolean
}

export type NodeState = Pick<Node, 'object' | 'doubt' | 'deletion'>

export function nodePhase({ object, doubt, deletion }: NodeState): Phase {
  if (doubt !== null) return 'suspect'
  return deletion?.isGone === true ? 'reaped' : phaseOf(object)
}

/**
 * The phase for its dependents: an object that is only said to be deleted counts as it was until
 * that is confirmed.
 */
export function phaseAsOwner({ object, doubt }: NodeState): Phase {
  return doubt === null ? phaseOf(object) : 'suspect'
}

/**
 * The object exists, after all: the answer that it is gone was wrong, or a restore brought it back.
 */
export function deletionOfPresent({ deletion }: NodeState): AnsweredDeletion | null {
  return deletion?.isAccepted === true ? { isAccepted: true, isGone: false } : null
}

/**
 * The mark after a sighting. If it is unclear, the mark stays: whichever client removed the
 * finalizer, the request was that dependents stay.
 */
export function markAfter(
  before: Pick<Node, 'object' | 'orphanedAt' | 'isFreed'> | null,
  object: ObjectMeta,
  isOurs: boolean,
  now: number,
): number | null {
  const phase = phaseOf(object)
  const orphanedAt = before?.orphanedAt ?? null
  if (phase === 'observed') return null
  if (phase === 'orphaning') return orphanedAt ?? now
  if (before === null || orphanedAt === null) return null
  const wasTaken = phaseOf(before.object) === 'orphaning'
  return !wasTaken || isOurs || before.isFreed ? orphanedAt : null
}

/**
 * What was seen of a deletion that takes its time, for who cannot see its dependents: objects of
 * other clusters.
 *
 * - `whole`: a watch showed each state from the one before it on, and none orphans.
 * - `part`: a state may have been missed, which may have been that of an orphaning.
 * - `orphaning`: one was seen; if a user takes it back, dependents may have been orphaned by then.
 */
export type Going = 'whole' | 'part' | 'orphaning'

/** `isGap`: between the state before and this one others may have been. */
export function goingAfter(
  before: Pick<Node, 'object' | 'going'> | null,
  object: ObjectMeta,
  isGap: boolean,
): Going | null {
  if (object.deletedAt === null) return null
  if (before?.going === 'orphaning' || phaseOf(object) === 'orphaning') return 'orphaning'
  if (before === null || isGap) return 'part'
  return before.object.deletedAt === null ? 'whole' : before.going
}

/**
 * It is deleted because Kinfold requested it, not only tried to; the answer may be lost. If the
 * server refused us, another actor deletes it.
 */
export function goesByUs({ deletion, attempt }: Node): boolean {
  if (deletion !== null) return true
  if (attempt?.verb !== 'DeleteObject' || attempt.isDryRun) return false
  return attempt.state === 'issued' || attempt.state === 'confirming'
}

/** It has been asked, and not only tried, to take a finalizer off: the answer may be lost. */
export function isFinishing(attempt: Attempt | null): attempt is Attempt {
  return attempt?.verb === 'RemoveFinalizer' && attempt.state !== 'would-go'
}

/**
 * The command a node (or an owner to verify) waits for.
 *
 * - `issued`: not settled; judged again at `until`.
 * - `backoff`: settled as stale or blocked; again at `until`, sooner if the verdict changes.
 * - `would-go`: a dry run was accepted; again only if the verdict changes.
 * - `confirming`: done; the watch has not published it yet.
 * - `done`: carried out, and the object stays; remembered in case another actor undoes it: the same
 *   again at `until`.
 */
export interface Attempt {
  readonly command: CommandId
  readonly verb: CommandType
  /** The decision: an equal intent issues nothing new. Compared, and never read. */
  readonly intent: string
  /** Issued in mode dry-run, whatever its result. */
  readonly isDryRun: boolean
  /** Of `RemoveFinalizer`: which one. Empty for others. */
  readonly finalizer: string
  readonly state: 'issued' | 'backoff' | 'would-go' | 'confirming' | 'done'
  /** How often in a row, for the growing wait. */
  readonly count: number
  /** Of the first of them; log time in milliseconds. */
  readonly since: number
  readonly until: number
  readonly outcome: Outcome | null
  readonly reason: string
}

export function isUnderWay(attempt: Attempt, now: number): boolean {
  return attempt.state === 'would-go' || now < attempt.until
}

/**
 * The attempt of a command that settled without its effect: the same again only after a growing
 * wait.
 */
export function backedOff(attempt: Attempt, now: number, reason: string): Attempt {
  return { ...attempt, state: 'backoff', until: now + backoffMs(attempt.count), reason }
}

/**
 * - `keep`: has a solid owner.
 * - `deleting`: it is already being deleted.
 * - `blocked`: a reference cannot be resolved.
 * - `verify`: an owner must be looked up first.
 * - `drop`: references are removed, the object stays.
 * - `delete`: it is deleted.
 * - `annotate`: a rule has it annotated, and the object stays.
 * - `wait`: as an owner, it stays until its dependents are deleted, or have lost their references.
 * - `finish`: they have, so its finalizer is removed.
 */
export type VerdictType =
  | 'keep'
  | 'deleting'
  | 'blocked'
  | 'verify'
  | 'drop'
  | 'delete'
  | 'annotate'
  | 'wait'
  | 'finish'

/** What should become of an object. What holds that is no part of it: a hold changes no verdict. */
export interface Verdict {
  readonly type: VerdictType
  readonly evidence: Evidence | null
  /** One sentence for people. */
  readonly because: string
  /** Offsets of the events it rests on, in this partition; the policy's last. */
  readonly basis: readonly bigint[]
  /** The name of the rule that decided; null where owners did. */
  readonly rule: string | null
}

/**
 * What holds an object that would be deleted, or lose references:
 * - `mode`: it only records.
 * - `pause`: people paused it.
 * - `protection`: it is protected.
 * - `approval`: a bulk deletion, which a person approves.
 * - `breaker`: it is open. - `hold`: its time is not over. - `budget`: it is spent.
 * - `rule`: the rule is in dry run, over its limit, or fights a controller.
 */
export type HeldBy =
  | 'mode'
  | 'pause'
  | 'protection'
  | 'approval'
  | 'breaker'
  | 'hold'
  | 'budget'
  | 'rule'

/** Remembered for an object that is to be deleted, for as long as it is without a break. */
export interface Hold {
  /** Null: nothing holds it now. */
  readonly by: HeldBy | null
  /** What holds it, for people; empty while nothing does. */
  readonly because: string
  /** Log time since when it has been to go. */
  readonly since: number
  /** Log time at which its hold is over; null when only an event can help. */
  readonly until: number | null
  /** The pending effect: `delete`, or `drop` with the indexes of references. */
  readonly what: string
  readonly ruling: Ruling | null
  /** In the queue of its budget; `begun` even if it was held afterwards. */
  readonly turn: Turn
}

/** What keeps the verdict on an object from being carried out now. */
export interface Admission {
  readonly by: HeldBy
  readonly because: string
  /** Log time since when the object has been to go. */
  readonly since: number
  /** Log time at which that is over; null when only an event can help. */
  readonly until: number | null
}

/** Null where nothing holds it. The mode, too, where that only has the server check the command. */
export function admissionOf({ hold, attempt }: Pick<Node, 'hold' | 'attempt'>): Admission | null {
  if (hold !== null && hold.by !== null) {
    const { by, because, since, until } = hold
    return { by, because, since, until }
  }
  if (attempt?.state !== 'would-go') return null
  const because = 'mode dry-run only has the server check it'
  return { by: 'mode', because, since: attempt.since, until: null }
}

/**
 * How far something has come in the queue of its budget.
 *
 * - `asked`: it was counted among those that ask to be deleted.
 * - `queued`: it has a ticket.
 * - `called`: its ticket was used.
 * - `begun`: it began to be deleted.
 */
export type Turn = 'none' | 'asked' | 'queued' | 'called' | 'begun'

/** A person's ruling on it while it waited for approval: on this content and this effect. */
export interface Ruling {
  readonly verdict: 'approved' | 'rejected'
  readonly who: string
  readonly why: string
  /** Log time at which an approval ends. */
  readonly until: number
  readonly hash: string
  readonly what: string
}

/** The owner's coordinates that its reference does not contain. */
export interface EdgePlace {
  /** As it is served: a reference may have it in lower case. */
  readonly kind: string
  /** Empty for a cluster-scoped kind. */
  readonly namespace: string
}

export interface Node {
  readonly type: 'Node'
  /** Its resourceVersion is that of this content; the newest one known is in `Seen`. */
  readonly object: ObjectMeta
  /** `projectionHash(object)`. */
  readonly hash: string
  /** Why its content is not trusted; null where it is. */
  readonly doubt: Doubt | null
  /** What a server answered to our commands that delete it; null for nothing. */
  readonly deletion: AnsweredDeletion | null
  /** Offset of the event that published this content. */
  readonly position: bigint
  /**
   * For each owner reference the place that its edge was made for, or null where it has no edge.
   */
  readonly places: readonly (EdgePlace | null)[]
  /**
   * For each owner reference the log time since when it has been there, as far as is known
   * (`namedAtBirth`).
   */
  readonly namedAt: readonly number[]
  /**
   * The mark: since when (append time) it has been orphaning, while no other client has removed
   * that finalizer. Its dependents are orphaned, however late they come, and however the owner is
   * deleted. Null for none.
   */
  readonly orphanedAt: number | null
  /**
   * We requested the removal of its orphan finalizer: that it is absent is no user's change of
   * mind.
   */
  readonly isFreed: boolean
  /**
   * The mark of the last owner that orphaned it, while it still has a reference that it had then;
   * null when none did.
   */
  readonly letGoAt: number | null
  /** What was seen of its deletion, while that lasts; null while it is not being deleted. */
  readonly going: Going | null
  /** All that it waits for waits for it in turn: objects that still block it do not count. */
  readonly ringed: boolean
  /** Until when, in log time, a protecting mark counts that was taken off; null for none. */
  readonly protectedUntil: number | null
  /** The author of these references has been warned of them, named or counted, for this verdict. */
  readonly isWarned: boolean
  /** Log times of the latest warnings, three at most. */
  readonly warnedAt: readonly number[]
  /** `ruleDigest` of the rule by which it has been counted as due; empty for none. */
  readonly dueBy: string
  readonly verdict: Verdict | null
  /** Null while it is not to be deleted, or nothing holds it (`admissionOf`). */
  readonly hold: Hold | null
  readonly attempt: Attempt | null
}
