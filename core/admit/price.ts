/**
 * The price of a deletion: one from the budget of its class, or nothing.
 *
 * What must stay true: a deletion by another actor costs one, however many dependents it has;
 * evidence that counts as `missing` or `not-found` costs one for each object; what follows from
 * Kinfold's own commands was paid for by those, also when it is reported late.
 *
 * Not here: whether there is room for it (budget.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import type { Stand } from '../judge/standing.ts'
import type { Node } from '../model/node.ts'
import type { Coordinates, Uid } from '../model/object.ts'
import type { BudgetClass } from '../model/policy.ts'
import type { Evidence } from '../model/proof.ts'

export interface Price {
  readonly class: BudgetClass
  /** Whose budget within the cluster's: of the owner, or of the object. */
  readonly namespace: string
  /** The owner whose deletion is paid for; null: the object itself. */
  readonly root: { readonly uid: Uid; readonly place: Coordinates } | null
}

/** `counted`: the evidence as the policy counts it. Null: it costs nothing. */
export function priceOf(
  facts: ClusterFacts,
  { object: { namespace } }: Node,
  counted: Evidence,
  isDelete: boolean,
  stands: readonly Stand[],
): Price | null {
  const { budgets, mode } = facts.policy.policy
  if (budgets === null || mode !== 'enforce') return null
  const [first, ...others] = stands.flatMap(rootsOf)
  if (first === undefined || facts.isEnding(namespace)) return null
  if (counted === 'missing' || counted === 'not-found')
    return { class: counted, namespace, root: null }
  if (counted !== 'deleted' || !isDelete) return null
  // The owner that was deleted last is the reason for the deletion.
  const { uid, place } = others.reduce((last, each) => (each.at < last.at ? last : each), first)
  return { class: 'deleted', namespace: place.namespace, root: { uid, place } }
}

/**
 * None for an owner that Kinfold deleted: that was paid for, except for dependents that came late.
 */
function rootsOf({ standing, proof, place, isLate, reference: { uid } }: Stand) {
  if (standing !== 'dangling' || proof === null || place === null) return []
  if (proof.isOurs && !isLate) return []
  return [{ at: proof.at, uid, place }]
}
