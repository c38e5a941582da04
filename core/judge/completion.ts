/**
 * When an owner that is being deleted has no dependents left to wait for: then its finalizer is
 * removed, and the server deletes it.
 *
 * What must stay true: decided from counts, never from a scan; level-triggered, so a lost event
 * cannot block an owner for ever; not before every kind that may have a dependent has been listed,
 * but never waiting for a kind that can never be listed.
 *
 * Not here: what happens to the dependents (verdict.ts), finding ownership cycles (ring.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { kindStatus } from '../graph/kind-status.ts'
import { CATCH_UP_MS, KIND_PATIENCE_MS } from '../model/constant.ts'
import type { Node } from '../model/node.ts'
import { nodePhase } from '../model/node.ts'
import type { Coordinates, GroupKind, Uid } from '../model/object.ts'
import { FINALIZER_FOREGROUND, FINALIZER_ORPHAN } from '../model/object.ts'
import type { Count } from '../model/state.ts'

export type Completion =
  /**
   * For people: what it waits for. `until`: log time at which it is judged again although no event
   * came; null when only an event can help.
   */
  | { readonly type: 'wait'; readonly because: string; readonly until: number | null }
  | { readonly type: 'finish'; readonly because: string; readonly finalizer: string }

/** Undefined when it waits for no dependents. */
export function completionOf(facts: ClusterFacts, node: Node): Completion | undefined {
  const { object, verdict, hold } = node
  const phase = nodePhase(node)
  if (phase !== 'waiting' && phase !== 'orphaning') return undefined
  const left = leftOf(facts, object.uid, object)
  if (!isNothingLeft(facts, node))
    return wait(phase === 'orphaning' ? whatNames(left) : 'dependents block it')
  // Once every kind was in sync, a kind that falls silent afterwards changes nothing. But a new
  // watcher first has to publish what happened while no watcher ran.
  const hasSpoken = verdict?.type === 'finish' && (hold?.by ?? null) === null
  const unfit = hasSpoken ? catchingUp(facts) : unfitness(facts, object)
  if (unfit !== undefined) return { type: 'wait', ...unfit }
  if (phase === 'orphaning') {
    return { type: 'finish', because: 'no dependent references it', finalizer: FINALIZER_ORPHAN }
  }
  const because =
    left.blocking === 0 ? 'no dependent blocks it' : 'the dependents that block it wait for it'
  return { type: 'finish', because, finalizer: FINALIZER_FOREGROUND }
}

/** Of what it waits for, as far as the graph knows: kinds may be out of sync. */
export function isNothingLeft(facts: ClusterFacts, node: Node): boolean {
  const { dependents, blocking, waiting } = leftOf(facts, node.object.uid, node.object)
  if (nodePhase(node) === 'orphaning') return dependents === 0
  return blocking === 0 || (node.ringed && blocking === waiting)
}

function wait(because: string): Completion {
  return { type: 'wait', because, until: null }
}

/** All that it waits for waits, too, so they may be waiting for each other. */
export function mayBeRing(facts: ClusterFacts, node: Node): boolean {
  if (nodePhase(node) !== 'waiting') return false
  const { blocking, waiting } = leftOf(facts, node.object.uid, node.object)
  return blocking > 0 && blocking === waiting
}

/**
 * An object whose kind is absent from discovery may exist when the kind is served again, and then
 * still references its owner. That it was orphaned is recorded on the owner, where every log and
 * collector can read it; once the owner is deleted, only this log has it. So the owner waits,
 * however long.
 */
function whatNames({ dependents, unserved }: Left): string {
  if (dependents > unserved) return 'dependents name it'
  return 'only dependents of kinds that are not served, or not listed since, name it: it waits until they are, or somebody takes its finalizer off'
}

type Left = Omit<Count, 'type'>

/** What references it, as far as the graph knows. */
export function leftOf(facts: ClusterFacts, uid: Uid, place: Coordinates): Left {
  return facts.count(uid, place) ?? NOTHING_LEFT
}

const NOTHING_LEFT: Left = { dependents: 0, blocking: 0, waiting: 0, unserved: 0 }

interface Unfitness {
  readonly because: string
  readonly until: number
}

function catchingUp(facts: ClusterFacts): Unfitness | undefined {
  const state = facts.state
  const caughtUpAt = (state?.startedTime ?? 0) + CATCH_UP_MS
  if (state === undefined || state.now >= caughtUpAt) return undefined
  return { because: 'the watches are catching up since their start', until: caughtUpAt }
}

/**
 * Why it is unknown yet whether an owner of this kind has no dependents: kinds that may hold some
 * are not in sync. A kind that stays out of sync is waited for no longer than `until`.
 */
function unfitness(facts: ClusterFacts, owner: GroupKind): Unfitness | undefined {
  const state = facts.state
  if (state === undefined) return undefined
  const behind = catchingUp(facts)
  if (behind !== undefined) return behind
  const startUntil = state.startedTime + KIND_PATIENCE_MS
  if (state.synced < state.monitored && state.now < startUntil) {
    return { because: 'not every kind has been listed yet', until: startUntil }
  }
  for (const each of facts.kind(owner)?.blockers ?? []) {
    const status = kindStatus(facts.kind(each), each, state)
    if ((status.type === 'listing' || status.type === 'silent') && state.now < status.until) {
      return { because: `kind ${each.kind} is not in sync`, until: status.until }
    }
  }
  return undefined
}
