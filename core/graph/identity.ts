/**
 * Which object is meant, as the object itself or as the owner that a reference names: by cluster,
 * coordinates *and* uid.
 *
 * What must stay true: `identityOf` alone makes one, so that a bare uid, which any user may write
 * into a reference, finds no dependents, owner or history: it does not compile.
 *
 * Not here: which kind and which coordinates a reference names (owner-place.ts), which status it
 * has (judge/standing.ts).
 */
import type { ClusterId, Coordinates, ObjectMeta, OwnerReference, Uid } from '../model/object.ts'
import { groupOf, isSamePlace } from '../model/object.ts'
import type { ClusterFacts } from './facts.ts'
import { ownerPlace } from './owner-place.ts'

declare const made: unique symbol

export interface Identity extends Coordinates {
  readonly cluster: ClusterId
  readonly uid: Uid
  /** No object literal has it. */
  readonly [made]: true
}

export function identityOf(
  cluster: ClusterId,
  { group, kind, namespace, name, uid }: Coordinates & { readonly uid: Uid },
): Identity {
  return { cluster, group, kind, namespace, name, uid } as Identity
}

/**
 * The owner that a reference names. Undefined where its kind, or the scope of that, is not known,
 * or the scopes do not allow it.
 */
export function identityNamed(
  facts: ClusterFacts,
  dependent: ObjectMeta,
  reference: OwnerReference,
): Identity | undefined {
  const { place } = ownerPlace(facts, dependent, reference)
  return place && identityOf(facts.cluster, { ...place, uid: reference.uid })
}

export type Named = Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'>

/**
 * Whether a reference of a dependent in this namespace names the owner, where no graph says which
 * kinds are served: in the past and in the archive. A kind in lower case is taken for the owner's,
 * also where another kind is written so, too: there the fold takes it for none.
 */
export function isNamedBy(
  owner: Identity,
  { namespace }: Pick<Coordinates, 'namespace'>,
  { apiVersion, kind, name, uid }: Named,
): boolean {
  if (uid !== owner.uid || name !== owner.name || groupOf(apiVersion) !== owner.group) return false
  const isKind = kind === owner.kind || kind === owner.kind.toLowerCase()
  return isKind && (owner.namespace === '' || owner.namespace === namespace)
}

export function isSameIdentity(a: Identity, b: Identity | undefined): boolean {
  return b !== undefined && a.uid === b.uid && a.cluster === b.cluster && isSamePlace(a, b)
}

/** Another text for each. */
export function identityKey(identity: Identity): string {
  const { cluster, group, kind, namespace, name, uid } = identity
  return JSON.stringify([cluster, group, kind, namespace, name, uid])
}
