/**
 * What people say of a mass cause: it may go, or it may not.
 *
 * What must stay true: what is said holds for exactly what was shown. A partition whose set is another one does nothing; what came later, or has changed, is
 * not meant; and nothing is approved for longer than an hour.
 *
 * Not here: what it changes of each object (ruling.ts), who may say so (services/graph).
 */
import { enqueue } from './agenda.ts'
import { APPROVAL_MS } from './constant.ts'
import type { Directive } from './event.ts'
import { clusterOf } from './graph.ts'
import { EMPTY_SET, isSameSet } from './hash.ts'
import { planOf } from './held-plan.ts'
import { rulingKey } from './key.ts'
import type { Ruling } from './node.ts'
import type { Step } from './outcome.ts'
import { drop } from './outcome.ts'

export function rule(step: Step, event: Directive, verdict: Ruling['verdict']): void {
  const { cluster, who, why } = event
  const state = clusterOf(step.graph, cluster)
  if (state === undefined) return drop(step, 'its watcher has not started')
  const set = planOf(step.graph, cluster)
  const listed = event.listed[step.at.partition] ?? EMPTY_SET
  if (!isSameSet(set, listed)) return drop(step, 'what is held is not what the plan showed')
  if (set.count === 0) return
  const { position } = step.at
  const until = Math.max(state.now, step.at.timestamp) + APPROVAL_MS
  step.graph.put(rulingKey(cluster), { type: 'PlanRuling', verdict, who, why, until, position })
  enqueue(step, { work: 'rulings', cluster })
}
