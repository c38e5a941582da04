/**
 * Objects that leave: their deletion was observed, a relist misses them, or their kind is no longer
 * watched.
 *
 * What must stay true: for a deleted object it is remembered that it was here, why it counts as
 * deleted, and whether it orphaned its dependents; a deletion is final within an epoch of its
 * cluster.
 *
 * Not here: sightings (sighting.ts), which objects a relist misses (work.ts).
 */
import { judgeDependents, memoryMs, ownerTimer } from '../graph/agenda.ts'
import { putOwner } from '../graph/gets.ts'
import { removeNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { askRelist, currentCluster, drop, tell, touch } from '../graph/outcome.ts'
import { leaveIndex } from '../graph/rule/keep-index.ts'
import { stopWaiting } from '../graph/wait.ts'
import { MEMORY_MS } from '../model/constant.ts'
import type { ObjectDeleted } from '../model/event.ts'
import { withoutMember } from '../model/hash.ts'
import type { Node } from '../model/node.ts'
import { goesByUs, nodePhase, phaseOf } from '../model/node.ts'
import type { GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { compareVersions, isSamePlace } from '../model/object.ts'
import type { AbsentOwner, OrphanMark } from '../model/owner.ts'
import { goneOf, orphanMarkOf } from '../model/owner.ts'
import type { Proof } from '../model/proof.ts'
import { rulesWithin } from '../model/rule/rule.ts'
import type { ClusterState, Seen } from '../model/state.ts'
import { noteDefinition, noteNamespace } from './cause.ts'
import { notePolicy } from './policy-object.ts'

export function objectDeleted(step: Step, event: ObjectDeleted): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const { object, ageMs } = event
  const node = step.graph.node(object.uid)
  const seen = node === undefined ? undefined : step.graph.seen(object, object.uid)
  const order =
    seen === undefined ? 0 : compareVersions(object.resourceVersion, seen.resourceVersion)
  if (order !== undefined && order < 0 && seen?.clusterEpoch === state.clusterEpoch) {
    askRelist(step, object, `${object.name} was deleted before it was last seen`)
    drop(step, 'deleted at a version older than one seen since')
    return
  }
  const proof = deletionOf(step, state, object, node, { ageMs, command: null })
  depart(step, state, object, proof, 'its deletion was observed')
}

/**
 * Proof of a deletion. Initiated by Kinfold if we requested it; then its dependents may have been
 * held for that already.
 */
export function deletionOf(
  step: Step,
  state: ClusterState,
  object: ObjectMeta,
  node: Node | undefined,
  how: Pick<Proof, 'ageMs' | 'command'>,
): Proof {
  const isOurs = node !== undefined && goesByUs(node)
  const heldSince =
    isOurs && node.verdict?.evidence === 'deleted' ? (node.hold?.since ?? null) : null
  return { ...proofOf(step, state, object, 'deleted'), ...how, isOurs, heldSince }
}

/** An object was deleted: its node is removed, and it is remembered that it was here. */
export function depart(
  step: Step,
  state: ClusterState,
  object: ObjectMeta,
  proof: Proof,
  why: string,
): void {
  const known = step.graph.node(object.uid)
  // Another object may have its uid (a server that shows it once more): that one stays.
  const node = known !== undefined && isSamePlace(known.object, object) ? known : undefined
  const former = node === undefined ? step.graph.owner(object.uid, object) : undefined
  if (goneOf(former)?.clusterEpoch === state.clusterEpoch) return
  const isWhole = node !== undefined && isSeenWhole(step, state, node, object)
  if (node !== undefined) takeOut(step, node)
  step.record.observations.push({ type: 'deletion', cluster: step.cluster, object, proof })
  noteDefinition(step, node?.object ?? object, null)
  const absent = absentOwner(proof, node?.orphanedAt ?? orphanMarkOf(former))
  putOwner(step, { uid: object.uid, place: object }, absent)
  const forgetAt = state.now + memoryMs(step.graph, absent)
  ownerTimer(step, forgetAt, object.uid, object)
  touch(step, object.uid, {
    object: node?.object ?? object,
    verdict: node?.verdict ?? null,
    hold: node?.hold ?? null,
    attempt: node?.attempt ?? null,
    phase: 'gone',
    isWhole,
    isOrphaning: node?.going === 'orphaning' || phaseOf(object) === 'orphaning',
  })
  tell(step, object, 'gone', why, {
    evidence: proof.class,
    basis: [step.at.position],
  })
  judgeDependents(step, object.uid, object)
}

/**
 * From the state that is known to its end, in one epoch of its cluster; an object that was not
 * being deleted left at once.
 */
function isSeenWhole(
  { graph }: Step,
  { clusterEpoch }: ClusterState,
  { going, position, object, doubt }: Node,
  last: ObjectMeta,
): boolean {
  if (doubt !== null || graph.unreadableAt(object.namespace) > position) return false
  if (graph.seen(object, object.uid)?.clusterEpoch !== clusterEpoch) return false
  if (object.deletedAt === null) return last.deletedAt === null
  return going === 'whole' || going === 'orphaning'
}

function takeOut(step: Step, node: Node): void {
  const { object } = node
  removeNode(step, node)
  noteNamespace(step, object, null)
  notePolicy(step, object, null)
  step.graph.setSeen(object, object.uid, null)
  stopWaiting(step, object, null)
  leaveIndex(step, object.uid)
  forgetReplaced(step, object.uid, object.namespace)
  step.graph.setMembers(object, withoutMember(step.graph.members(object), object.uid))
}

/** What rules deleted of its objects, as their controller: it makes none again. */
export function forgetReplaced({ graph }: Step, uid: Uid, namespace: string): void {
  const { rules } = graph
  // A controller of all namespaces may have objects in any.
  for (const { name } of namespace === '' ? rules : rulesWithin(rules, namespace)) {
    if (graph.ruleOwner(name, uid) !== undefined) graph.setRuleOwner(name, uid, null)
  }
}

/**
 * No event will say what happens to it, such as to an object of an unwatched kind: from now on it
 * is verified like any unwatched owner.
 */
export function forget(step: Step, node: Node, why: string): void {
  const { object, verdict, hold, attempt } = node
  const seen = step.graph.seen(object, object.uid)
  takeOut(step, node)
  if (object.deletedAt !== null) noteDefinition(step, object, null)
  keepTrace(step, node, seen)
  const unseen = { isWhole: false, isOrphaning: false }
  touch(step, object.uid, { object, verdict, hold, attempt, phase: 'suspect', ...unseen })
  tell(step, object, 'phase', `${nodePhase(node)} → suspect: ${why}`, {
    phase: 'suspect',
  })
  judgeDependents(step, object.uid, object)
}

export function proofOf(
  step: Step,
  state: ClusterState,
  kind: GroupKind,
  evidence: Proof['class'],
): Proof {
  return {
    class: evidence,
    position: step.at.position,
    at: step.at.timestamp,
    ageMs: 0,
    clusterEpoch: state.clusterEpoch,
    versions: step.graph.kind(kind)?.versions ?? [],
    command: null,
    isOurs: false,
    heldSince: null,
  }
}

/**
 * An owner orphans its dependents whether it is watched or not. It is also remembered that it was
 * here, and until when: if a live GET does not find it after a restore of the cluster, the restore
 * removed it. Its dependents may be unwatched now, too.
 */
function keepTrace(step: Step, node: Node, seen: Seen | undefined): void {
  const { object, orphanedAt } = node
  const { uid } = object
  const state = step.graph.state
  if (state === undefined) return
  const isOfEpoch = seen?.clusterEpoch === state.clusterEpoch
  const lastKnown = isOfEpoch ? step.at.position : node.position
  const trace = { type: 'trace', orphanedAt, lastKnown, look: null } as const
  putOwner(step, { uid, place: object }, trace)
  ownerTimer(step, state.now + MEMORY_MS, uid, object)
}

export function absentOwner(proof: Proof, orphanedAt: OrphanMark): AbsentOwner {
  return { type: 'absent', proof, orphanedAt, turn: 'none', leasedAt: 0 }
}
