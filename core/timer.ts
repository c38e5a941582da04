/**
 * Timers that are due, in the log time of their cluster: each one decides by what it finds.
 *
 * What must stay true: timers are never cancelled, so one that finds nothing to do does no harm; a
 * subject that still has to be checked sets the next one.
 *
 * Not here: setting timers (agenda.ts).
 */
import { budgetDue } from './admit/budget.ts'
import {
  earliestSet,
  judgeDependents,
  judgeWaiters,
  nodeTimer,
  ownerTimer,
} from './graph/agenda.ts'
import { putOwner } from './graph/gets.ts'
import type { OwnerTimer, Timer } from './graph/key.ts'
import { timeOfDueKey, timerOf } from './graph/key.ts'
import { watchedAt } from './graph/kind-status.ts'
import { putNode } from './graph/link.ts'
import type { Step } from './graph/outcome.ts'
import { askRelist, markDirty } from './graph/outcome.ts'
import { verifyDeletion, verifyOwner } from './issue/verification.ts'
import {
  BACKOFF_LAST_MS,
  backoffMs,
  CATCH_UP_MS,
  CONFIRM_LATE_MS,
  CONFIRM_MS,
  foundWaitMs,
  KEYS_PER_PAGE,
  RELIST_MS,
} from './model/constant.ts'
import { invariant } from './model/invariant.ts'
import type { Node } from './model/node.ts'
import { nodePhase } from './model/node.ts'
import type { Uid } from './model/object.ts'
import type { KnownOwner } from './model/owner.ts'
import { lookOf } from './model/owner.ts'
import type { ClusterState } from './model/state.ts'
import { endingDue } from './observe/cause.ts'
import { forgetOwner } from './observe/retention.ts'

/** Timers that are due; true when none is left that is. */
export function fire(step: Step, keys: readonly string[]): boolean {
  const state = step.graph.state
  invariant(state !== undefined, 'timers of a cluster that is not known')
  const due = keys.filter((key) => timeOfDueKey(key) <= state.now)
  for (const key of due) {
    step.graph.removeRow(key)
    fireOne(step, timerOf(key))
  }
  if (due.length === KEYS_PER_PAGE) return false
  const next = keys[due.length]
  const current = step.graph.state ?? state
  // A timer set while these fired has moved nextDue before the first key that this page does not
  // have.
  const nextDue = Math.min(
    next === undefined ? Number.MAX_SAFE_INTEGER : timeOfDueKey(next),
    current.nextDue > state.now ? current.nextDue : Number.MAX_SAFE_INTEGER,
    earliestSet(step, state.now),
  )
  step.graph.setState({ ...current, nextDue })
  return true
}

function fireOne(step: Step, timer: Timer): void {
  const state = step.graph.state
  invariant(state !== undefined, 'a timer of a cluster that is not known')
  switch (timer.type) {
    case 'node':
      return nodeDue(step, state, timer.uid)
    case 'owner':
      return ownerDue(step, state, timer)
    case 'kind':
      if (step.graph.kind(timer.kind)?.phase === 'unsynced') judgeWaiters(step, timer.kind)
      return
    case 'budget':
      return budgetDue(step, timer.budget)
    case 'ending':
      return endingDue(step, timer.namespace)
  }
}

function nodeDue(step: Step, state: ClusterState, uid: Uid): void {
  const node = step.graph.node(uid)
  const attempt = node?.attempt
  if (node === undefined) return
  // An owner that waits for its dependents, and for more than their going.
  if (attempt == null) return markDirty(step, uid)
  if (attempt.state === 'confirming' && state.now >= attempt.until)
    return unconfirmedDue(step, state, node)
  // The approval has expired, whatever is under way.
  const { ruling = null } = node.hold ?? {}
  if (ruling !== null && ruling.until <= state.now) return markDirty(step, uid)
  // By then another rule may delete what this one annotates.
  const mayTurn = attempt.verb === 'AnnotateObject' && attempt.state !== 'confirming'
  if (mayTurn) markDirty(step, uid)
  if (attempt.state === 'would-go') return
  if (state.now < attempt.until) return nodeTimer(step, attempt.until, uid)
  if (attempt.state === 'confirming') return unconfirmedDue(step, state, node)
  markDirty(step, uid)
}

/**
 * A server said that it is deleted, and no watch reports it: it is verified, repeatedly after
 * growing waits, and its kind is relisted when that takes long.
 */
function unconfirmedDue(step: Step, state: ClusterState, node: Node): void {
  const { object, attempt } = node
  if (attempt === null) return
  // Events of its kind still arrive now, so its deletion may be reported after them.
  const isBehind = (watchedAt(state, object) ?? 0) > state.now - CONFIRM_MS
  const wait = isBehind ? attempt.until + CONFIRM_LATE_MS : state.startedTime + CATCH_UP_MS
  if (state.now < wait) return nodeTimer(step, state.now + CONFIRM_MS, object.uid)
  if (state.now >= attempt.since + RELIST_MS) {
    askRelist(step, object, `the deletion of ${object.name} is not confirmed`)
  }
  const isGone = nodePhase(node) === 'reaped'
  const command = isGone ? verifyDeletion(step, state, object) : null
  const asked = command === null ? {} : { command, count: attempt.count + 1 }
  const until = state.now + Math.max(RELIST_MS, backoffMs(attempt.count))
  putNode(step, node, { ...node, attempt: { ...attempt, ...asked, until } })
  nodeTimer(step, until, object.uid)
}

/**
 * What becomes of an owner whose timer is due: the first row that fits.
 *
 * | its last GET | known | objects name it | then |
 * |---|---|---|---|
 * | not over, nor its wait | | | `wait` until it is |
 * | over | asked, trace | yes | `ask again`: an object that still needs the answer asks |
 * | long over | asked | yes | `unask`: no object has asked again, so the question is forgotten |
 * | long over | trace | yes | the same, but not that it was here |
 * | | found | yes | `look`: no watch reports it, so it is asked for again |
 * | | | | `retire`: forgotten, once its time is over |
 */
type OwnerDue = 'wait' | 'ask again' | 'unask' | 'look' | 'retire'

function dueOf(owner: KnownOwner, isReferenced: boolean, now: number): OwnerDue {
  const look = lookOf(owner)
  if (look !== null && now < look.until) return 'wait'
  if (!isReferenced) return 'retire'
  if (owner.type === 'found') return 'look'
  if (look === null) return 'retire'
  return now < look.until + BACKOFF_LAST_MS ? 'ask again' : 'unask'
}

function ownerDue(step: Step, state: ClusterState, timer: OwnerTimer): void {
  const { uid, place } = timer
  const owner = step.graph.owner(uid, place)
  if (owner === undefined) return
  const again = (timeMs: number): void => ownerTimer(step, timeMs, uid, place)
  switch (dueOf(owner, step.graph.isNamed(uid, place), state.now)) {
    case 'wait':
      return again(lookOf(owner)?.until ?? state.now)
    case 'ask again':
      again(state.now + BACKOFF_LAST_MS)
      return judgeDependents(step, uid, place)
    case 'unask': {
      const left = owner.type === 'trace' ? { ...owner, look: null } : null
      putOwner(step, { uid, place }, left)
      if (left !== null) again(state.now + BACKOFF_LAST_MS)
      return judgeDependents(step, uid, place)
    }
    case 'look': {
      const version = step.graph.kind(place)?.versions[0] ?? ''
      const asked = verifyOwner(step, state, { uid, place, version, askedFor: '' })
      // Its kind cannot be asked now, or no command may be issued: only this timer verifies a found
      // owner again.
      const times = owner.type === 'found' ? owner.times : 0
      if (asked !== 'asked') again(state.now + foundWaitMs(times))
      return
    }
    case 'retire':
      return forgetOwner(step, state, uid, place, owner)
  }
}
