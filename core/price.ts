/**
 * What it costs that something goes: one token of its class, or nothing.
 *
 * What must stay true: a deletion by somebody costs one, however much hangs on it; what was never seen deleted costs one for each object; what follows from our
 * own commands was paid for by those, also when it is told late.
 *
 * Not here: asking for a token (ticket.ts), granting it (budget.ts).
 */
import type { StateReader } from './graph.ts'
import { directivesOf, ownerOf, policyOf } from './graph.ts'
import { endingKey } from './key.ts'
import type { Node } from './node.ts'
import type { ClusterId, Coordinates, Uid } from './object.ts'
import type { BudgetClass } from './policy.ts'
import type { EvidenceClass, Proof } from './proof.ts'
import type { Stand } from './standing.ts'
import type { Owner } from './state.ts'

export interface Price {
  readonly class: BudgetClass
  /** The owner whose deletion is paid for; null: the object itself. */
  readonly root: { readonly uid: Uid; readonly place: Coordinates } | null
}

/** Null: it costs nothing. */
export function priceOf(
  graph: StateReader,
  cluster: ClusterId,
  { object }: Node,
  evidence: EvidenceClass,
  isDelete: boolean,
  stands: readonly Stand[],
): Price | null {
  const { budgets, mode } = policyOf(graph).policy
  if (budgets === null || mode !== 'enforce') return null
  const isPriced = evidence === 'E2' || evidence === 'E3' || (evidence === 'E1' && isDelete)
  const dangling = isPriced ? stands.filter(isPaidFor) : []
  if (dangling.length === 0 || isEnding(graph, cluster, object.namespace)) return null
  if (dangling.some(({ proof }) => proof?.class === 'E3')) return { class: 'E3', root: null }
  if (dangling.some(({ proof }) => proof?.class === 'E2')) return { class: 'E2', root: null }
  let last: { proof: Proof; root: NonNullable<Price['root']> } | null = null
  for (const { proof, place, reference } of dangling) {
    if (proof === null || place === null) continue
    // The last one that went is why it goes.
    if (last !== null && proof.at < last.proof.at) continue
    last = { proof, root: { uid: reference.uid, place } }
  }
  return last === null ? null : { class: 'E1', root: last.root }
}

function isPaidFor({ standing, proof }: Stand): boolean {
  return standing === 'dangling' && proof !== null && !proof.isOurs
}

/** Whoever deletes a namespace has all in it deleted: that is its controller's doing, and no burst. */
function isEnding(graph: StateReader, cluster: ClusterId, namespace: string): boolean {
  return namespace !== '' && graph.get(endingKey(cluster, namespace)) !== undefined
}

/** What it costs has been granted, after `lapsedAt`. */
export function isGranted(
  graph: StateReader,
  cluster: ClusterId,
  { root }: Price,
  lapsedAt: bigint,
): boolean {
  const owner = root === null ? undefined : ownerOf(graph, cluster, root.uid, root.place)
  return owner?.pass === 'granted' && isStanding(graph, owner, lapsedAt)
}

/** Offset of the grant of what it costs; -1 where there is none. */
export function grantedAt(graph: StateReader, cluster: ClusterId, price: Price | null): bigint {
  const root = price?.root ?? null
  const owner = root === null ? undefined : ownerOf(graph, cluster, root.uid, root.place)
  return owner?.pass === 'granted' ? owner.passAt : -1n
}

/** While nothing went, for a pause or another mode, others had their turn: what was granted before is not saved up. */
export function isStanding(graph: StateReader, { passAt }: Owner, lapsedAt: bigint): boolean {
  if (passAt <= lapsedAt) return false
  return passAt >= policyOf(graph).enforcedAt && passAt >= directivesOf(graph).resumedAt
}
