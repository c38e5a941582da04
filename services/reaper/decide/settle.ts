/**
 * The consequences of an answer of the cluster: settle, read the object again, go through the gate
 * again, or try again shortly.
 *
 * What must stay true: every answer has its row, nothing unknown settles as `done` or `absent`, and
 * each way back to the gate is counted. Trying a DELETE or a patch again is safe, since its guard
 * makes a second one change nothing.
 *
 * Not here: the calls themselves and the waits (reap.ts), how bytes become an answer
 * (adapters/kubernetes).
 */
import { hasAnnotation } from '../../../core/judge/rule.ts'
import {
  type AnnotateObject,
  type DeleteObject,
  droppedBy,
  isForced,
  isOrdered,
  type OrphanDependent,
  type Outcome,
  type RemoveFinalizer,
  type VerifyOwner,
  type WarnObject,
} from '../../../core/model/command.ts'
import type { ObjectMeta, OwnerReference, ResourceVersion } from '../../../core/model/object.ts'
import type { GetAnswer, ReapAnswer, UnknownAnswer } from '../../../ports/cluster.ts'
import { listDigest } from '../../../runtime/list-digest.ts'

/** A command that asks for a call with an effect. */
export type Effect = DeleteObject | AnnotateObject | OrphanDependent | RemoveFinalizer | WarnObject

/** Settled as done, and it was no call of this try that did it. */
export const ALREADY_SO = 'already so'

/** The tries for a command so far. */
export interface Tried {
  readonly dryRun: boolean
  readonly retries: number
  readonly conflicts: number
}

export interface SettleBounds {
  readonly retries: number
  readonly retryAfterCapMs: number
  readonly conflicts: number
}

export interface Settle {
  readonly type: 'Settle'
  readonly outcome: Outcome
  readonly reason: string
  readonly code: number | null
  readonly object: ObjectMeta | null
  /** It stays because of its protection. */
  readonly isSpared?: boolean
}

/** Through the gate again after a short wait, as long as the server asked for if it did. */
export interface Retry {
  readonly type: 'Retry'
  readonly afterMs: number | null
}

/** GET the target, then `readBack`. */
export interface ReadBack {
  readonly type: 'ReadBack'
}

/** Through the gate again at once: the object is as judged, its version has moved. */
export interface Again {
  readonly type: 'Again'
  readonly resourceVersion: ResourceVersion
}

export type Verified =
  | { readonly type: 'Found'; readonly object: ObjectMeta }
  | { readonly type: 'Gone'; readonly how: 'NotFound' }
  | { readonly type: 'Gone'; readonly how: 'OtherUid'; readonly otherUid: string }

/** First reading of the answer to a DELETE, a patch or a warning. */
export function onAnswer(
  command: Effect,
  answer: ReapAnswer,
  tried: Tried,
  bounds: SettleBounds,
): Settle | Retry | ReadBack {
  const isWarning = command.type === 'WarnObject'
  switch (answer.type) {
    case 'Removed':
      return taken(tried, answer.code, null)
    case 'Changed':
      // The answer to a warning is the Event, not its object.
      return taken(tried, answer.code, isWarning ? null : answer.object)
    case 'WouldGo':
      if (tried.dryRun) return settle('would-go', '', answer.code)
      return settle('blocked', 'the server answered as if it were a dry run', answer.code)
    case 'Absent':
      return settle('absent', 'not found', answer.code)
    case 'Conflict':
      return isWarning ? settle('done', ALREADY_SO, answer.code) : { type: 'ReadBack' }
    case 'Refused':
      return settle('blocked', answer.reason, answer.code)
    case 'Unknown':
      if (mayRetry(answer, tried, bounds)) return { type: 'Retry', afterMs: answer.retryAfterMs }
      if (mayHaveTaken(answer) && !isWarning && !tried.dryRun) return { type: 'ReadBack' }
      return settle('blocked', answer.reason, answer.code)
  }
}

/**
 * Reading of the object after a conflict, or after an answer that leaves open whether the call took
 * effect.
 */
export function readBack(
  command: Effect,
  cause: ReapAnswer,
  read: GetAnswer,
  tried: Tried,
  bounds: SettleBounds,
): Settle | Again {
  switch (read.type) {
    case 'Absent':
      return settle('absent', 'not found', read.code)
    case 'Unknown':
      return settle('blocked', read.reason, read.code)
    case 'Found':
      break
  }
  const { object, code } = read
  if (object.uid === '') return settle('blocked', 'the object was found without a uid', code)
  if (object.uid !== command.target.uid) return settle('absent', 'another object is there', code)
  if (command.type === 'DeleteObject' && object.deletedAt !== null && !isForced(command)) {
    return settle('absent', 'already being deleted', code, object)
  }
  if (isAlreadySo(command, object)) return settle('done', ALREADY_SO, code, object)
  if (!isAsJudged(command, object)) {
    return settle('stale', 'changed since it was judged', code, object)
  }
  if (cause.type !== 'Conflict') {
    const reason = cause.type === 'Unknown' ? cause.reason : cause.type
    return settle('blocked', `it did not take effect: ${reason}`, cause.code, object)
  }
  if (tried.conflicts < bounds.conflicts) {
    return { type: 'Again', resourceVersion: object.resourceVersion }
  }
  return settle('stale', 'keeps being written', code, object)
}

/**
 * The GET before the DELETE of an object of an aggregated server, which may ignore preconditions.
 * Undefined: send it.
 */
export function beforeDelete(
  command: Effect,
  resourceVersion: ResourceVersion,
  read: GetAnswer,
): ReapAnswer | undefined {
  if (read.type !== 'Found') return read
  const { object, code } = read
  if (object.uid === '')
    return { type: 'Refused', code, reason: 'the object was found without a uid' }
  if (object.uid !== command.target.uid) return { type: 'Absent', code }
  if (object.resourceVersion === resourceVersion) return undefined
  return { type: 'Conflict', code, reason: 'another resourceVersion' }
}

/** The answer to a `VerifyOwner`. */
export function onLook(
  command: VerifyOwner,
  look: GetAnswer,
  tried: Tried,
  bounds: SettleBounds,
): Settle | Retry | Verified {
  switch (look.type) {
    case 'Absent':
      return { type: 'Gone', how: 'NotFound' }
    case 'Unknown':
      if (mayRetry(look, tried, bounds)) return { type: 'Retry', afterMs: look.retryAfterMs }
      return settle('blocked', look.reason, look.code)
    case 'Found': {
      const { object, code } = look
      if (object.uid === '') return settle('blocked', 'the owner was found without a uid', code)
      if (object.uid === command.target.uid) return { type: 'Found', object }
      return { type: 'Gone', how: 'OtherUid', otherUid: object.uid }
    }
  }
}

export function mayRetry(
  answer: UnknownAnswer,
  tried: Pick<Tried, 'retries'>,
  bounds: SettleBounds,
): boolean {
  if (!answer.transient || tried.retries >= bounds.retries) return false
  return answer.retryAfterMs === null || answer.retryAfterMs <= bounds.retryAfterCapMs
}

/**
 * A 4xx proves that nothing was done; a missing answer, a timeout on the way (408), a 5xx or an
 * unreadable 2xx does not.
 */
function mayHaveTaken({ code }: UnknownAnswer): boolean {
  return code === null || code < 300 || code === 408 || code >= 500
}

function taken({ dryRun }: Tried, code: number, object: ObjectMeta | null): Settle {
  return dryRun ? settle('would-go', '', code) : settle('done', '', code, object)
}

/**
 * A patch has taken effect already: by a try of ours whose answer was lost, or by another client.
 * By uid alone, so that a reference that was only rewritten counts as still there.
 */
function isAlreadySo(command: Effect, object: ObjectMeta): boolean {
  switch (command.type) {
    case 'DeleteObject':
    case 'WarnObject':
      return false
    case 'AnnotateObject':
      return hasAnnotation({ annotate: command.annotation }, object)
    case 'RemoveFinalizer':
      return !object.finalizers.includes(command.finalizer)
    case 'OrphanDependent':
      return !stillNamed(command, object)
  }
}

function stillNamed(command: OrphanDependent, { ownerReferences }: ObjectMeta): boolean {
  const uids = new Set(ownerReferences.map(({ uid }) => uid))
  return [...droppedBy(command).values()].some(
    (reference) => reference !== undefined && uids.has(reference.uid),
  )
}

/** In all that the command was judged by and carries. */
function isAsJudged(command: Effect, object: ObjectMeta): boolean {
  switch (command.type) {
    case 'DeleteObject':
      // A rule decided by fields, too, of which only the version is known here.
      if (command.rule !== null) return object.resourceVersion === command.target.resourceVersion
      return hasReferences(object, command) && hasFinalizers(object, command.finalizers)
    case 'AnnotateObject':
      return object.resourceVersion === command.target.resourceVersion
    case 'OrphanDependent':
      return hasReferences(object, command)
    case 'RemoveFinalizer':
      return (
        hasFinalizers(object, command.finalizers) &&
        isStillDeleted(object, command) &&
        (!isOrdered(command) || object.resourceVersion === command.target.resourceVersion)
      )
    case 'WarnObject':
      return true
  }
}

/** After a restore it may live again, or be deleted anew. */
function isStillDeleted(object: ObjectMeta, { deletedAt }: RemoveFinalizer): boolean {
  return deletedAt === 0 || object.deletedAt === deletedAt
}

function hasReferences(
  { ownerReferences: held }: ObjectMeta,
  { references, listDigest: digest }: DeleteObject | OrphanDependent,
): boolean {
  if (digest !== null) return listDigest(held) === digest
  return (
    held.length === references.length && held.every((one, i) => isSameReference(one, references[i]))
  )
}

function hasFinalizers(object: ObjectMeta, finalizers: readonly string[]): boolean {
  const held = object.finalizers
  return held.length === finalizers.length && held.every((one, i) => one === finalizers[i])
}

function isSameReference(a: OwnerReference, b: OwnerReference | undefined): boolean {
  return (
    b !== undefined &&
    a.uid === b.uid &&
    a.apiVersion === b.apiVersion &&
    a.kind === b.kind &&
    a.name === b.name &&
    a.controller === b.controller &&
    a.blockOwnerDeletion === b.blockOwnerDeletion
  )
}

function settle(
  outcome: Outcome,
  reason: string,
  code: number | null,
  object: ObjectMeta | null = null,
): Settle {
  return { type: 'Settle', outcome, reason, code, object }
}
