/**
 * Ownership cycles: waiting owners that wait for each other, found by a search over what each waits for, a page of dependents at a time.
 *
 * What must stay true: the search ends at the first object that cannot be in a cycle, so only a cycle that nothing else blocks is released; it
 * changes the order in which waiting owners are deleted, never whether. This is Tarjan's algorithm, and the first component that it completes leads
 * nowhere else. Any change in what an owner waits for begins a search there, so a cycle that closes later is found then.
 *
 * Not here: when an owner may be deleted for other reasons (completion.ts).
 */
import type { PageRequest } from '../graph/agenda.ts'
import { beginWalk, enqueue } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { nodeOf } from '../graph/graph.ts'
import {
  coordinatesPart,
  countKeyOfEdges,
  edgesPrefix,
  lastPart,
  ringKey,
  ringVisitKey,
} from '../graph/key.ts'
import { linksOf, putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import { KEYS_PER_PAGE } from '../model/constant.ts'
import { invariant } from '../model/invariant.ts'
import type { ClusterId, Uid } from '../model/object.ts'
import type { Ring, RingEndTodo, RingVisit, Work } from '../model/state.ts'
import { mayBeRing } from './completion.ts'

/** Where the search continues: the dependents of its current object. */
export function ringPage(
  graph: StateReader,
  cluster: ClusterId,
  root: Uid,
): Pick<PageRequest, 'prefix' | 'after' | 'countKey'> {
  const { current } = ringOf(graph, cluster, root)
  const place = placeOf(graph, cluster, current)
  const prefix = edgesPrefix(cluster, current, place)
  const after = visitOf(graph, cluster, root, current)?.cursor ?? ''
  return { prefix, after, countKey: countKeyOfEdges(prefix) }
}

/** For an object that is no longer a node: nowhere, and there the search ends. */
function placeOf(graph: StateReader, cluster: ClusterId, uid: Uid): string {
  const node = nodeOf(graph, cluster, uid)
  return node === undefined ? '' : coordinatesPart(node.object)
}

/** One step of the search: on to a dependent not visited yet, or back. True when the search is over. */
export function walk(step: Step, work: Work, root: Uid, keys: readonly string[]): boolean {
  const { cluster } = work
  const ring = ringOf(step.graph, cluster, root)
  const visit = visitOf(step.graph, cluster, root, ring.current)
  invariant(visit !== undefined, 'a walk stands where it has not been')
  const node = nodeOf(step.graph, cluster, ring.current)
  // What it waits for has changed since, or it was deleted: the owners that still wait are notified of that.
  if (node === undefined || !mayBeRing(step.graph, cluster, node)) {
    return end(step, work, root, null)
  }
  let { low } = visit
  for (const key of keys) {
    const uid = lastPart(key)
    if (!isBlocking(step.graph, cluster, uid, key)) continue
    const known = visitOf(step.graph, cluster, root, uid)
    if (known === undefined) {
      put(step, cluster, root, ring.current, { ...visit, low, cursor: key })
      return goTo(step, work, root, { ring, uid })
    }
    low = Math.min(low, known.index)
  }
  const cursor = keys[keys.length - 1] ?? visit.cursor
  put(step, cluster, root, ring.current, { ...visit, low, cursor })
  if (keys.length === KEYS_PER_PAGE) return false
  if (low === visit.index) return end(step, work, root, visit.index)
  return goBack(step, cluster, root, ring, { ...visit, low })
}

function isBlocking(graph: StateReader, cluster: ClusterId, dependent: Uid, edge: string): boolean {
  const node = nodeOf(graph, cluster, dependent) ?? null
  return linksOf(cluster, node).get(edge)?.blocking === true
}

function goTo(
  step: Step,
  work: Work,
  root: Uid,
  { ring, uid }: { readonly ring: Ring; readonly uid: Uid },
): boolean {
  const { cluster } = work
  const node = nodeOf(step.graph, cluster, uid)
  if (node === undefined || !mayBeRing(step.graph, cluster, node)) {
    return end(step, work, root, null)
  }
  const index = ring.visited
  const visit: RingVisit = { type: 'RingVisit', index, low: index, from: ring.current, cursor: '' }
  put(step, cluster, root, uid, visit)
  step.graph.put(ringKey(cluster, root), { ...ring, current: uid, visited: index + 1 })
  return false
}

function goBack(
  step: Step,
  cluster: ClusterId,
  root: Uid,
  ring: Ring,
  { from, low }: RingVisit,
): boolean {
  const before = visitOf(step.graph, cluster, root, from)
  invariant(before !== undefined, 'a walk came from nowhere')
  put(step, cluster, root, from, { ...before, low: Math.min(before.low, low) })
  step.graph.put(ringKey(cluster, root), { ...ring, current: from })
  return false
}

/** The search is over; those visited from `first` on are a cycle, none where that is null. */
function end(step: Step, { cluster, namespace }: Work, root: Uid, first: number | null): boolean {
  enqueue(step, { cluster, namespace, todo: { type: 'ring-end', root, first } })
  return true
}

/** Removes the visits, and releases the members of the cycle. */
export function endWalk(
  step: Step,
  cluster: ClusterId,
  { root, first }: RingEndTodo,
  keys: readonly string[],
): boolean {
  for (const key of keys) {
    const visit = step.graph.get(key)
    step.graph.remove(key)
    const isMember = first !== null && visit?.type === 'RingVisit' && visit.index >= first
    if (isMember) letGo(step, cluster, lastPart(key))
  }
  if (keys.length === KEYS_PER_PAGE) return false
  const { again } = ringOf(step.graph, cluster, root)
  step.graph.remove(ringKey(cluster, root))
  const node = nodeOf(step.graph, cluster, root)
  const isLeft = node !== undefined && !node.ringed && mayBeRing(step.graph, cluster, node)
  if (again && isLeft) beginWalk(step, cluster, root)
  return true
}

function letGo(step: Step, cluster: ClusterId, uid: Uid): void {
  const node = nodeOf(step.graph, cluster, uid)
  if (node === undefined || !mayBeRing(step.graph, cluster, node)) return
  putNode(step, cluster, node, { ...node, ringed: true })
  markDirty(step, cluster, uid)
}

function put(step: Step, cluster: ClusterId, root: Uid, uid: Uid, visit: RingVisit): void {
  step.graph.put(ringVisitKey(cluster, root, uid), visit)
}

function ringOf(graph: StateReader, cluster: ClusterId, root: Uid): Ring {
  const ring = graph.get(ringKey(cluster, root))
  invariant(ring?.type === 'Ring', 'a walk that nobody began')
  return ring
}

function visitOf(
  graph: StateReader,
  cluster: ClusterId,
  root: Uid,
  uid: Uid,
): RingVisit | undefined {
  const visit = graph.get(ringVisitKey(cluster, root, uid))
  return visit?.type === 'RingVisit' ? visit : undefined
}
