/**
 * What prevents an object from being deleted, or from losing a reference: by whom, why, since when,
 * how often tried and when again.
 *
 * What must stay true: it is read from the verdict and the attempt that the fold keeps; it decides
 * nothing.
 */
import { identityOf } from '../../../../core/graph/identity.ts'
import { kindStatus, watchedAt } from '../../../../core/graph/kind-status.ts'
import { ownerPlace } from '../../../../core/graph/owner-place.ts'
import { CONFIRM_MS } from '../../../../core/model/constant.ts'
import type { Attempt, Node } from '../../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import { foreignFinalizers } from '../../../../core/model/object.ts'
import type { Look } from '../../../../core/model/owner.ts'
import { lookOf } from '../../../../core/model/owner.ts'
import { timeText } from '../../../../core/model/text.ts'
import type { Unshaped } from '../../api/document.ts'
import type { Obstacle as AnsweredObstacle } from '../../api/part-schema.ts'
import type { Histories } from '../index/history-at.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'

/**
 * - `refused`: by the cluster.
 * - `stale`: it had changed meanwhile.
 * - `unresolvable`, `unverified`: an owner cannot be looked up, or has not been.
 * - `held`: by the policy.
 * - `unconfirmed`: the server has deleted it or is about to, and the watch of its kind delivers
 *   nothing.
 * - `finalizers`: of others.
 * - `doubt`: until its kind is listed again.
 * - `dry-run`: it would have gone.
 */
export type Obstacle = Unshaped<AnsweredObstacle>

/** Null when nothing is in the way. */
export function obstacleOf(view: View, node: Node): Obstacle | null {
  const { doubt, verdict, attempt, object } = node
  if (doubt !== null) {
    const because = verdict?.because ?? 'it is untrusted until its kind is listed again'
    return untried('doubt', because)
  }
  const unconfirmed = unconfirmedOf(view, node)
  if (unconfirmed !== null) return unconfirmed
  if (attempt?.state === 'backoff') {
    return tried(attempt.outcome === 'stale' ? 'stale' : 'refused', attempt)
  }
  if (attempt?.state === 'would-go') {
    return {
      ...tried('dry-run', attempt),
      reason: 'mode dry-run only has the server check it',
      until: null,
    }
  }
  if (verdict?.type === 'blocked') return untried('unresolvable', verdict.because)
  const held = admissionOf(node)
  if (held !== null) {
    const { because, since, until } = held
    return { ...untried('held', because), since, until }
  }
  if (verdict?.type === 'verify') {
    const lookup = lookupOf(view, node)
    if (lookup === undefined) return untried('unverified', verdict.because)
    const reason = lookup.reason === '' ? verdict.because : lookup.reason
    return { ...tried('unverified', lookup), reason }
  }
  const others = foreignFinalizers(object.finalizers)
  if (object.deletedAt === null || others.length === 0) return null
  const since = object.deletedAt
  return { ...untried('finalizers', `finalizers ${others.join(', ')}`), since }
}

/**
 * Longer than the watch of an idle kind takes to deliver a deletion. Log time advances with
 * heartbeats, so two of them lie in between.
 */
const LATE_MS = CONFIRM_MS + 5_000

/** Dependents of one owner that are searched for the one that it waits for. */
const MOST_LOOKED_AT = 500

/**
 * Of an owner that waits for dependents: the first of them that no watch confirms. Null when there
 * is none among those that were read.
 */
export async function obstacleOfWaiting(
  view: View,
  owner: Node,
  sight: Sight,
): Promise<Obstacle | null> {
  const phase = nodePhase(owner)
  if (phase !== 'waiting' && phase !== 'orphaning') return null
  let left = MOST_LOOKED_AT
  for await (const uid of view.dependents(view.identityOf(owner.object))) {
    const dependent = view.node(uid)
    const obstacle = dependent === undefined ? null : unconfirmedOf(view, dependent)
    if (dependent !== undefined && obstacle !== null) {
      const isShown = sight.isWhole || (await sight.shows(dependent.object))
      if (!isShown) return { ...obstacle, reason: 'it waits for a dependent that you may not get' }
      const { kind, name } = dependent.object
      return { ...obstacle, reason: `it waits for ${kind} "${name}": ${obstacle.reason}` }
    }
    if (--left === 0) return null
  }
  return null
}

/**
 * The server has removed it, or is about to, and nothing was delivered of its kind since it was
 * asked to: its watch may be broken.
 */
function unconfirmedOf({ facts }: View, node: Node): Obstacle | null {
  const { object, attempt } = node
  const phase = nodePhase(node)
  if (phase !== 'reaped' && phase !== 'deleting') return null
  const { state } = facts
  const kind = facts.kind(object)
  const aliveAt = state && watchedAt(state, object)
  if (state === undefined || kind === undefined || aliveAt === undefined) return null
  const group = object.group === '' ? '' : `.${object.group}`
  const watch = `the watch of ${kind.resource}${group} delivers nothing since ${timeText(aliveAt)}`
  if (phase === 'reaped') {
    if (attempt === null) return null
    const isLate = state.now - Math.max(attempt.since, aliveAt) > LATE_MS
    const isAsked = attempt.outcome === 'blocked'
    const why = isAsked ? `, and a live GET proved nothing: ${attempt.reason}` : ''
    const reason = `the server removed it, but ${watch}${why}`
    return isLate ? { ...tried('unconfirmed', attempt), reason } : null
  }
  if (object.finalizers.length > 0) return null
  const isSilent = kindStatus(kind, object, state).type === 'silent'
  return isSilent ? { ...untried('unconfirmed', watch), since: aliveAt } : null
}

function tried(by: Obstacle['by'], { reason, since, count, until }: Attempt | Look): Obstacle {
  return { by, reason, since, count, until }
}

function untried(by: Obstacle['by'], reason: string): Obstacle {
  return { by, reason, since: null, count: null, until: null }
}

/** Of the owners that are being asked for, the lookup that was tried most. */
function lookupOf({ facts }: View, node: Node): Look | undefined {
  const looks = node.object.ownerReferences.flatMap((reference) => {
    const { place } = ownerPlace(facts, node.object, reference)
    const look = place && lookOf(facts.owner(reference.uid, place))
    return look == null || look.state === 'answered' ? [] : look
  })
  return looks.sort((a, b) => b.count - a.count)[0]
}

/**
 * With the time of the verdict, where the attempt has none; null where it is older than the newest
 * entries of history.
 */
export async function withFirstSeen(
  index: Pick<Histories, 'history'>,
  cluster: ClusterId,
  { object, verdict }: Node,
  obstacle: Obstacle,
): Promise<Obstacle> {
  if (obstacle.since !== null) return obstacle
  // What is cut is older: the time is null then, which says that it is not known.
  const { entries } = await index.history(identityOf(cluster, object))
  const told = entries.findLast(({ change, basis }) =>
    obstacle.by === 'doubt'
      ? change === 'phase'
      : change === 'verdict' && basis.join() === verdict?.basis.join(),
  )
  return { ...obstacle, since: told === undefined ? null : Number(told.at) }
}
