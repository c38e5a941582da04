/**
 * Rulings on a bulk deletion: a person approves or rejects it.
 *
 * What must stay true: a ruling covers exactly the shown set. Where the set is another one nothing
 * is done; what came later, or has changed, is not meant; and nothing is approved for longer than
 * an hour. If two have to approve, both have approved the same set within an hour, and a cluster
 * authenticated both.
 *
 * Not here: who may approve (services/graph).
 */
import { enqueue, nodeTimer } from '../graph/agenda.ts'
import { putNode } from '../graph/link.ts'
import type { Step } from '../graph/outcome.ts'
import { drop, markDirty } from '../graph/outcome.ts'
import { APPROVAL_MS } from '../model/constant.ts'
import type { Directive } from '../model/event.ts'
import type { SetHash } from '../model/hash.ts'
import { isSameSet } from '../model/hash.ts'
import type { Ruling } from '../model/node.ts'
import type { Uid } from '../model/object.ts'

export function rule(step: Step, event: Directive, verdict: Ruling['verdict']): void {
  const { who, why } = event
  const state = step.graph.state
  if (state === undefined) return drop(step, 'its watcher has not started')
  const set = step.graph.plan
  if (!isSameSet(set, event.listed)) return drop(step, 'what is held is not what the plan showed')
  if (set.count === 0) return
  const until = Math.max(state.now, step.at.timestamp) + APPROVAL_MS
  if (verdict === 'rejected') forgetFirst(step)
  const said = verdict === 'approved' ? agreed(step, event, set, until) : { who, why }
  if (said === undefined) return
  const { position } = step.at
  step.graph.setRuling({ type: 'PlanRuling', verdict, ...said, until, position })
  enqueue(step, { todo: { type: 'rulings' } })
}

/** Who approved it, once there are enough approvals; undefined while another one is needed. */
function agreed(
  step: Step,
  { who, isProven, why }: Directive,
  set: SetHash,
  until: number,
): Pick<Ruling, 'who' | 'why'> | undefined {
  if (step.graph.policy.policy.approvals < 2) return { who, why }
  if (!isProven) {
    drop(step, 'two people have to approve it, and nobody has proven who this is')
    return undefined
  }
  const first = step.graph.firstApproval
  const isTold =
    first !== undefined && isSameSet(first.set, set) && first.until > until - APPROVAL_MS
  if (isTold && first.who !== who) {
    forgetFirst(step)
    return { who: `${first.who} and ${who}`, why: `${first.why}; ${why}` }
  }
  step.graph.setFirstApproval({ type: 'FirstApproval', set, who, why, until })
  return undefined
}

function forgetFirst(step: Step): void {
  if (step.graph.firstApproval !== undefined) step.graph.setFirstApproval(null)
}

/** Rules on an object that was held when the plan was ruled on. */
export function ruleOn(step: Step, uid: Uid): void {
  const { ruling: ruled } = step.graph
  const held = step.graph.held(uid)
  const node = step.graph.node(uid)
  if (ruled === undefined || held === undefined || node?.hold == null) return
  if (node.hold.by !== 'approval' || held.position >= ruled.position) return
  const { verdict, who, why, until } = ruled
  const ruling = { verdict, who, why, until, hash: node.hash, what: node.hold.what }
  putNode(step, node, { ...node, hold: { ...node.hold, ruling } })
  if (verdict === 'approved') nodeTimer(step, until, uid)
  markDirty(step, uid)
}
