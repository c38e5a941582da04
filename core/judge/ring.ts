/**
 * Ownership cycles: waiting owners that wait for each other, found by a search over what each waits
 * for, a page of dependents at a time.
 *
 * What must stay true: the search ends at the first object that cannot be in a cycle, so only a
 * cycle that nothing else blocks is released; it changes the order in which waiting owners are
 * deleted, never whether. This is Tarjan's algorithm, and the first component that it completes
 * leads nowhere else. Any change in what an owner waits for begins a search there, so a cycle that
 * closes later is found then.
 *
 * Not here: when an owner may be deleted for other reasons (completion.ts).
 */
import type { PageRequest } from '../graph/agenda.ts'
import { beginWalk, enqueue } from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import { isBlocking, putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import { pageOfDependents, placeText, subjectOf } from '../graph/row.ts'
import { KEYS_PER_PAGE } from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'
import type { Uid } from '../model/object.ts'
import type { Ring, RingEndTodo, RingVisit, Work } from '../model/state.ts'
import { mayBeRing } from './completion.ts'

/** Where the search continues: the dependents of its current object, none if that is no node. */
export function ringPage(
  facts: ClusterFacts,
  root: Uid,
): Pick<PageRequest, 'prefix' | 'after' | 'countKey'> {
  const { current } = ringOf(facts, root)
  const node = facts.node(current)
  const place = node === undefined ? '' : placeText(node.object)
  const after = facts.ringVisit(root, current)?.cursor ?? ''
  return { ...pageOfDependents(facts.cluster, { owner: current, place }), after }
}

/**
 * One step of the search: on to a dependent not visited yet, or back. True when the search is over.
 */
export function walk(step: Step, work: Work, root: Uid, keys: readonly string[]): boolean {
  const ring = ringOf(step.graph, root)
  const visit = step.graph.ringVisit(root, ring.current)
  invariant(visit !== undefined, 'a walk stands where it has not been')
  const node = step.graph.node(ring.current)
  // What it waits for has changed since, or it was deleted: the owners that still wait are notified
  // of that.
  if (node === undefined || !mayBeRing(step.graph, node)) {
    return end(step, work, root, null)
  }
  let { low } = visit
  for (const key of keys) {
    const uid = subjectOf(key)
    if (!isBlocking(step.graph, key)) continue
    const known = step.graph.ringVisit(root, uid)
    if (known === undefined) {
      put(step, root, ring.current, { ...visit, low, cursor: key })
      return goTo(step, work, root, { ring, uid })
    }
    low = Math.min(low, known.index)
  }
  const cursor = keys[keys.length - 1] ?? visit.cursor
  put(step, root, ring.current, { ...visit, low, cursor })
  if (keys.length === KEYS_PER_PAGE) return false
  if (low === visit.index) return end(step, work, root, visit.index)
  return goBack(step, root, ring, { ...visit, low })
}

function goTo(
  step: Step,
  work: Work,
  root: Uid,
  { ring, uid }: { readonly ring: Ring; readonly uid: Uid },
): boolean {
  const node = step.graph.node(uid)
  if (node === undefined || !mayBeRing(step.graph, node)) {
    return end(step, work, root, null)
  }
  const index = ring.visited
  const visit: RingVisit = { type: 'RingVisit', index, low: index, from: ring.current, cursor: '' }
  put(step, root, uid, visit)
  step.graph.setRing(root, { ...ring, current: uid, visited: index + 1 })
  return false
}

function goBack(step: Step, root: Uid, ring: Ring, { from, low }: RingVisit): boolean {
  const before = step.graph.ringVisit(root, from)
  invariant(before !== undefined, 'a walk came from nowhere')
  put(step, root, from, { ...before, low: Math.min(before.low, low) })
  step.graph.setRing(root, { ...ring, current: from })
  return false
}

/** The search is over; those visited from `first` on are a cycle, none where that is null. */
function end(step: Step, { namespace }: Work, root: Uid, first: number | null): boolean {
  enqueue(step, { namespace, todo: { type: 'ring-end', root, first } })
  return true
}

/** Removes the visits, and releases the members of the cycle. */
export function endWalk(
  step: Step,
  { root, first }: RingEndTodo,
  keys: readonly string[],
): boolean {
  for (const key of keys) {
    const visit = step.graph.ringVisitAt(key)
    step.graph.removeRow(key)
    const isMember = first !== null && visit !== undefined && visit.index >= first
    if (isMember) letGo(step, subjectOf(key))
  }
  if (keys.length === KEYS_PER_PAGE) return false
  const { again } = ringOf(step.graph, root)
  step.graph.setRing(root, null)
  const node = step.graph.node(root)
  const isLeft = node !== undefined && !node.ringed && mayBeRing(step.graph, node)
  if (again && isLeft) beginWalk(step, root)
  return true
}

function letGo(step: Step, uid: Uid): void {
  const node = step.graph.node(uid)
  if (node === undefined || !mayBeRing(step.graph, node)) return
  putNode(step, node, { ...node, ringed: true })
  markDirty(step, uid)
}

function put(step: Step, root: Uid, uid: Uid, visit: RingVisit): void {
  step.graph.setRingVisit(root, uid, visit)
}

function ringOf(facts: ClusterFacts, root: Uid): Ring {
  const ring = facts.ring(root)
  invariant(ring !== undefined, 'a walk that nobody began')
  return ring
}
