/**
 * Timers that are due, in the log time of their cluster: each one decides by what it finds.
 *
 * What must stay true: timers are never cancelled, so one that finds nothing to do does no harm; a subject that still has to be checked sets the next one.
 *
 * Not here: setting timers (agenda.ts).
 */
import { budgetDue } from './admit/budget.ts'
import { judgeDependents, judgeWaiters, nodeTimer, ownerTimer } from './graph/agenda.ts'
import { putOwner } from './graph/gets.ts'
import type { Graph } from './graph/graph.ts'
import { clusterOf, isNamed, kindOf, nodeOf, ownerOf } from './graph/graph.ts'
import type { OwnerTimer, Timer } from './graph/key.ts'
import { clusterKey, duePrefix, timeOfDueKey, timerOf } from './graph/key.ts'
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
import type { ClusterId, Uid } from './model/object.ts'
import type { KnownOwner } from './model/owner.ts'
import { lookOf } from './model/owner.ts'
import type { ClusterState } from './model/state.ts'
import { endingDue } from './observe/cause.ts'
import { forgetOwner } from './observe/retention.ts'

/** Timers that are due; true when none is left that is. */
export function fire(step: Step, cluster: ClusterId, keys: readonly string[]): boolean {
  const state = clusterOf(step.graph, cluster)
  invariant(state !== undefined, 'timers of a cluster that is not known')
  const due = keys.filter((key) => timeOfDueKey(key) <= state.now)
  for (const key of due) {
    step.graph.remove(key)
    fireOne(step, cluster, timerOf(key))
  }
  if (due.length === KEYS_PER_PAGE) return false
  const next = keys[due.length]
  const current = clusterOf(step.graph, cluster) ?? state
  // A timer set while these fired has moved nextDue before the first key that this page does not have.
  const nextDue = Math.min(
    next === undefined ? Number.MAX_SAFE_INTEGER : timeOfDueKey(next),
    current.nextDue > state.now ? current.nextDue : Number.MAX_SAFE_INTEGER,
    earliestSet(step.graph, cluster, state),
  )
  step.graph.put(clusterKey(cluster), { ...current, nextDue })
  return true
}

/** The earliest timer in the overlay that is not due yet. */
function earliestSet(graph: Graph, cluster: ClusterId, state: ClusterState): number {
  const prefix = duePrefix(cluster)
  let earliest = Number.MAX_SAFE_INTEGER
  for (const key of graph.overlaid([], { prefix, after: '', upTo: undefined })) {
    const time = timeOfDueKey(key)
    if (time > state.now && time < earliest) earliest = time
  }
  return earliest
}

function fireOne(step: Step, cluster: ClusterId, timer: Timer): void {
  const state = clusterOf(step.graph, cluster)
  invariant(state !== undefined, 'a timer of a cluster that is not known')
  switch (timer.type) {
    case 'node':
      return nodeDue(step, state, cluster, timer.uid)
    case 'owner':
      return ownerDue(step, state, cluster, timer)
    case 'kind':
      if (kindOf(step.graph, cluster, timer.kind)?.phase === 'unsynced')
        judgeWaiters(step, cluster, timer.kind)
      return
    case 'budget':
      return budgetDue(step, cluster, timer.budget)
    case 'ending':
      return endingDue(step, cluster, timer.namespace)
  }
}

function nodeDue(step: Step, state: ClusterState, cluster: ClusterId, uid: Uid): void {
  const node = nodeOf(step.graph, cluster, uid)
  const attempt = node?.attempt
  if (node === undefined) return
  // An owner that waits for its dependents, and for more than their going.
  if (attempt == null) return markDirty(step, cluster, uid)
  if (attempt.state === 'confirming' && state.now >= attempt.until)
    return unconfirmedDue(step, state, cluster, node)
  // The approval has expired, whatever is under way.
  const { ruling = null } = node.hold ?? {}
  if (ruling !== null && ruling.until <= state.now) return markDirty(step, cluster, uid)
  if (attempt.state === 'would-go') return
  if (state.now < attempt.until) return nodeTimer(step, cluster, attempt.until, uid)
  if (attempt.state === 'confirming') return unconfirmedDue(step, state, cluster, node)
  markDirty(step, cluster, uid)
}

/** A server said that it is deleted, and no watch reports it: it is verified, repeatedly after growing waits, and its kind is relisted when that takes long. */
function unconfirmedDue(step: Step, state: ClusterState, cluster: ClusterId, node: Node): void {
  const { object, attempt } = node
  if (attempt === null) return
  // Events of its kind still arrive now, so its deletion may be reported after them.
  const isBehind = (watchedAt(state, object) ?? 0) > state.now - CONFIRM_MS
  const wait = isBehind ? attempt.until + CONFIRM_LATE_MS : state.startedTime + CATCH_UP_MS
  if (state.now < wait) return nodeTimer(step, cluster, state.now + CONFIRM_MS, object.uid)
  if (state.now >= attempt.since + RELIST_MS) {
    askRelist(step, cluster, object, `the deletion of ${object.name} is not confirmed`)
  }
  const isGone = nodePhase(node) === 'reaped'
  const command = isGone ? verifyDeletion(step, state, cluster, object) : null
  const asked = command === null ? {} : { command, count: attempt.count + 1 }
  const until = state.now + Math.max(RELIST_MS, backoffMs(attempt.count))
  putNode(step, cluster, node, { ...node, attempt: { ...attempt, ...asked, until } })
  nodeTimer(step, cluster, until, object.uid)
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

function ownerDue(step: Step, state: ClusterState, cluster: ClusterId, timer: OwnerTimer): void {
  const { uid, place } = timer
  const owner = ownerOf(step.graph, cluster, uid, place)
  if (owner === undefined) return
  const again = (timeMs: number): void => ownerTimer(step, cluster, timeMs, uid, place)
  switch (dueOf(owner, isNamed(step.graph, cluster, uid, place), state.now)) {
    case 'wait':
      return again(lookOf(owner)?.until ?? state.now)
    case 'ask again':
      again(state.now + BACKOFF_LAST_MS)
      return judgeDependents(step, cluster, uid, place)
    case 'unask': {
      const left = owner.type === 'trace' ? { ...owner, look: null } : null
      putOwner(step, cluster, { uid, place }, left)
      if (left !== null) again(state.now + BACKOFF_LAST_MS)
      return judgeDependents(step, cluster, uid, place)
    }
    case 'look': {
      const version = kindOf(step.graph, cluster, place)?.versions[0] ?? ''
      const asked = verifyOwner(step, state, cluster, { uid, place, version, askedFor: '' })
      // Its kind cannot be asked now, or no command may be issued: only this timer verifies a found owner again.
      const times = owner.type === 'found' ? owner.times : 0
      if (asked !== 'asked') again(state.now + foundWaitMs(times))
      return
    }
    case 'retire':
      return forgetOwner(step, state, cluster, uid, place, owner)
  }
}
