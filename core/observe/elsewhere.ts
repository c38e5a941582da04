/**
 * Owners in other clusters, and how those clusters are followed: what is published beside the
 * watcher.
 *
 * What must stay true: older news never replaces newer: of an owner by its cluster's epoch and the
 * position on its lineage. A state that goes on keeps the log time since when it is so; any other
 * begins anew, and so does a cluster that was not followed for a while. Nothing is kept of an owner
 * that no object names.
 *
 * Not here: what follows from it (judge/elsewhere.ts).
 */
import { judgeWaiters } from '../graph/agenda.ts'
import type { Step } from '../graph/outcome.ts'
import { currentCluster, drop } from '../graph/outcome.ts'
import { elsewhereClusterWait, elsewhereWait } from '../graph/rule/elsewhere-index.ts'
import { ELSEWHERE_FRESH_MS } from '../model/constant.ts'
import type { ClusterElsewhere, OwnerElsewhere } from '../model/event.ts'
import { isSamePlace } from '../model/object.ts'
import type { ClusterState, ElsewhereCluster, ElsewhereFact } from '../model/state.ts'

export function ownerElsewhere(step: Step, event: OwnerElsewhere): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const { ownerCluster, uid } = event
  const known = step.graph.elsewhere(ownerCluster, uid)
  if (known === undefined) return drop(step, 'an owner in another cluster that no object names')
  const former = known.fact
  if (former !== null && isOlder(event, former)) {
    return drop(step, 'of an owner in another cluster newer news is known')
  }
  if (former !== null && isStillGone(event, former)) {
    return drop(step, 'an owner in another cluster left, of which there is no record any more')
  }
  const { ownerEpoch, position, place, version, resource, createdAt } = event
  const isAlike = former !== null && isSame(event, former)
  const since = isAlike ? former.since : timeOf(step, state)
  const named = { place, version, resource, createdAt }
  const fact = { state: event.state, since, ownerEpoch, position, ...named }
  step.graph.setElsewhere(ownerCluster, uid, { ...known, fact })
  if (!isAlike) judge(step, elsewhereWait(ownerCluster, uid))
}

function isOlder(event: OwnerElsewhere, { ownerEpoch, position }: ElsewhereFact): boolean {
  if (event.ownerEpoch !== ownerEpoch) return event.ownerEpoch < ownerEpoch
  return event.position < position
}

/** What was deleted is forgotten after a while, and stays so in its epoch. */
function isStillGone(
  { state, version, ownerEpoch }: OwnerElsewhere,
  former: ElsewhereFact,
): boolean {
  const isGone = former.state === 'deleted' || former.state === 'orphaned'
  return isGone && state === 'unknown' && version === '' && ownerEpoch === former.ownerEpoch
}

function isSame({ state, ownerEpoch, place }: OwnerElsewhere, fact: ElsewhereFact): boolean {
  return fact.state === state && fact.ownerEpoch === ownerEpoch && isSamePlace(fact.place, place)
}

export function clusterElsewhere(step: Step, event: ClusterElsewhere): void {
  const state = currentCluster(step, event)
  if (state === undefined) return
  const { ownerCluster } = event
  const isImported = step.graph.rules.some(({ elsewhere }) => elsewhere?.cluster === ownerCluster)
  if (!isImported) return drop(step, 'a cluster of which no rule imports owners')
  const former = step.graph.elsewhereCluster(ownerCluster)
  if (former !== undefined && event.ownerEpoch < former.ownerEpoch) {
    return drop(step, 'of another cluster a later epoch is known')
  }
  const now = timeOf(step, state)
  const goesOn = former !== undefined && isUnbroken(step, state, event, former)
  const since = goesOn ? former.since : event.state === 'followed' ? now : 0
  const { ownerEpoch, because } = event
  const heard = { epoch: state.epoch, ownerEpoch, heardAt: now, position: step.at.position }
  const known = { type: 'ElsewhereCluster', state: event.state, because, since, ...heard } as const
  step.graph.setElsewhereCluster(ownerCluster, known)
  if (!goesOn || former.because !== because) judge(step, elsewhereClusterWait(ownerCluster))
}

/** It is followed, or not, as before, and was heard of in time. */
function isUnbroken(
  step: Step,
  state: ClusterState,
  event: ClusterElsewhere,
  former: ElsewhereCluster,
): boolean {
  const isSame = former.state === event.state && former.ownerEpoch === event.ownerEpoch
  const isRecent = timeOf(step, state) - former.heardAt <= ELSEWHERE_FRESH_MS
  const isWhole = former.position > step.graph.unreadableAt('')
  return isSame && former.epoch === state.epoch && isRecent && isWhole
}

/** As an object is judged: never before what heartbeats said. */
function timeOf({ at }: Step, { now }: Pick<ClusterState, 'now'>): number {
  return Math.max(at.timestamp, now)
}

function judge(step: Step, kind: ReturnType<typeof elsewhereWait>): void {
  if (step.graph.keeping !== undefined) judgeWaiters(step, kind)
}
