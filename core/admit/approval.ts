/**
 * Rulings on a bulk deletion: a person approves or rejects it.
 *
 * What must stay true: a ruling covers exactly the shown set. Where the set is another one nothing is done; what came later, or has changed, is not meant; and nothing
 * is approved for longer than an hour. If two have to approve, both have approved the same set within an hour, and a cluster authenticated both.
 *
 * Not here: who may approve (services/graph).
 */
import { enqueue, nodeTimer } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { clusterOf, nodeOf, policyOf } from '../graph/graph.ts'
import { planOf } from '../graph/held-plan.ts'
import { approvalKey, heldKey, rulingKey } from '../graph/key.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { drop, markDirty } from '../graph/outcome.ts'
import { APPROVAL_MS } from '../model/constant.ts'
import type { Directive } from '../model/event.ts'
import type { SetHash } from '../model/hash.ts'
import { isSameSet } from '../model/hash.ts'
import type { Ruling } from '../model/node.ts'
import type { ClusterId, Uid } from '../model/object.ts'
import type { FirstApproval } from '../model/state.ts'

export function rule(step: Step, event: Directive, verdict: Ruling['verdict']): void {
  const { cluster, who, why } = event
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return drop(step, 'its watcher has not started')
  const set = planOf(step.graph, cluster)
  if (!isSameSet(set, event.listed)) return drop(step, 'what is held is not what the plan showed')
  if (set.count === 0) return
  const until = Math.max(state.now, step.at.timestamp) + APPROVAL_MS
  if (verdict === 'rejected') forgetFirst(step, cluster)
  const said = verdict === 'approved' ? agreed(step, event, set, until) : { who, why }
  if (said === undefined) return
  const { position } = step.at
  step.graph.put(rulingKey(cluster), { type: 'PlanRuling', verdict, ...said, until, position })
  enqueue(step, { cluster, todo: { type: 'rulings' } })
}

/** Who approved it, once there are enough approvals; undefined while another one is needed. */
function agreed(
  step: Step,
  { cluster, who, isProven, why }: Directive,
  set: SetHash,
  until: number,
): Pick<Ruling, 'who' | 'why'> | undefined {
  if (policyOf(step.graph).policy.approvals < 2) return { who, why }
  if (!isProven) {
    drop(step, 'two people have to approve it, and nobody has proven who this is')
    return undefined
  }
  const first = firstApprovalOf(step.graph, cluster)
  const isTold =
    first !== undefined && isSameSet(first.set, set) && first.until > until - APPROVAL_MS
  if (isTold && first.who !== who) {
    forgetFirst(step, cluster)
    return { who: `${first.who} and ${who}`, why: `${first.why}; ${why}` }
  }
  step.graph.put(approvalKey(cluster), { type: 'FirstApproval', set, who, why, until })
  return undefined
}

/** The approval that waits for a second one, whichever set it was given for. */
export function firstApprovalOf(graph: StateReader, cluster: ClusterId): FirstApproval | undefined {
  const first = graph.get(approvalKey(cluster))
  return first?.type === 'FirstApproval' ? first : undefined
}

function forgetFirst(step: Step, cluster: ClusterId): void {
  if (firstApprovalOf(step.graph, cluster) !== undefined) step.graph.remove(approvalKey(cluster))
}

/** Rules on an object that was held when the plan was ruled on. */
export function ruleOn(step: Step, cluster: ClusterId, uid: Uid): void {
  const ruled = step.graph.get(rulingKey(cluster))
  const held = step.graph.get(heldKey(cluster, uid))
  const node = nodeOf(step.graph, cluster, uid)
  if (ruled?.type !== 'PlanRuling' || held?.type !== 'HeldNode' || node?.hold == null) return
  if (node.hold.by !== 'approval' || held.position >= ruled.position) return
  const { verdict, who, why, until } = ruled
  const ruling = { verdict, who, why, until, hash: node.hash, what: node.hold.what }
  putNode(step, cluster, node, { ...node, hold: { ...node.hold, ruling } })
  if (verdict === 'approved') nodeTimer(step, cluster, until, uid)
  markDirty(step, cluster, uid)
}
