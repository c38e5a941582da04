/**
 * One step of the agenda: a page of keys, each processed once.
 *
 * What must stay true: a step does bounded work and moves its cursor on, so work that fans out ends; what it does to each key depends on the
 * state at that time, so a key that was added or removed since does no harm.
 *
 * Not here: reading the page, which takes time (services/graph/fold/task.ts); objects that a relist misses (missing.ts); timers (timer.ts).
 */

import { ruleOn } from './admit/approval.ts'
import { useTickets } from './admit/budget.ts'
import type { PageRequest } from './graph/agenda.ts'
import { firstWork, kindOfWork, parkLane, replaceFirst } from './graph/agenda.ts'
import type { StateReader } from './graph/graph.ts'
import { clusterOf, kindOf, nodeOf } from './graph/graph.ts'
import {
  ALL_NODES_PREFIX,
  countKeyOfEdges,
  duePrefix,
  edgesPrefix,
  groupKindIn,
  heldPrefix,
  kindsPrefix,
  lastPart,
  nodesPrefix,
  ringPrefix,
  seenPrefix,
  ticketsPrefix,
  waitsPrefix,
} from './graph/key.ts'
import { isSameEdge, placesOf, putNode } from './graph/link.ts'
import type { Step } from './graph/outcome.ts'
import { askRelist } from './graph/outcome.ts'
import { verifyMore } from './issue/verification.ts'
import { endWalk, ringPage, walk } from './judge/ring.ts'
import { KEYS_PER_PAGE } from './model/constant.ts'
import { invariant } from './model/invariant.ts'
import type { ClusterId, Uid } from './model/object.ts'
import { objectKey } from './model/partition.ts'
import type { Work } from './model/state.ts'
import { forget } from './observe/departure.ts'
import { countMissing, takeMissed } from './observe/missing.ts'
import { suspectOfGoneKind } from './observe/sighting.ts'
import { fire } from './timer.ts'

/** The page that the first work on the agenda needs next; undefined when there is none. */
export function nextPage(graph: StateReader): PageRequest | undefined {
  const work = firstWork(graph)
  if (work === undefined) return undefined
  if (work.work === 'ring') return { ...ringPage(graph, work), limit: KEYS_PER_PAGE }
  const prefix = prefixOf(work)
  return {
    prefix,
    after: work.cursor === '' ? startOf(graph, work) : work.cursor,
    // One subject is no page: it is known.
    limit: work.work === 'subject' || work.work === 'verify' ? 0 : KEYS_PER_PAGE,
    countKey: work.work === 'dependents' ? countKeyOfEdges(prefix) : null,
  }
}

/**
 * Takes one step with the keys of `nextPage`, fewer than its limit when there are no more. `judge`: what judges one object, false when this record may judge no more.
 * Returns whether another lane may continue: not between two pages of facts, or an object would be judged while half of them are written.
 */
export function takeStep(step: Step, keys: readonly string[], judge: Judge): boolean {
  const work = firstWork(step.graph)
  invariant(work !== undefined, 'a step of no work')
  const cursor = take(step, work, keys, judge)
  // It may have written down what it has counted.
  replaceFirst(step, cursor === undefined ? null : { ...(firstWork(step.graph) ?? work), cursor })
  return cursor === undefined || !WRITES_FACTS.has(work.work)
}

const WRITES_FACTS: ReadonlySet<Work['work']> = new Set(['missed', 'forget', 'suspects'])

export type Judge = (work: Work, cluster: ClusterId, uid: Uid) => boolean

/** The key after which the work continues; undefined when this was its last step. */
function take(step: Step, work: Work, keys: readonly string[], judge: Judge): string | undefined {
  switch (work.work) {
    case 'timers':
      return fire(step, work, keys) ? undefined : lastOf(keys)
    case 'missing':
      return countMissing(step, work, keys) ? undefined : lastOf(keys)
    case 'missed':
      return takeMissed(step, work, keys) ? undefined : lastOf(keys)
    case 'tickets':
      return useTickets(step, work, keys)
    case 'ring':
      return walk(step, work, keys) ? undefined : lastOf(keys)
    case 'ring-end':
      return endWalk(step, work, keys) ? undefined : lastOf(keys)
    case 'subject':
      return judge(work, work.cluster, work.uid) ? undefined : ''
    case 'verify':
      if (verifyMore(step, work) === 'done') return undefined
      parkLane(step)
      return ''
    case 'dependents':
    case 'waits':
    case 'verdicts':
      return judgeEach(step, work, keys, judge)
    case 'suspects':
    case 'forget':
    case 'relist':
    case 'rulings':
      for (const key of keys) lookAt(step, work, key)
      return keys.length < KEYS_PER_PAGE ? undefined : lastOf(keys)
  }
}

function lastOf(keys: readonly string[]): string {
  return keys.at(-1) ?? ''
}

/** Until the record may judge no more: then the work continues after the last object judged. */
function judgeEach(
  step: Step,
  work: Work,
  keys: readonly string[],
  judge: Judge,
): string | undefined {
  let cursor = work.cursor
  for (const key of keys) {
    const cluster = work.cluster || decodeURIComponent(key.split('/')[1] ?? '')
    const uid = lastPart(key)
    if (work.work === 'waits' || work.work === 'verdicts') relink(step, cluster, uid)
    // A node that still has to wait when it is judged waits anew, also where this record has judged it before.
    if (work.work === 'waits') {
      step.graph.remove(key)
      step.judged.delete(objectKey(cluster, uid))
    }
    if (isJudgedBy(step, work, cluster, uid) && !judge(work, cluster, uid)) {
      if (work.work === 'waits') step.graph.put(key, { type: 'Wait' })
      return cursor
    }
    cursor = key
  }
  return keys.length < KEYS_PER_PAGE ? undefined : cursor
}

/** An object without owners that is not being deleted has no verdict. */
function isJudgedBy({ graph }: Step, { work }: Work, cluster: ClusterId, uid: Uid): boolean {
  if (work !== 'verdicts') return true
  const node = nodeOf(graph, cluster, uid)
  if (node === undefined) return false
  return node.object.ownerReferences.length > 0 || node.object.deletedAt !== null
}

function prefixOf(work: Work): string {
  switch (work.work) {
    case 'dependents':
      return edgesPrefix(work.cluster, work.uid, work.place)
    case 'waits':
      return waitsPrefix(work.cluster, kindOfWork(work))
    case 'missing':
    case 'missed':
    case 'suspects':
    case 'forget':
      return seenPrefix(work.cluster, kindOfWork(work))
    case 'timers':
      return duePrefix(work.cluster)
    case 'relist':
      return kindsPrefix(work.cluster)
    case 'rulings':
      return heldPrefix(work.cluster)
    case 'tickets':
      return ticketsPrefix(work.cluster, work.uid)
    case 'ring':
      return invariant(false, 'a walk has no one prefix') as never
    case 'ring-end':
      return ringPrefix(work.cluster, work.uid)
    case 'subject':
    case 'verify':
    case 'verdicts':
      return work.cluster === '' ? ALL_NODES_PREFIX : nodesPrefix(work.cluster)
  }
}

/** Timers that fired are deleted; beginning after them saves the store from scanning its own delete markers. */
function startOf(graph: StateReader, work: Work): string {
  if (work.work !== 'timers') return ''
  const nextDue = clusterOf(graph, work.cluster)?.nextDue ?? 0
  return duePrefix(work.cluster) + Math.trunc(nextDue).toString().padStart(15, '0')
}

function lookAt(step: Step, work: Work, key: string): void {
  const { cluster } = work
  const last = lastPart(key)
  switch (work.work) {
    case 'suspects': {
      const node = nodeOf(step.graph, cluster, last)
      if (node !== undefined) suspectOfGoneKind(step, cluster, node)
      return
    }
    case 'forget': {
      const node = nodeOf(step.graph, cluster, last)
      const kind = kindOf(step.graph, cluster, kindOfWork(work))
      // It may be watched again by now, and then it is listed.
      if (node !== undefined && kind?.phase === 'unmonitored')
        forget(step, cluster, node, 'its kind is not watched any more')
      return
    }
    case 'relist': {
      const groupKind = groupKindIn(key)
      const phase = kindOf(step.graph, cluster, groupKind)?.phase
      const isListed = phase === 'synced' || phase === 'unsynced'
      if (isListed) askRelist(step, cluster, groupKind, 'a record was unreadable')
      return
    }
    default:
      return ruleOn(step, cluster, last)
  }
}

/** The kind of an owner is known now, or its scope is another: so may be where the reference points. */
function relink(step: Step, cluster: ClusterId, uid: Uid): void {
  const node = nodeOf(step.graph, cluster, uid)
  if (node === undefined) return
  const places = placesOf(step, cluster, node.object)
  if (places.every((place, index) => isSameEdge(node.places[index], place))) return
  putNode(step, cluster, node, { ...node, places })
}
