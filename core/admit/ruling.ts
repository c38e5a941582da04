/**
 * What a ruling on a plan changes of each object that it meant.
 *
 * What must stay true: it is remembered with what it was said of, so it ends when that changes (hold.ts).
 *
 * Not here: whether the plan is what was shown (approval.ts).
 */
import { nodeTimer } from '../graph/agenda.ts'
import { nodeOf } from '../graph/graph.ts'
import { heldKey, rulingKey } from '../graph/key.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { markDirty } from '../graph/outcome.ts'
import type { ClusterId, Uid } from '../model/object.ts'

/** Of one that was held when the plan was ruled on. */
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
