/**
 * The event that a command's result is.
 *
 * What must stay true: it carries the epoch the command was judged in, never a later one, so a
 * result from before a restore is refused by the fold. Of an object with many owner references a
 * result has none of them: who makes thousands of commands about it must not have its list written
 * as often.
 */
import type { Command, OwnerClaim, VerifyOwner } from '../../../core/model/command.ts'
import { LONG_LIST } from '../../../core/model/constant.ts'
import type { CommandSettled, OwnerAbsent, OwnerFound } from '../../../core/model/event.ts'
import { type ObjectMeta, projectionHash } from '../../../core/model/object.ts'
import type { Blocked } from './gate.ts'
import type { Settle, Verified } from './settle.ts'

export type Result = CommandSettled | OwnerFound | OwnerAbsent

/** The end of a command, with facts that its result does not contain. */
export interface Ended {
  readonly result: Result
  /** It was not carried out because of the protection of its object. */
  readonly isSpared: boolean
}

export function settled(command: Command, how: Settle, calls: number): CommandSettled {
  const { cluster, clusterEpoch, target } = command
  const { group, kind, namespace, name } = target
  const { outcome, reason, code } = how
  return {
    type: 'CommandSettled',
    cluster,
    clusterEpoch,
    command: command.id,
    verb: command.type,
    uid: target.uid,
    place: { group, kind, namespace, name },
    outcome,
    reason,
    code,
    ...told(command, how.object),
    calls,
  }
}

function told(
  command: Command,
  object: ObjectMeta | null,
): Pick<CommandSettled, 'object' | 'list'> {
  if (object === null || object.ownerReferences.length <= LONG_LIST) return { object, list: null }
  const dropped = command.type === 'OrphanDependent' ? command.drop : []
  const list = { hash: projectionHash(object), dropped }
  return { object: withoutReferences(object), list }
}

function withoutReferences(object: ObjectMeta): ObjectMeta {
  return { ...object, ownerReferences: [] }
}

/** Not sent, and it will not be. */
export function unsent(
  command: Command,
  outcome: 'stale' | 'blocked',
  reason: string,
): CommandSettled {
  return settled(command, { type: 'Settle', outcome, reason, code: null, object: null }, 0)
}

export function blockedAt(command: Command, { reason, isSpared }: Blocked): Ended {
  return { result: unsent(command, 'blocked', reason), isSpared }
}

/** For an owner that was verified for another command's sake. */
export function found(command: Command, claim: OwnerClaim, object: ObjectMeta): OwnerFound {
  const { cluster, clusterEpoch, id } = command
  const { group, kind, namespace, name, uid } = claim
  const owner = { group, kind, namespace, name }
  return {
    type: 'OwnerFound',
    cluster,
    clusterEpoch,
    owner,
    uid,
    command: id,
    object: withoutReferences(object),
  }
}

export function verified(command: VerifyOwner, look: Verified): OwnerFound | OwnerAbsent {
  const { cluster, clusterEpoch, id, target } = command
  const { group, kind, namespace, name, uid } = target
  const owner = { group, kind, namespace, name }
  const about = { cluster, clusterEpoch, owner, uid, command: id }
  if (look.type === 'Found')
    return { type: 'OwnerFound', ...about, object: withoutReferences(look.object) }
  const otherUid = look.how === 'OtherUid' ? look.otherUid : null
  return { type: 'OwnerAbsent', ...about, how: look.how, otherUid }
}
