/**
 * Results of commands: settled, an owner found, an owner absent.
 *
 * What must stay true: a settled command proves no absence, the watch does; `OwnerAbsent` is about
 * coordinates only, so it removes no node but one that our DELETE removed before the verification
 * was issued; a result of an earlier epoch of the cluster proves nothing.
 */
import { judgeDependents, nodeTimer, ownerTimer } from '../graph/agenda.ts'
import { putOwner } from '../graph/gets.ts'
import { isMonitored } from '../graph/kind-status.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { askRelist, drop, markDirty, tell, touch } from '../graph/outcome.ts'
import { leaveIndex } from '../graph/rule/keep-index.ts'
import {
  backoffMs,
  COMMAND_LIFE_MS,
  COMMAND_MARGIN_MS,
  CONFIRM_MS,
  FREE_REPEATS,
  foundWaitMs,
  MEMORY_MS,
} from '../model/constant.ts'
import type { CommandSettled, OwnerAbsent, OwnerFound } from '../model/event.ts'
import type { CommandId } from '../model/id.ts'
import type { Attempt, Node, Phase } from '../model/node.ts'
import { backedOff, nodePhase, phaseOf } from '../model/node.ts'
import { isSamePlace } from '../model/object.ts'
import type { KnownOwner, Look, OrphanMark } from '../model/owner.ts'
import { lookOf, orphanMarkOf } from '../model/owner.ts'
import type { ClusterState } from '../model/state.ts'
import { absentOwner, deletionOf, depart, proofOf } from './departure.ts'
import { sight } from './sighting.ts'

function currentEpoch(
  step: Step,
  event: { readonly clusterEpoch: number },
): ClusterState | undefined {
  const state = step.graph.state
  if (state !== undefined && event.clusterEpoch === state.clusterEpoch) return state
  drop(step, 'the result of a command of another epoch of the cluster')
  return undefined
}

export function commandSettled(step: Step, event: CommandSettled): void {
  const state = currentEpoch(step, event)
  if (state === undefined) return
  if (event.verb === 'VerifyOwner') return verificationSettled(step, state, event)

  const before = step.graph.node(event.uid)
  tellResult(step, event)
  step.record.observations.push({ type: 'result', event })
  if (before?.attempt?.command === event.command) settleAttempt(step, state, before, event)
  // What the server returned is a sighting like any other; for another uid it proves nothing about
  // ours.
  const isTold = event.object !== null && event.list === null
  if (isTold && event.object.uid === event.uid && isWatched(step, event)) {
    const isOurs = event.verb === 'RemoveFinalizer' && event.outcome === 'done'
    sight(step, state, event.object, { sync: null, by: isOurs ? 'ours' : 'answer' })
  }
  markDirty(step, event.uid)
}

/** For a kind without a monitor, no event would report its deletion. */
function isWatched(step: Step, { place }: CommandSettled): boolean {
  return isMonitored(step.graph.kind(place))
}

function settleAttempt(step: Step, state: ClusterState, node: Node, event: CommandSettled): void {
  const { attempt } = node
  if (attempt === null) return
  const put = (change: Partial<Node>): void => {
    putNode(step, node, { ...node, ...change })
    touch(step, event.uid)
  }
  const settled: Attempt = { ...attempt, outcome: event.outcome, reason: event.reason }
  // Carried out twice, by a reaper that died or is in another mode: the first result awaits
  // confirmation.
  const isDone = attempt.state === 'confirming'
  switch (event.outcome) {
    case 'would-go':
      if (isDone) return
      return put({ attempt: { ...settled, state: 'would-go' } })
    case 'done':
    case 'absent': {
      if (event.object !== null && event.list === null) {
        const isAccepted = event.verb === 'DeleteObject' && event.outcome === 'done'
        const deletion = isAccepted
          ? { isGone: false, ...node.deletion, isAccepted }
          : node.deletion
        return put({ deletion, attempt: carriedOut(step, state, event, settled) })
      }
      // A watch has shown already what it did.
      if (attempt.verb === 'AnnotateObject' && attempt.state === 'done') return
      // The server says it is deleted; the watch confirms it soon. The timer of the command checks
      // whether it did. The last heartbeat may be seconds ago.
      const until = Math.max(state.now, step.at.timestamp) + CONFIRM_MS
      // The same holds for an object whose last finalizer was removed; not for one that was
      // returned, though with an unknown list.
      const mayEnd = event.verb === 'DeleteObject' || event.verb === 'RemoveFinalizer'
      const isGone = mayEnd && event.object === null
      const deletion = isGone ? { isAccepted: false, ...node.deletion, isGone } : node.deletion
      if (!hasTimer(attempt, state.now)) nodeTimer(step, until, event.uid)
      put({ deletion, attempt: { ...settled, state: 'confirming', until } })
      // It is not judged until then, and counts as one that stays no more.
      if (isGone) leaveIndex(step, event.uid)
      return
    }
    case 'stale':
    case 'blocked': {
      if (isDone) return
      const next = backedOff(settled, state.now, event.reason)
      nodeTimer(step, next.until, event.uid)
      return put({ attempt: next })
    }
  }
}

/**
 * If another actor undoes it, such as a controller that adopts a dependent again, the command is
 * repeated: a few times at once, since a race ends by itself, then after growing waits.
 */
function carriedOut(
  step: Step,
  state: ClusterState,
  { uid, verb }: CommandSettled,
  settled: Attempt,
): Attempt | null {
  if (verb === 'DeleteObject') return null
  const repeats = settled.count - FREE_REPEATS
  const until = repeats > 0 ? state.now + backoffMs(repeats) : state.now
  if (repeats > 0) nodeTimer(step, until, uid)
  return { ...settled, state: 'done', until }
}

/**
 * Whether the timer of a command's issue is still to fire. The timer of a command settled earlier,
 * or in another way, may have fired.
 */
function hasTimer({ state, until }: Attempt, now: number): boolean {
  const issuedAt = until - COMMAND_LIFE_MS - COMMAND_MARGIN_MS
  return state === 'issued' && now < issuedAt + CONFIRM_MS
}

function tellResult(step: Step, event: CommandSettled): void {
  const text = [event.outcome, event.code === null ? '' : `(${event.code})`, event.reason]
  tell(
    step,
    { ...event.place, uid: event.uid },
    'result',
    `${event.verb} ${text.filter((word) => word !== '').join(' ')}`,
    { command: event.command, basis: [step.at.position] },
  )
}

function verificationSettled(step: Step, state: ClusterState, event: CommandSettled): void {
  if (isUnconfirmed(step, state, event, event.reason)) return
  const owner = step.graph.owner(event.uid, event.place)
  const asked = lookOf(owner)
  if (owner === undefined || owner.type === 'absent' || asked?.command !== event.command)
    return drop(step, 'nobody waits for it')
  const until = state.now + backoffMs(asked.count)
  const look: Look = { ...asked, state: 'backoff', until, reason: event.reason }
  putOwner(step, { uid: event.uid, place: event.place }, { ...owner, look })
  ownerTimer(step, until, event.uid, event.place)
}

/**
 * This command verified an object that a server said is deleted, and proves nothing about it: it is
 * verified again, after growing waits.
 */
function isUnconfirmed(
  step: Step,
  state: ClusterState,
  event: Pick<OwnerFound, 'uid' | 'command'>,
  reason: string,
): boolean {
  const node = step.graph.node(event.uid)
  const asked = node && verifiedBy(node, event.command)
  if (node === undefined || asked == null) return false
  const blocked = { ...backedOff(asked, state.now, reason), outcome: 'blocked' } as const
  const attempt: Attempt = { ...blocked, state: 'confirming' }
  putNode(step, node, { ...node, attempt })
  nodeTimer(step, attempt.until, event.uid)
  return true
}

function verifiedBy(node: Node, command: CommandId): Attempt | null {
  const { attempt } = node
  return nodePhase(node) === 'reaped' && attempt?.command === command ? attempt : null
}

export function ownerFound(step: Step, event: OwnerFound): void {
  const state = currentEpoch(step, event)
  if (state === undefined) return
  const { uid, owner: place } = event
  const node = step.graph.node(uid)
  if (node !== undefined && isSamePlace(node.object, place)) {
    const isThere = isUnconfirmed(step, state, event, 'a live GET found it')
    if (isThere) askRelist(step, place, `${place.name} was found after its deletion`)
    return
  }
  const former = step.graph.owner(uid, place)
  const isWatchedOrGone = step.graph.kind(place)?.phase !== 'unmonitored'
  const wasSeenToGo = former?.type === 'absent' && former.proof.command === null
  // A later GET revokes the result of an earlier one; and where the owner is unwatched and a GET is
  // possible, no other source would.
  if (wasSeenToGo && isWatchedOrGone && node === undefined) {
    // Its deletion was observed, and it exists: the cluster may have been restored. A relist
    // settles it.
    askRelist(step, place, `${place.name} was found after its deletion was observed`)
    return drop(step, 'its deletion was observed')
  }
  // A GET that was long under way may show an earlier state: the next one shows whether the owner
  // exists.
  const markSeen = wasSeenToGo ? former.orphanedAt : null
  const times = (former?.type === 'found' ? former.times : 0) + 1
  const lookAt = state.now + foundWaitMs(times)
  const phase = phaseOf(event.object)
  putOwner(
    step,
    { uid, place },
    {
      type: 'found',
      phase,
      orphanedAt: markOfFound(phase, former, step.at.timestamp) ?? markSeen,
      lastKnown: step.at.position,
      times,
      look: answered(state, event.command, lookAt),
    },
  )
  ownerTimer(step, lookAt, uid, place)
  tell(step, { ...place, uid }, 'owner', 'found by a live GET', {
    command: event.command,
    basis: [step.at.position],
  })
  const isKnown = former?.type === 'found' && former.lastKnown >= state.epochAt
  if (!isKnown || former.phase !== phase) judgeDependents(step, uid, place)
}

/** Until the next look is due: the timers of those before it must not ask sooner. */
function answered({ clusterEpoch, now }: ClusterState, command: CommandId, until: number): Look {
  const look = { command, clusterEpoch, count: 0, since: now, until, reason: '', askedFor: '' }
  return { ...look, state: 'answered' }
}

/**
 * If the owner is still being deleted, in the foreground as well, it was not observed which client
 * removed the finalizer: then its dependents stay. Where one GET saw it orphaning and the next one
 * sees it waiting, a user changed the propagation policy.
 */
function markOfFound(phase: Phase, former: KnownOwner | undefined, time: number): OrphanMark {
  const orphanedAt = orphanMarkOf(former)
  if (phase === 'orphaning') return orphanedAt ?? time
  const wasOrphaning = former?.type === 'found' && former.phase === 'orphaning'
  const isTurned = phase === 'waiting' && wasOrphaning
  const isGoing = phase === 'deleting' || phase === 'waiting'
  return isGoing && !isTurned ? orphanedAt : null
}

export function ownerAbsent(step: Step, event: OwnerAbsent): void {
  const state = currentEpoch(step, event)
  if (state === undefined) return
  const { uid, owner: place } = event
  const how = event.how === 'NotFound' ? 'nothing is there' : `${event.otherUid} is there instead`
  const node = step.graph.node(uid)
  if (node !== undefined && isSamePlace(node.object, place)) {
    const asked = verifiedBy(node, event.command)
    if (asked === null) return drop(step, 'seen since: only a watch or a relist removes it')
    // It may be as old as our first request. No watch observed it, so whatever follows from it is
    // verified.
    const ageMs = Math.max(0, step.at.timestamp - asked.since)
    const { command } = event
    const proof = deletionOf(step, state, node.object, node, { ageMs, command })
    return depart(step, state, node.object, proof, `verified by a live GET: ${how}`)
  }
  const former = step.graph.owner(uid, place)
  if (former?.type === 'absent') return
  // It was here before the cluster was restored, and did not come back: a bulk deletion.
  const wasThere = former?.type === 'found' || former?.type === 'trace'
  const evidence = wasThere && former.lastKnown < state.epochAt ? 'bulk' : 'not-found'
  const proof = { ...proofOf(step, state, place, evidence), command: event.command }
  putOwner(step, { uid, place }, absentOwner(proof, orphanMarkOf(former)))
  // The timer of the GET finds it absent, and sets the next one: a record for each owner less.
  const look = lookOf(former)
  const hasTimer = look?.state === 'issued' && state.now < look.until
  if (!hasTimer) ownerTimer(step, state.now + MEMORY_MS, uid, place)
  tell(step, { ...place, uid }, 'owner', `absent by a live GET: ${how}`, {
    evidence,
    command: event.command,
    basis: [step.at.position],
  })
  judgeDependents(step, uid, place)
}
