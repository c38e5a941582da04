/**
 * What it costs that something goes: one of the budget of its class, or nothing.
 *
 * What must stay true: a deletion by somebody costs one, however much hangs on it; what was never seen deleted costs one for each object; what follows from our
 * own commands was paid for by those, also when it is told late.
 *
 * Not here: whether there is room for it (budget.ts).
 */
import type { StateReader } from '../graph/graph.ts'
import { policyOf } from '../graph/graph.ts'
import type { Stand } from '../judge/standing.ts'
import type { Node } from '../model/node.ts'
import type { ClusterId, Coordinates, Uid } from '../model/object.ts'
import type { BudgetClass } from '../model/policy.ts'
import type { Evidence, Proof } from '../model/proof.ts'
import { isEnding } from '../observe/cause.ts'

export interface Price {
  readonly class: BudgetClass
  /** Whose budget within the cluster's: of the owner, or of the object. */
  readonly namespace: string
  /** The owner whose deletion is paid for; null: the object itself. */
  readonly root: { readonly uid: Uid; readonly place: Coordinates } | null
}

/** Null: it costs nothing. */
export function priceOf(
  graph: StateReader,
  cluster: ClusterId,
  { object }: Node,
  evidence: Evidence,
  isDelete: boolean,
  stands: readonly Stand[],
): Price | null {
  const { budgets, mode } = policyOf(graph).policy
  if (budgets === null || mode !== 'enforce') return null
  const isPriced =
    evidence === 'missing' || evidence === 'not-found' || (evidence === 'deleted' && isDelete)
  const dangling = isPriced ? stands.filter(isPaidFor) : []
  if (dangling.length === 0 || isEnding(graph, cluster, object.namespace)) return null
  const ofObject = { namespace: object.namespace, root: null }
  if (dangling.some(({ proof }) => proof?.class === 'not-found'))
    return { ...ofObject, class: 'not-found' }
  if (dangling.some(({ proof }) => proof?.class === 'missing'))
    return { ...ofObject, class: 'missing' }
  let last: { proof: Proof; root: NonNullable<Price['root']> } | null = null
  for (const { proof, place, reference } of dangling) {
    if (proof === null || place === null) continue
    // The last one that went is why it goes.
    if (last !== null && proof.at < last.proof.at) continue
    last = { proof, root: { uid: reference.uid, place } }
  }
  if (last === null) return null
  return { class: 'deleted', namespace: last.root.place.namespace, root: last.root }
}

function isPaidFor({ standing, proof }: Stand): boolean {
  return standing === 'dangling' && proof !== null && !proof.isOurs
}
