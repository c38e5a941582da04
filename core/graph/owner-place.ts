/**
 * Where an owner reference points: which kind it names, as the cluster serves it, and at which
 * coordinates.
 *
 * What must stay true: a reference's kind is resolved here and nowhere else. A kind is known as it
 * is written or, as upstream's RESTMapper has it too, in lower case; where several kinds are equal
 * in lower case, none of them matches.
 *
 * Not here: which status a reference has (judge/standing.ts).
 */
import type { Coordinates, GroupKind, ObjectMeta, OwnerReference } from '../model/object.ts'
import { kindOfReference } from '../model/reference.ts'
import type { Kind } from '../model/state.ts'
import type { ClusterFacts } from './facts.ts'
import type { Step } from './outcome.ts'

export interface OwnerPlace {
  /** As it is served; of one that is not, as it is written. */
  readonly named: GroupKind
  /** Undefined when it was never served here. */
  readonly kind: Kind | undefined
  /**
   * Undefined when the scope of that kind is unknown, or a cluster-scoped object names an owner in
   * a namespace.
   */
  readonly place: Coordinates | undefined
}

/** A namespaced owner is in its dependent's namespace. */
export function ownerPlace(
  facts: ClusterFacts,
  dependent: ObjectMeta,
  reference: OwnerReference,
): OwnerPlace {
  const written = kindOfReference(reference)
  const known = facts.kind(written)
  const named = known === undefined ? kindMeant(facts, written) : written
  const kind = known ?? facts.kind(named)
  if (kind === undefined || isIllegalScope(kind, dependent))
    return { named, kind, place: undefined }
  const namespace = kind.scope === 'Namespaced' ? dependent.namespace : ''
  const place = { group: named.group, kind: named.kind, namespace, name: reference.name }
  return { named, kind, place }
}

/** A kind that is not known as it is written. */
function kindMeant(facts: ClusterFacts, written: GroupKind): GroupKind {
  if (written.kind !== written.kind.toLowerCase()) return written
  const [kind, ...others] = facts.kindsWritten(written)
  return kind === undefined || others.length > 0 ? written : { group: written.group, kind }
}

/** An object without a namespace cannot have an owner in one. */
function isIllegalScope(kind: Kind, dependent: ObjectMeta): boolean {
  return kind.scope === 'Namespaced' && dependent.scope === 'Cluster'
}

/**
 * A kind is served for the first time. True where a reference in lower case may have meant another
 * one until now.
 */
export function noteKindName(step: Step, { group, kind }: GroupKind): boolean {
  const lower = { group, kind: kind.toLowerCase() }
  const others = step.graph.kindsWritten(lower)
  if (kind !== lower.kind) {
    const kinds = [...others, kind].sort()
    step.graph.setKindsWritten(lower, kinds)
  }
  return others.length > 0
}
