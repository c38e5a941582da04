/**
 * Live GETs: of owners about which nothing is known, once for all of their dependents; and of
 * objects that a server said are deleted, if no watch confirms that.
 *
 * What must stay true: not before the owner's kind could have shown it; unknown is never absent, so
 * without an answer nothing follows. An object with n owners is verified in O(n): its witness says
 * when it is judged again, and a namespace has few GETs under way, of its objects in turn.
 *
 * Not here: the effect of the answer (settle.ts), how many GETs are under way (graph/gets.ts).
 */
import { mayIssue } from '../admit/hold.ts'
import { enqueue, ownerTimer } from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import { countedFor, hasRoomForGet, laneOfGets, putOwner, wakeLane } from '../graph/gets.ts'
import { isMonitored, kindStatus } from '../graph/kind-status.ts'
import type { Step } from '../graph/outcome.ts'
import { ownerIn } from '../graph/row.ts'
import type { Stand } from '../judge/standing.ts'
import { ownerAt, standingOf } from '../judge/standing.ts'
import type { Target } from '../model/command.ts'
import {
  COMMAND_LIFE_MS,
  COMMAND_MARGIN_MS,
  LOOKED_AT_IN_A_TURN,
  LOOKED_UP_AT_ONCE,
  REFERENCES_AT_ONCE,
} from '../model/constant.ts'
import type { CommandId } from '../model/id.ts'
import { invariant } from '../model/invariant.ts'
import type { Node } from '../model/node.ts'
import type { Coordinates, GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { isSamePlace, versionOf } from '../model/object.ts'
import type { Look } from '../model/owner.ts'
import { lookOf } from '../model/owner.ts'
import type { Standing } from '../model/reference.ts'
import type { ClusterState, DependentsTodo, Kind, Verification, Work } from '../model/state.ts'
import { baseOf } from './issue.ts'
import { servedVersion, targetOf } from './target.ts'

/**
 * Verifies each owner about which nothing is known, once its kind could have shown it: the first
 * few at once, the others in turns of the namespace's live GETs.
 */
export function verifyOwners(
  step: Step,
  state: ClusterState,
  { object }: Node,
  stands: readonly Stand[],
): void {
  const isQueued = step.graph.verification(object.uid)?.isQueued ?? false
  const lane = laneOfGets(object.namespace)
  const witness = stands.findIndex(isUnknown)
  let next = witness
  for (let asked = 0; !isQueued && next < stands.length; next++) {
    const stand = stands[next]
    if (stand === undefined || !isUnknown(stand)) continue
    // An object may have thousands, and other objects wait after it.
    if (asked >= LOOKED_UP_AT_ONCE) break
    const answer = verifyStand(step, state, stand, lane)
    if (answer === 'no room') break
    if (answer === 'asked') asked++
  }
  const isAllAsked = next >= stands.length
  if (isAllAsked && stands.length <= REFERENCES_AT_ONCE) return endVerification(step, object)
  putVerification(step, object.uid, { witness, next, isQueued: !isAllAsked })
  if (isAllAsked) return
  if (!isQueued) enqueue(step, { namespace: lane, todo: { type: 'verify', uid: object.uid } })
  wakeLane(step, lane)
}

function isUnknown({ standing, place }: Stand): boolean {
  return standing === 'unverified' && place !== null
}

/** The verdict is another, or has to wait. */
export function endVerification(step: Step, object: ObjectMeta): void {
  const { uid, ownerReferences } = object
  const former = step.graph.verification(uid)
  if (former === undefined) return
  // The work on the agenda finds nothing left to ask; without this there would be one more for each
  // judgement.
  const none = { witness: ownerReferences.length, next: ownerReferences.length }
  if (former.isQueued) putVerification(step, uid, { ...none, isQueued: true })
  else step.graph.setVerification(uid, null)
}

/** A turn of an object's owners in the lane of its namespace's live GETs. */
export function verifyMore(step: Step, { namespace: lane }: Work, uid: Uid): 'done' | 'parked' {
  const verification = step.graph.verification(uid)
  const node = step.graph.node(uid)
  const state = step.graph.state
  if (verification === undefined || node === undefined || state === undefined) return 'done'
  const { ownerReferences } = node.object
  const most = Math.max(0, Math.min(LOOKED_AT_IN_A_TURN, step.record.references))
  const end = Math.min(ownerReferences.length, verification.next + most)
  let { next } = verification
  let hasRoom = true
  for (; next < end; next++) {
    const stand = standAt(step.graph, node, next)
    hasRoom = !isUnknown(stand) || verifyStand(step, state, stand, lane) !== 'no room'
    if (!hasRoom) break
  }
  charge(step, Math.min(next + 1, end) - verification.next)
  const isQueued = next < ownerReferences.length
  const isOver = !isQueued && verification.witness >= ownerReferences.length
  if (isOver || (!isQueued && ownerReferences.length <= REFERENCES_AT_ONCE))
    step.graph.setVerification(uid, null)
  else putVerification(step, uid, { ...verification, next, isQueued })
  if (!hasRoom) return 'parked'
  // Behind the other objects of the namespace: each has its turn.
  if (isQueued) enqueue(step, { namespace: lane, todo: { type: 'verify', uid } })
  return 'done'
}

/**
 * What the change of one owner means for the verdict of an object that is being verified.
 *
 * While its witness is unverified, it is `verify`, whatever becomes of the other owners, unless one
 * orphans it or makes it blocked (judge/verdict.ts): an answer that an owner is there, or never
 * was, does neither. So it is judged again when the last of them is answered, and not for each of
 * them.
 *
 * - `stays`: the verdict is the same.
 * - `perhaps`: the witness was answered, and the next one is not found yet.
 * - `due`: it has to be judged.
 */
export type VerdictChange = 'stays' | 'perhaps' | 'due'

export function changeBy(step: Step, todo: DependentsTodo, uid: Uid): VerdictChange {
  const verification = step.graph.verification(uid)
  const node = verification && step.graph.node(uid)
  const witness = node?.object.ownerReferences[verification?.witness ?? -1]
  if (node === undefined || witness === undefined) return 'due'
  const owner = ownerIn(todo)
  const { phase, orphanedAt, proof } = ownerAt(step.graph, owner.uid, owner.place)
  if (orphanedAt !== null || phase === 'orphaning') return 'due'
  // Of such a kind nothing can be verified: the reference blocks.
  const kind = step.graph.kind(owner.place)
  if (kind === undefined || kind.phase === 'unserved' || kind.ambiguous) return 'due'
  // The kind may have had other versions when the owner was deleted: then the reference blocks.
  if (proof !== null && proof.class !== 'not-found') return 'due'
  if (phase === 'suspect') return 'stays'
  if (phase === 'unknown') {
    askAgain(step, node, owner)
    return 'stays'
  }
  const isWitness = witness.uid === owner.uid && witness.name === owner.place.name
  if (!isWitness) return 'stays'
  // A page may have many such dependents, and what they look at counts for the record (I35).
  return moveWitness(step, uid, Math.min(REFERENCES_AT_ONCE, step.record.references))
}

/** Looks at `most` references, none where that is below one, for one that is still unverified. */
export function moveWitness(step: Step, uid: Uid, most: number): VerdictChange {
  const verification = step.graph.verification(uid)
  const node = step.graph.node(uid)
  if (verification === undefined || node === undefined) return 'due'
  const { length } = node.object.ownerReferences
  const end = Math.min(length, verification.witness + Math.max(0, most))
  let { witness } = verification
  let standing: Standing = 'dangling'
  for (; witness < end; witness++) {
    standing = standAt(step.graph, node, witness).standing
    if (SETTLES_ALL.has(standing)) break
  }
  charge(step, Math.min(witness + 1, end) - verification.witness)
  const isDue = witness >= length || standing === 'orphaned' || standing === 'unresolvable'
  putVerification(step, uid, { ...verification, witness: isDue ? length : witness })
  if (isDue) return 'due'
  return witness < end ? 'stays' : 'perhaps'
}

/** While a reference has one of these, those of the others do not matter. */
const SETTLES_ALL: ReadonlySet<Standing> = new Set(['unverified', 'orphaned', 'unresolvable'])

/** The time of an earlier GET, or of its wait, is over. */
function askAgain(
  step: Step,
  { object }: Node,
  { uid, place }: { readonly uid: Uid; readonly place: Coordinates },
): void {
  const state = step.graph.state
  if (state === undefined) return
  const named = object.ownerReferences.find((each) => each.uid === uid && each.name === place.name)
  const version = versionOf(named?.apiVersion ?? '')
  const askedFor = laneOfGets(object.namespace)
  if (verifyOwner(step, state, { uid, place, version, askedFor }) !== 'no room') return
  // The lane of the namespace asks again from there on: a timer needs a record of the owner, which
  // may be over.
  const verification = step.graph.verification(object.uid)
  const index = named === undefined ? -1 : object.ownerReferences.indexOf(named)
  if (verification === undefined || index < 0) return
  const next = Math.min(verification.next, index)
  putVerification(step, object.uid, { ...verification, next, isQueued: true })
  if (!verification.isQueued)
    enqueue(step, { namespace: askedFor, todo: { type: 'verify', uid: object.uid } })
  wakeLane(step, askedFor)
}

function standAt(facts: ClusterFacts, { object, namedAt }: Node, index: number): Stand {
  const reference = object.ownerReferences[index]
  invariant(reference !== undefined, 'a status of no reference')
  return standingOf(facts, object, reference, namedAt[index])
}

function charge(step: Step, references: number): void {
  step.record.references -= references
  step.outcome.work += references
}

function putVerification(step: Step, uid: Uid, verification: Omit<Verification, 'type'>): void {
  step.graph.setVerification(uid, { type: 'Verification', ...verification })
}

/**
 * `not now`: its kind cannot be asked about yet, or no command may be issued. `no room`: so many
 * GETs are under way for the namespace.
 */
type Asked = 'asked' | 'not now' | 'no room'

function verifyStand(
  step: Step,
  state: ClusterState,
  { place, reference }: Stand,
  askedFor: string,
): Asked {
  const { uid, apiVersion } = reference
  // It is an untrusted node, or at other coordinates: a relist settles the first, a live GET at
  // these coordinates the second.
  const node = step.graph.node(uid)
  if (place === null || (node !== undefined && isSamePlace(node.object, place))) return 'not now'
  return verifyOwner(step, state, { uid, place, version: versionOf(apiVersion), askedFor })
}

interface ToVerify {
  readonly uid: Uid
  readonly place: Coordinates
  readonly version: string
  /** The lane of the namespace whose GETs it counts among; empty: it counts for no namespace. */
  readonly askedFor: string
}

export function verifyOwner(
  step: Step,
  state: ClusterState,
  { uid, place, version, askedFor }: ToVerify,
): Asked {
  const kind = step.graph.kind(place)
  if (kind === undefined || !isReadyToAsk(kind, place, state)) return 'not now'
  if (!mayIssue(step.graph)) return 'not now'
  const owner = step.graph.owner(uid, place)
  // Its absence is proven.
  if (owner?.type === 'absent') return 'not now'
  const { clusterEpoch, now } = state
  const asked = lookOf(owner)
  const former = asked?.clusterEpoch === clusterEpoch ? asked : null
  if (former !== null && now < former.until) return 'asked'
  const isCounted = countedFor(step.graph, owner) === askedFor
  if (!isCounted && !hasRoomForGet(step.graph, askedFor)) return 'no room'

  const target: Target = {
    group: place.group,
    kind: place.kind,
    namespace: place.namespace,
    name: place.name,
    version: servedVersion(kind, version),
    resource: kind.resource,
    uid,
    resourceVersion: '',
    aggregated: kind.aggregated,
  }
  const command = askFor(step, state, target)
  const until = now + COMMAND_LIFE_MS + COMMAND_MARGIN_MS
  const look: Look = {
    command,
    clusterEpoch,
    state: 'issued',
    count: (former?.count ?? 0) + 1,
    since: former?.since ?? now,
    until,
    reason: '',
    askedFor,
  }
  const known = owner === undefined ? ({ type: 'asked', look } as const) : { ...owner, look }
  putOwner(step, { uid, place }, known)
  ownerTimer(step, until, uid, place)
  return 'asked'
}

/**
 * Asks whether an object is still there, which by a server's answer is deleted. Null where the
 * answer would prove nothing: of an ambiguous kind, or when it was last seen in another epoch of
 * the cluster, whose relists settle it.
 */
export function verifyDeletion(
  step: Step,
  state: ClusterState,
  object: ObjectMeta,
): CommandId | null {
  const kind = step.graph.kind(object)
  const seen = step.graph.seen(object, object.uid)
  if (seen?.clusterEpoch !== state.clusterEpoch || !mayIssue(step.graph)) return null
  if (!isMonitored(kind) || kind?.ambiguous === true) return null
  return askFor(step, state, { ...targetOf(object, kind), resourceVersion: '' })
}

function askFor(step: Step, state: ClusterState, target: Target): CommandId {
  const base = baseOf(step, state, target)
  const basis = [step.at.position, step.graph.policy.position]
  // Why is said by its type and target alone.
  const about = { evidence: 'not-found', because: '', basis } as const
  step.outcome.commands.push({ ...base, type: 'VerifyOwner', ...about })
  return base.id
}

/**
 * A watch that lives would have shown the owner; without one, only a GET can; while one is expected
 * soon, wait for it. Of an ambiguous kind it may be the other resource, where nothing proves
 * anything.
 */
function isReadyToAsk(kind: Kind, about: GroupKind, state: ClusterState): boolean {
  const status = kindStatus(kind, about, state)
  if (kind.ambiguous || status.type === 'gone') return false
  return status.type !== 'listing' || state.now >= status.until
}
