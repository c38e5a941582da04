/**
 * One step of the agenda: a page of keys, each processed once.
 *
 * What must stay true: a step does bounded work and moves its cursor on, so work that fans out
 * ends; what it does to each key depends on the state at that time, so a key that was added or
 * removed since does no harm.
 *
 * Not here: reading the page, which takes time (services/graph/fold/task.ts); objects that a relist
 * misses (missing.ts); timers (timer.ts).
 */
import { ruleOn } from './admit/approval.ts'
import { useTickets } from './admit/budget.ts'
import { callByRules } from './admit/rule-call.ts'
import type { PageRequest } from './graph/agenda.ts'
import { firstWork, parkLane, replaceFirst } from './graph/agenda.ts'
import type { ClusterFacts } from './graph/facts.ts'
import {
  ALL_NODES_PREFIX,
  clusterIn,
  duePrefix,
  groupKindIn,
  heldPrefix,
  kindsPrefix,
  nodesPrefix,
  ringPrefix,
  ruleOwnersPrefix,
  seenPrefix,
  ticketsPrefix,
  waitsPrefix,
} from './graph/key.ts'
import { isMonitored } from './graph/kind-status.ts'
import { isSameEdge, placesOf, putNode } from './graph/link.ts'
import type { RecordStep, Step } from './graph/outcome.ts'
import { askRelist } from './graph/outcome.ts'
import { pageOfDependents, pageOfTurns, subjectOf } from './graph/row.ts'
import { pageOfKept, takeKept } from './graph/rule/keep-index.ts'
import { verifyMore } from './issue/verification.ts'
import { endWalk, ringPage, walk } from './judge/ring.ts'
import { KEYS_PER_PAGE } from './model/constant.ts'
import { invariant } from './model/invariant.ts'
import type { Uid } from './model/object.ts'
import { objectKey } from './model/partition.ts'
import { rulesOfKind } from './model/rule/rule.ts'
import type { KeyTodo, Todo, Work } from './model/state.ts'
import { forget } from './observe/departure.ts'
import { countMissing, takeMissed } from './observe/missing.ts'
import { notePolicy } from './observe/policy-object.ts'
import { suspectOfGoneKind } from './observe/sighting.ts'
import { followUses } from './observe/use-watch.ts'
import { fire } from './timer.ts'

/** The page that the first work on the agenda needs next; undefined when there is none. */
export function nextPage(record: RecordStep): PageRequest | undefined {
  const work = firstWork(record)
  return work && pageFor(record.in(work.cluster).graph, work)
}

function pageFor(facts: ClusterFacts, { cluster, cursor, todo }: Work): PageRequest {
  const within = (prefix: string, after = cursor): PageRequest => {
    return { prefix, after, limit: KEYS_PER_PAGE, countKey: null }
  }
  switch (todo.type) {
    case 'subject':
    case 'verify':
      // One subject is no page: it is known.
      return { ...within(nodesPrefix(cluster)), limit: 0 }
    case 'dependents': {
      return { ...within(''), ...pageOfDependents(cluster, todo) }
    }
    case 'waits':
      return within(waitsPrefix(cluster, todo.kind))
    case 'missing':
    case 'missed':
    case 'suspects':
    case 'forget':
      return within(seenPrefix(cluster, todo.kind))
    case 'timers':
      return within(duePrefix(cluster), cursor === '' ? firstDue(facts) : cursor)
    case 'verdicts':
      return within(cluster === '' ? ALL_NODES_PREFIX : nodesPrefix(cluster))
    case 'relist':
      return within(kindsPrefix(cluster))
    case 'ruled':
    case 'policies':
    case 'uses':
      return within(seenPrefix(cluster, todo.kind))
    case 'rule-end':
      return within(ruleOwnersPrefix(cluster, todo.rule))
    case 'rulings':
      return within(heldPrefix(cluster))
    case 'tickets':
      return within(ticketsPrefix(cluster, todo.budget))
    case 'turns':
      return pageOfTurns(facts, cursor)
    case 'ring':
      return { ...ringPage(facts, todo.root), limit: KEYS_PER_PAGE }
    case 'ring-end':
      return within(ringPrefix(cluster, todo.root))
    case 'keep':
      return { ...within(''), ...pageOfKept(facts, todo, cursor) }
  }
}

/**
 * Timers that fired are deleted; beginning after them saves the store from scanning its own delete
 * markers.
 */
function firstDue({ cluster, state }: ClusterFacts): string {
  return (
    duePrefix(cluster) +
    Math.trunc(state?.nextDue ?? 0)
      .toString()
      .padStart(15, '0')
  )
}

/**
 * Takes one step with the keys of `nextPage`, fewer than its limit when there are no more. `judge`:
 * what judges one object, false when this record may judge no more. Returns whether another lane
 * may continue: not between two pages of facts, or an object would be judged while half of them are
 * written.
 */
export function takeStep(record: RecordStep, keys: readonly string[], judge: Judge): boolean {
  const work = firstWork(record)
  invariant(work !== undefined, 'a step of no work')
  const step = record.in(work.cluster)
  const cursor = take(step, work, keys, judge)
  // It may have written down what it has counted.
  replaceFirst(step, cursor === undefined ? null : { ...(firstWork(record) ?? work), cursor })
  return cursor === undefined || !WRITES_FACTS.has(work.todo.type)
}

const WRITES_FACTS: ReadonlySet<Todo['type']> = new Set(['missed', 'forget', 'suspects'])

export type Judge = (step: Step, todo: Todo, uid: Uid) => boolean

/** The key after which the work continues; undefined when this was its last step. */
function take(step: Step, work: Work, keys: readonly string[], judge: Judge): string | undefined {
  const { todo } = work
  switch (todo.type) {
    case 'subject':
      return judge(step, todo, todo.uid) ? undefined : ''
    case 'verify':
      if (verifyMore(step, work, todo.uid) === 'done') return undefined
      parkLane(step)
      return ''
    case 'dependents':
    case 'waits':
    case 'verdicts':
    case 'ruled':
      return judgeEach(step, work, keys, judge)
    case 'timers':
      return fire(step, keys) ? undefined : lastOf(keys)
    case 'missing':
      return countMissing(step, work, todo, keys) ? undefined : lastOf(keys)
    case 'missed':
      return takeMissed(step, todo, keys) ? undefined : lastOf(keys)
    case 'tickets':
      return useTickets(step, work, todo, keys)
    case 'turns':
      return callByRules(step, keys)
    case 'ring':
      return walk(step, work, todo.root, keys) ? undefined : lastOf(keys)
    case 'ring-end':
      return endWalk(step, todo, keys) ? undefined : lastOf(keys)
    case 'keep':
      return takeKept(step, todo, keys) ? undefined : lastOf(keys)
    case 'uses':
      return followUses(step, todo, keys) ? undefined : lastOf(keys)
    case 'suspects':
    case 'forget':
    case 'relist':
    case 'rulings':
    case 'policies':
    case 'rule-end':
      for (const key of keys) lookAt(step, todo, key)
      return keys.length < KEYS_PER_PAGE ? undefined : lastOf(keys)
  }
}

function lastOf(keys: readonly string[]): string {
  return keys.at(-1) ?? ''
}

/** Until the record may judge no more: then the work continues after the last object judged. */
function judgeEach(
  { record }: Step,
  work: Work,
  keys: readonly string[],
  judge: Judge,
): string | undefined {
  const { todo } = work
  let { cursor } = work
  for (const key of keys) {
    const step = record.in(work.cluster || clusterIn(key))
    const uid = subjectOf(key)
    if (todo.type === 'waits' || todo.type === 'verdicts') relink(step, uid)
    // A node that still has to wait when it is judged waits anew, also where this record has judged
    // it before.
    if (todo.type === 'waits') {
      step.graph.setWaiting(todo.kind, uid, false)
      record.judged.delete(objectKey(step.cluster, uid))
    }
    if (isJudgedBy(step.graph, todo, uid) && !judge(step, todo, uid)) {
      if (todo.type === 'waits') step.graph.setWaiting(todo.kind, uid, true)
      return cursor
    }
    cursor = key
  }
  return keys.length < KEYS_PER_PAGE ? undefined : cursor
}

/** An object without owners that is not being deleted has a verdict by rules only. */
function isJudgedBy(facts: ClusterFacts, todo: Todo, uid: Uid): boolean {
  if (todo.type !== 'verdicts' && todo.type !== 'ruled') return true
  const node = facts.node(uid)
  if (node === undefined) return false
  if (todo.type === 'ruled' && todo.namespace !== '' && todo.namespace !== node.object.namespace) {
    return false
  }
  const { object, verdict } = node
  if (object.ownerReferences.length > 0 || object.deletedAt !== null) return true
  if (facts.keeping !== undefined && facts.keeps(uid) !== undefined) return true
  return verdict !== null || rulesOfKind(facts.rules, object) !== null
}

function lookAt(step: Step, todo: KeyTodo, key: string): void {
  switch (todo.type) {
    case 'suspects': {
      const node = step.graph.node(subjectOf(key))
      if (node !== undefined) suspectOfGoneKind(step, node)
      return
    }
    case 'forget': {
      const node = step.graph.node(subjectOf(key))
      const kind = step.graph.kind(todo.kind)
      // It may be watched again by now, and then it is listed.
      if (node !== undefined && kind?.phase === 'unmonitored')
        forget(step, node, 'its kind is not watched any more')
      return
    }
    case 'relist': {
      const groupKind = groupKindIn(key)
      if (isMonitored(step.graph.kind(groupKind)))
        askRelist(step, groupKind, 'a record was unreadable')
      return
    }
    case 'rulings':
      return ruleOn(step, subjectOf(key))
    case 'policies': {
      const node = step.graph.node(subjectOf(key))
      if (node !== undefined) notePolicy(step, node.object, node.object)
      return
    }
    case 'rule-end':
      // One of that name that is there again remembers controllers, too.
      if (step.graph.rules.every(({ name }) => name !== todo.rule)) step.graph.removeRow(key)
      return
  }
}

/**
 * The kind of an owner is known now, or its scope is another: so may be where the reference points.
 */
function relink(step: Step, uid: Uid): void {
  const node = step.graph.node(uid)
  if (node === undefined) return
  const places = placesOf(step, node.object)
  if (places.every((place, index) => isSameEdge(node.places[index], place))) return
  putNode(step, node, { ...node, places })
}
