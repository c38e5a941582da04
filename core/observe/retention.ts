/**
 * How long the knowledge about an owner that is no node is kept.
 *
 * What must stay true: a deleted owner is remembered for as long as the policy demands, and for as
 * long as an object references it; then its key is removed, and its public record with it.
 *
 * Not here: when it is verified again (timer.ts), for how long a policy may keep it (agenda.ts
 * `memoryMs`).
 */
import { memoryMs, ownerTimer } from '../graph/agenda.ts'
import { putOwner } from '../graph/gets.ts'
import type { Step } from '../graph/outcome.ts'
import { FORGET_AGAIN_MS } from '../model/constant.ts'
import type { Coordinates, Uid } from '../model/object.ts'
import type { KnownOwner } from '../model/owner.ts'
import { orphanMarkOf, wasHere } from '../model/owner.ts'
import { objectKey } from '../model/partition.ts'
import type { ClusterState } from '../model/state.ts'
import { forgetReplaced } from './departure.ts'

/** Forgets an owner whose time is over; otherwise checks again later. */
export function forgetOwner(
  step: Step,
  state: ClusterState,
  uid: Uid,
  place: Coordinates,
  owner: KnownOwner,
): void {
  const orphanedAt = orphanMarkOf(owner)
  const since = owner.type === 'absent' ? owner.proof.at : (orphanedAt ?? 0)
  const forgetAt = since + memoryMs(step.graph, owner)
  const isRemembered = owner.type === 'absent' || orphanedAt !== null
  const isReferenced = step.graph.isNamed(uid, place)
  const isMeant = isReferenced && (isRemembered || wasHere(owner))
  if (isMeant || (isRemembered && state.now < forgetAt)) {
    const next = Math.max(forgetAt, state.now + FORGET_AGAIN_MS)
    return ownerTimer(step, next, uid, place)
  }
  putOwner(step, { uid, place }, null)
  if (step.graph.node(uid) === undefined) forgetReplaced(step, uid, place.namespace)
  if (owner.type === 'absent' && step.graph.node(uid) === undefined) {
    step.outcome.forgotten.push(objectKey(step.cluster, uid))
  }
}
