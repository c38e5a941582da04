/**
 * The kind that an owner reference names, and the statuses it may have.
 *
 * What must stay true: no graph is read here.
 *
 * Not here: which kind of the cluster is meant (graph/owner-place.ts), which status a reference has
 * (judge/standing.ts).
 */
import type { GroupKind, OwnerReference } from './object.ts'
import { groupOf } from './object.ts'

export type Standing = 'solid' | 'waiting' | 'orphaned' | 'dangling' | 'unverified' | 'unresolvable'

export function kindOfReference(reference: Pick<OwnerReference, 'apiVersion' | 'kind'>): GroupKind {
  return { group: groupOf(reference.apiVersion), kind: reference.kind }
}
