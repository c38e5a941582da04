/**
 * The turns of objects that rules delete or annotate: how many are under way in a cluster, and
 * which wait.
 *
 * What must stay true: kept up wherever a node is written, so it is always that of the nodes.
 * All that wait are called: something is under way while any waits, or a call is on the agenda.
 * A namespace has at most half of what the others leave, so none can use up all turns.
 *
 * Not here: who waits (admit/rule-hold.ts), who is called next (admit/rule-call.ts).
 */
import { DELETIONS_BY_RULES, FREED_BEFORE_A_CALL } from '../../model/constant.ts'
import type { Node } from '../../model/node.ts'
import type { NamespaceCount } from '../../model/state.ts'
import { enqueue } from '../agenda.ts'
import type { ClusterFacts } from '../facts.ts'
import type { Step } from '../outcome.ts'

/**
 * - `waits`: it is to go, and others are under way.
 * - `has`: it was called and is judged next, or its command is under way.
 */
export type RuleTurn = 'waits' | 'has'

/** Null: it has nothing to do with turns. */
export function ruleTurnOf(node: Node | null): RuleTurn | null {
  if (node === null || node.verdict?.rule == null || node.doubt !== null) return null
  const { attempt, hold } = node
  const isByRule = attempt?.verb === 'DeleteObject' || attempt?.verb === 'AnnotateObject'
  if (isByRule && attempt.state === 'issued') return 'has'
  if (hold?.by !== 'budget') return null
  return hold.turn === 'called' ? 'has' : 'waits'
}

/** A node is written, or leaves (null). */
export function noteRuleTurn(step: Step, before: Node | null, after: Node | null): void {
  const was = ruleTurnOf(before)
  const is = ruleTurnOf(after)
  const node = after ?? before
  if (was === is || node === null) return
  const { graph } = step
  const { namespace, uid } = node.object
  if ((was === 'waits') !== (is === 'waits')) graph.setRuleTurn(namespace, uid, is === 'waits')
  const former = graph.ruleTurns
  const waiting = former.waiting + Number(is === 'waits') - Number(was === 'waits')
  const change = Number(is === 'has') - Number(was === 'has')
  const underWay = change === 0 ? former.underWay : changed(former.underWay, namespace, change)
  const freed = former.freed + Number(change < 0)
  const isTime = change < 0 && (freed >= FREED_BEFORE_A_CALL || underWay.length === 0)
  const isCalling = waiting > 0 && isTime
  graph.setRuleTurns({ ...former, underWay, waiting, freed: isCalling ? 0 : freed })
  if (isCalling) enqueue(step, { todo: { type: 'turns' } })
}

function changed(
  counts: readonly NamespaceCount[],
  namespace: string,
  change: number,
): readonly NamespaceCount[] {
  const count = countIn(counts, namespace) + change
  const others = counts.filter((each) => each.namespace !== namespace)
  return count === 0 ? others : [...others, { namespace, count }]
}

function countIn(counts: readonly NamespaceCount[], namespace: string): number {
  return counts.find((each) => each.namespace === namespace)?.count ?? 0
}

/** How many more deletions by rules may begin now: in all of the cluster. */
export function freeTurns({ ruleTurns: { underWay } }: ClusterFacts): number {
  return DELETIONS_BY_RULES - sum(underWay)
}

/** The same of one namespace. */
export function freeTurnsOf({ ruleTurns: { underWay } }: ClusterFacts, namespace: string): number {
  const own = countIn(underWay, namespace)
  const others = sum(underWay) - own
  return Math.ceil((DELETIONS_BY_RULES - others) / 2) - own
}

function sum(counts: readonly NamespaceCount[]): number {
  return counts.reduce((all, { count }) => all + count, 0)
}
