/**
 * Why a verdict may not be carried out now, though its references say so: what people decided, first that fits.
 *
 * What must stay true: what is not known holds. A reason ends with what lets it go, and whatever lets it go has it judged again.
 *
 * Not here: what is protected (protection.ts), what people ask for while it runs (directive.ts).
 */
import { pausedBecause } from './directive.ts'
import type { StateReader } from './graph.ts'
import { policyOf } from './graph.ts'
import type { Node } from './node.ts'
import type { ClusterId } from './object.ts'
import type { EvidenceClass } from './proof.ts'
import { protectedBecause } from './protection.ts'

/** What the verdict would have done: `delete` an object, `drop` references, or `finish` an owner's deletion by taking a finalizer off. */
export type Effect = 'delete' | 'drop' | 'finish'

/** Whether anything at all is asked of this cluster now, looks and warnings included. */
export function mayIssue(graph: StateReader, cluster: ClusterId): boolean {
  return policyOf(graph).policy.mode !== 'observe' && pausedBecause(graph, cluster) === ''
}

/** Empty when nothing holds it. */
export function heldBecause(
  graph: StateReader,
  cluster: ClusterId,
  node: Node,
  effect: Effect,
  evidence: EvidenceClass,
): string {
  const { mode, preset } = policyOf(graph).policy
  if (mode === 'observe') return 'mode observe only records'
  const paused = pausedBecause(graph, cluster)
  if (paused !== '') return paused
  if (effect === 'delete') {
    const spared = protectedBecause(graph, cluster, node, evidence)
    if (spared !== '') return spared
  }
  if (evidence === 'E4') return 'a mass cause (E4) needs approval'
  if (preset === 'guarded' && (evidence === 'E2' || evidence === 'E3')) {
    return `preset guarded holds evidence ${evidence}`
  }
  return ''
}
