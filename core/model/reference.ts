/**
 * Where an owner reference points, and what its status may be.
 *
 * What must stay true: decided by the reference, its dependent and the scope of the owner's kind alone; no graph is read here.
 *
 * Not here: which status a reference has (standing.ts).
 */
import type { Coordinates, GroupKind, ObjectMeta, OwnerReference } from './object.ts'
import { groupOf } from './object.ts'
import type { Kind } from './state.ts'

export type Standing = 'solid' | 'waiting' | 'orphaned' | 'dangling' | 'unverified' | 'unresolvable'

export function kindOfReference(reference: OwnerReference): GroupKind {
  return { group: groupOf(reference.apiVersion), kind: reference.kind }
}

/**
 * Where a reference points: a namespaced kind is looked up in the dependent's namespace. Undefined when the kind was never served here, so that
 * its scope is not known, or when its scope is not legal.
 */
export function placeOf(
  kind: Kind | undefined,
  dependent: ObjectMeta,
  reference: OwnerReference,
): Coordinates | undefined {
  if (kind === undefined || isIllegalScope(kind, dependent)) return undefined
  const namespace = kind.scope === 'Namespaced' ? dependent.namespace : ''
  return { ...kindOfReference(reference), namespace, name: reference.name }
}

/** An object without a namespace cannot have an owner in one. */
function isIllegalScope(kind: Kind, dependent: ObjectMeta): boolean {
  return kind.scope === 'Namespaced' && dependent.scope === 'Cluster'
}
