/**
 * Deletions that do not end: how many objects still exist long after their deletion was asked for,
 * and what the first of them waits for.
 *
 * What must stay true: counted by the tally, so no question scans; only for the one that is named
 * objects are read, a bounded number. Time is the cluster's as far as its watcher has seen it: of a
 * cluster that is not seen nothing gets late.
 *
 * Not here: how far a deletion has come (cascade.ts), the list of what is held by finalizers
 * (stuck-list.ts).
 */
import { type Node, nodePhase } from '../../../../core/model/node.ts'
import { foreignFinalizers } from '../../../../core/model/object.ts'
import type { ClusterState } from '../../../../core/model/state.ts'
import type { ClusterList } from '../../api/answer-schema.ts'
import type { Unshaped } from '../../api/document.ts'
import { OVERDUE_MS } from '../../config.ts'
import { type DeletingCount, MINUTE_MS } from '../../fold/deleting-count.ts'
import type { View } from '../view/view.ts'
import { obstacleOf } from './obstacle.ts'

type Status = NonNullable<Unshaped<ClusterList>['clusters'][number]['status']>
export type Overdue = NonNullable<Status['overdue']>

/** Objects that are read to find what one waits for, and owners below each other. */
const MOST_READ = 500
const MOST_LEVELS = 20

export async function overdueOf(view: View, { minutes, named }: DeletingCount): Promise<Overdue> {
  const { state } = view.facts
  // In whole minutes, as they are counted.
  const end = Math.floor(stuckBefore(state, OVERDUE_MS) / MINUTE_MS) * MINUTE_MS
  let objects = 0
  let since: number | null = null
  for (const [minute, count] of minutes) {
    if (minute >= end) continue
    objects += count
    since = Math.min(since ?? minute, minute)
  }
  const first = named.find((each) => each.since < end)
  const node = first && view.node(first.uid)
  if (first === undefined || node === undefined) return { objects, since, example: null }
  const { group, kind, namespace, name, uid } = node.object
  const phase = nodePhase(node)
  const because = await waitsFor(view, node)
  return {
    objects,
    since: first.since,
    example: { group, kind, namespace, name, uid, phase, because },
  }
}

/**
 * By its server's clock: what was to be deleted before that is still there so long afterwards. The
 * clock of the server may be ahead of the time of the log.
 */
export function stuckBefore(state: ClusterState | undefined, ms: number): number {
  return (state?.now ?? 0) + (state?.clockLeadMs ?? 0) - ms
}

/** What follows "Deployment/web ". */
export async function waitsFor(view: View, node: Node): Promise<string> {
  const read = { left: MOST_READ }
  let below = node
  for (let level = 0; level < MOST_LEVELS; level++) {
    const of = below === node ? '' : ` of ${nameOf(below)}`
    const finalizers = foreignFinalizers(below.object.finalizers)
    if (finalizers.length > 0) {
      const what = finalizers.length === 1 ? 'the finalizer' : 'the finalizers'
      return `waits for ${what} ${finalizers.join(', ')}${of}`
    }
    if (nodePhase(below) === 'deleting') return endless(below, below === node)
    const next = await dependentOf(view, below, read)
    if (next === undefined) break
    if (next.object.deletedAt === null) {
      return `waits for its dependent ${nameOf(next)}, which is not being deleted`
    }
    below = next
  }
  const because = obstacleOf(view, below)?.reason ?? below.verdict?.because ?? ''
  const more = because === '' ? '' : `: ${because}`
  const [finalizer = ''] = below.object.finalizers
  const its = `the finalizer ${finalizer}${below === node ? '' : ` of ${nameOf(below)}`}`
  return below.verdict?.type === 'wait'
    ? `waits for dependents${below === node ? '' : ` of ${nameOf(below)}`}${more}`
    : `waits for ${its}, which a collector removes${more}`
}

/** A kubelet, or the namespace controller, has not ended it. */
function endless(node: Node, isItself: boolean): string {
  return isItself
    ? 'has no finalizer left'
    : `waits for ${nameOf(node)}, which has no finalizer left`
}

/** The one that keeps an owner: one with another's finalizer before others, living ones last. */
async function dependentOf(
  view: View,
  owner: Node,
  read: { left: number },
): Promise<Node | undefined> {
  const of = view.identityOf(owner.object)
  const isOrphaning = nodePhase(owner) === 'orphaning'
  let found: Node | undefined
  for await (const uid of view.dependents(of)) {
    await view.turns.take()
    if (--read.left < 0) break
    const node = view.node(uid)
    if (node === undefined) continue
    const reference = view.referenceTo(of, node.object)
    if (reference === undefined) continue
    if (!isOrphaning && reference.blockOwnerDeletion !== true) continue
    if (rankOf(node) > rankOf(found)) found = node
    if (rankOf(found) === 3) break
  }
  return found
}

function rankOf(node: Node | undefined): number {
  if (node === undefined) return 0
  if (node.object.deletedAt === null) return 1
  return foreignFinalizers(node.object.finalizers).length > 0 ? 3 : 2
}

function nameOf({ object: { kind, name } }: Node): string {
  return `${kind}/${name}`
}
