/**
 * One step of the agenda: a page of keys, each looked at once.
 *
 * What must stay true: a step does bounded work and moves its cursor on, so what fans out ends; what it does to each key rests on the
 * state as it is then, so a key that came or went since the work was put there does no harm.
 *
 * Not here: reading the page, which takes time (services/graph/task.ts).
 */
import type { PageRequest } from './agenda.ts'
import {
  enqueue,
  judgeDependents,
  judgeWaiters,
  memoryMs,
  nodeTimer,
  ownerTimer,
} from './agenda.ts'
import { budgetDue, useTickets } from './budget.ts'
import { isMass } from './burst.ts'
import {
  BACKOFF_LAST_MS,
  backoffMs,
  CONFIRM_MS,
  FORGET_AGAIN_MS,
  KEYS_PER_PAGE,
} from './constant.ts'
import { depart, forget, proofOf, wasHere } from './departure.ts'
import type { Graph, StateReader } from './graph.ts'
import { agendaOf, clusterOf, isNamed, kindOf, nodeOf, ownerOf, seenOf } from './graph.ts'
import { invariant } from './invariant.ts'
import type { Timer } from './key.ts'
import {
  AGENDA_KEY,
  ALL_NODES_PREFIX,
  clusterKey,
  countKeyOfEdges,
  duePrefix,
  edgesPrefix,
  groupKindIn,
  heldPrefix,
  kindsPrefix,
  lastPart,
  nodeKey,
  nodesPrefix,
  ownerKey,
  ringPrefix,
  seenPrefix,
  ticketsPrefix,
  timeOfDueKey,
  timerOf,
  waitsPrefix,
  workKey,
} from './key.ts'
import { placesOf, putNode } from './link.ts'
import { endingDue } from './namespace.ts'
import { goesByUs, type Node } from './node.ts'
import type { ClusterId, GroupKind, Uid } from './object.ts'
import { compareVersions } from './object.ts'
import type { Step } from './outcome.ts'
import { askRelist, markDirty } from './outcome.ts'
import { objectKey } from './partition.ts'
import type { BudgetClass } from './policy.ts'
import { endWalk, ringPage, walk } from './ring.ts'
import { ruleOn } from './ruling.ts'
import { suspectOfGoneKind } from './sighting.ts'
import type { ClusterState, Work } from './state.ts'
import { isSynced } from './sync.ts'
import { verifyOwner } from './verification.ts'

/** What the first work on the agenda wants to look at; undefined when there is none. */
export function nextPage(graph: StateReader): PageRequest | undefined {
  const agenda = agendaOf(graph)
  if (agenda.head === agenda.tail) return undefined
  const work = workAt(graph, agenda.head)
  if (work.work === 'ring') return { ...ringPage(graph, work), limit: KEYS_PER_PAGE }
  const prefix = prefixOf(work)
  return {
    prefix,
    after: work.cursor === '' ? startOf(graph, work) : work.cursor,
    // One subject is no page: it is known.
    limit: work.work === 'subject' ? 0 : KEYS_PER_PAGE,
    countKey: work.work === 'dependents' ? countKeyOfEdges(prefix) : null,
  }
}

export function hasWork(graph: StateReader): boolean {
  const agenda = agendaOf(graph)
  return agenda.head !== agenda.tail
}

/** Takes one step with the keys of `nextPage`, fewer than its limit when there are no more. `judge`: what judges one object, false when this record may judge no more. */
export function takeStep(step: Step, keys: readonly string[], judge: Judge): void {
  const agenda = agendaOf(step.graph)
  const key = workKey(agenda.head)
  const cursor = take(step, workAt(step.graph, agenda.head), keys, judge)
  if (cursor === undefined) {
    step.graph.remove(key)
    // What the step enqueued moved the tail.
    step.graph.put(AGENDA_KEY, { ...agendaOf(step.graph), head: agenda.head + 1 })
  } else step.graph.put(key, { ...workAt(step.graph, agenda.head), cursor })
}

export type Judge = (cluster: ClusterId, uid: Uid) => boolean

/** The key behind which the work goes on; undefined when this was its last step. */
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
      return judge(work.cluster, work.uid) ? undefined : ''
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

/** Until the record may judge no more: then it goes on behind the last one judged. */
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
    // Whoever still has to wait when it is judged waits anew.
    if (work.work === 'waits') step.graph.remove(key)
    if (isJudgedBy(step, work, cluster, uid) && !judge(cluster, uid)) {
      if (work.work === 'waits') step.graph.put(key, { type: 'Wait' })
      return cursor
    }
    cursor = key
  }
  return keys.length < KEYS_PER_PAGE ? undefined : cursor
}

/** What has no owner and is not being deleted has no verdict. */
function isJudgedBy({ graph }: Step, { work }: Work, cluster: ClusterId, uid: Uid): boolean {
  if (work !== 'verdicts') return true
  const node = nodeOf(graph, cluster, uid)
  if (node === undefined) return false
  return node.object.ownerReferences.length > 0 || node.object.deletedAt !== null
}

function workAt(graph: StateReader, number: number): Work {
  const work = graph.get(workKey(number))
  invariant(work?.type === 'Work', 'the agenda has a hole')
  return work
}

function prefixOf(work: Work): string {
  switch (work.work) {
    case 'subject':
      return nodeKey(work.cluster, work.uid)
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
    case 'verdicts':
      return work.cluster === '' ? ALL_NODES_PREFIX : nodesPrefix(work.cluster)
  }
}

/** Timers that fired are deleted; beginning behind them spares the store from walking its own delete markers. */
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
      if (node !== undefined && kind?.phase === 'unmonitored') forget(step, cluster, node)
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
  if (places.every((place, index) => place === node.places[index])) return
  putNode(step, cluster, node, { ...node, places })
}

/**
 * Before anything that a relist misses goes it is counted: what we asked to be deleted is no part of a mass cause, however much of it went while no watch could
 * tell.
 */
function countMissing(step: Step, work: Work, keys: readonly string[]): boolean {
  let { ours, others } = work
  for (const key of keys) {
    const found = missingOf(step, work, lastPart(key))
    if (found === undefined) continue
    if (found.isOurs && !found.isOlderEpoch) ours++
    else others++
  }
  const counted = { ...work, ours, others }
  if (keys.length === KEYS_PER_PAGE) {
    step.graph.put(workKey(agendaOf(step.graph).head), counted)
    return false
  }
  const evidence = isMass(others, others + work.listed) ? 'E4' : 'E2'
  if (ours + others > 0) enqueue(step, { ...counted, work: 'missed', evidence, cursor: '' })
  else judgeWaiters(step, work.cluster, kindOfWork(work))
  return true
}

function takeMissed(step: Step, work: Work, keys: readonly string[]): boolean {
  for (const key of keys) miss(step, work, lastPart(key))
  if (keys.length === KEYS_PER_PAGE) return false
  judgeWaiters(step, work.cluster, kindOfWork(work))
  return true
}

function miss(step: Step, work: Work, uid: Uid): void {
  const found = missingOf(step, work, uid)
  if (found === undefined) return
  const { node, state, isOurs } = found
  const { cluster } = work
  const evidence = evidenceOf(work, found)
  const proof = { ...proofOf(step, state, cluster, kindOfWork(work), evidence), isOurs }
  depart(step, state, cluster, node.object, proof, 'it was missing from a complete relist')
}

function evidenceOf(
  { ours, others, listed, evidence }: Work,
  { node, isOurs, isOlderEpoch }: Missing,
): 'E2' | 'E4' {
  if (isOlderEpoch) return 'E4'
  if (isOurs) return 'E2'
  // It was counted as ours perhaps, and refused since.
  const isAsked = node.attempt?.verb === 'DeleteObject'
  return isAsked && isMass(ours + others, ours + others + listed) ? 'E4' : evidence
}

interface Missing {
  readonly node: Node
  readonly state: ClusterState
  readonly isOurs: boolean
  readonly isOlderEpoch: boolean
}

/** Undefined for what the relist listed, or cannot speak of. */
function missingOf(step: Step, work: Work, uid: Uid): Missing | undefined {
  const kind = kindOfWork(work)
  const state = clusterOf(step.graph, work.cluster)
  const seen = seenOf(step.graph, work.cluster, kind, uid)
  if (state === undefined || seen === undefined || seen.sync >= work.sync) return undefined
  // A relist of before the epoch says nothing of it: the next one looks for all that it has not told.
  if (work.clusterEpoch !== state.clusterEpoch) return undefined
  const isOlderEpoch = seen.clusterEpoch !== state.clusterEpoch
  if (isOlderEpoch && !isSynced(kindOf(step.graph, work.cluster, kind), state)) return undefined
  const order = compareVersions(seen.resourceVersion, work.resourceVersion)
  if (!isOlderEpoch && (order === undefined || order > 0)) return undefined
  const node = nodeOf(step.graph, work.cluster, uid)
  if (node === undefined) return undefined
  return { node, state, isOurs: goesByUs(node), isOlderEpoch }
}

/** Timers that are due; true when none is left that is. */
function fire(step: Step, work: Work, keys: readonly string[]): boolean {
  const state = clusterOf(step.graph, work.cluster)
  invariant(state !== undefined, 'timers of a cluster that is not known')
  const due = keys.filter((key) => timeOfDueKey(key) <= state.now)
  for (const key of due) {
    step.graph.remove(key)
    fireOne(step, work.cluster, timerOf(key))
  }
  if (due.length === KEYS_PER_PAGE) return false
  const next = keys[due.length]
  const current = clusterOf(step.graph, work.cluster) ?? state
  // A timer set while these fired has moved nextDue before what this page can tell.
  const nextDue = Math.min(
    next === undefined ? Number.MAX_SAFE_INTEGER : timeOfDueKey(next),
    current.nextDue > state.now ? current.nextDue : Number.MAX_SAFE_INTEGER,
    earliestSet(step.graph, work.cluster, state),
  )
  step.graph.put(clusterKey(work.cluster), { ...current, nextDue })
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
  switch (timer.what) {
    case 'node':
      return nodeDue(step, state, cluster, timer.uid)
    case 'owner':
      return ownerDue(step, state, cluster, timer)
    case 'kind': {
      const kind = timer.coordinates ?? { group: '', kind: '' }
      if (kindOf(step.graph, cluster, kind)?.phase === 'unsynced') judgeWaiters(step, cluster, kind)
      return
    }
    case 'budget':
      return budgetDue(step, cluster, timer.uid as BudgetClass)
    case 'ending':
      return endingDue(step, cluster, timer.uid)
  }
}

function nodeDue(step: Step, state: ClusterState, cluster: ClusterId, uid: Uid): void {
  const node = nodeOf(step.graph, cluster, uid)
  const attempt = node?.attempt
  if (node === undefined) return
  // An owner that waits for its dependents, and for more than their going.
  if (attempt == null) return markDirty(step, cluster, uid)
  // What was approved is approved no longer, whatever is under way.
  const { ruling = null } = node.hold ?? {}
  if (ruling !== null && ruling.until <= state.now) return markDirty(step, cluster, uid)
  if (attempt.state === 'would-go') return
  if (state.now < attempt.until) return nodeTimer(step, cluster, attempt.until, uid)
  if (attempt.state === 'confirming') {
    askRelist(step, cluster, node.object, `${node.object.name} was reaped and is not seen to go`)
    const until = state.now + CONFIRM_MS
    putNode(step, cluster, node, { ...node, attempt: { ...attempt, until } })
    return nodeTimer(step, cluster, until, uid)
  }
  markDirty(step, cluster, uid)
}

function ownerDue(step: Step, state: ClusterState, cluster: ClusterId, timer: Timer): void {
  const place = timer.coordinates
  if (place === null) return
  const owner = ownerOf(step.graph, cluster, timer.uid, place)
  if (owner === undefined) return
  const isReferenced = isNamed(step.graph, cluster, timer.uid, place)
  if (owner.attempt !== null) {
    if (state.now < owner.attempt.until) {
      return ownerTimer(step, cluster, owner.attempt.until, timer.uid, place)
    }
    if (isReferenced && owner.state !== 'found') {
      // Whoever still needs the answer asks again, in growing waits; when nobody has for a while, the question is forgotten.
      if (state.now < owner.attempt.until + BACKOFF_LAST_MS) {
        ownerTimer(step, cluster, state.now + BACKOFF_LAST_MS, timer.uid, place)
      } else if (owner.orphanedAt === null && !wasHere(owner)) {
        step.graph.remove(ownerKey(cluster, timer.uid, place))
      } else {
        step.graph.put(ownerKey(cluster, timer.uid, place), { ...owner, attempt: null })
        ownerTimer(step, cluster, state.now + BACKOFF_LAST_MS, timer.uid, place)
      }
      return judgeDependents(step, cluster, timer.uid, place)
    }
  }
  if (isReferenced && owner.state === 'found') {
    const version = kindOf(step.graph, cluster, place)?.versions[0] ?? ''
    const isAsked = verifyOwner(step, state, cluster, place, timer.uid, version)
    // Its kind cannot be asked now, or nothing may be: nobody but this timer looks at a found owner again.
    const again = state.now + backoffMs(owner.checks + 5)
    if (!isAsked) ownerTimer(step, cluster, again, timer.uid, place)
    return
  }
  const since = owner.proof?.at ?? owner.orphanedAt ?? 0
  const forgetAt = since + memoryMs(step.graph, owner)
  const isRemembered = owner.state === 'absent' || owner.orphanedAt !== null
  const isMeant = isReferenced && (isRemembered || wasHere(owner))
  if (isMeant || (isRemembered && state.now < forgetAt)) {
    const next = Math.max(forgetAt, state.now + FORGET_AGAIN_MS)
    return ownerTimer(step, cluster, next, timer.uid, place)
  }
  step.graph.remove(ownerKey(cluster, timer.uid, place))
  if (owner.state === 'absent' && nodeOf(step.graph, cluster, timer.uid) === undefined) {
    step.outcome.forgotten.push(objectKey(cluster, timer.uid))
  }
}

function kindOfWork(work: Work): GroupKind {
  invariant(work.kind !== null, `${work.work} without a kind`)
  return work.kind
}
