/**
 * The status of one owner reference of one dependent: the first row of the table that fits.
 *
 * What must stay true: a reference is looked up at its own coordinates, never by uid alone; unknown
 * is never dangling.
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { kindStatus } from '../graph/kind-status.ts'
import { ownerPlace } from '../graph/owner-place.ts'
import { LATE_MS } from '../model/constant.ts'
import type { Node, Phase } from '../model/node.ts'
import { phaseAsOwner } from '../model/node.ts'
import type { Coordinates, ObjectMeta, OwnerReference, Uid } from '../model/object.ts'
import { isSamePlace, versionOf } from '../model/object.ts'
import type { Proof } from '../model/proof.ts'
import type { Standing } from '../model/reference.ts'
import type { Kind } from '../model/state.ts'

export interface Stand {
  readonly standing: Standing
  readonly reference: OwnerReference
  /** Where it points; null when its kind's scope is not known. */
  readonly place: Coordinates | null
  /** For people: why. */
  readonly reason: string
  /** Of `dangling`. */
  readonly proof: Proof | null
  /**
   * Of `dangling`: its owner's deletion had been observed when it was named, so that is weaker
   * evidence for this dependent.
   */
  readonly isLate: boolean
  /** Offset of the event that this status rests on; null when on none. */
  readonly basis: bigint | null
  /** Of `orphaned`: since when, in append time. */
  readonly orphanedAt: number | null
  /** A cluster-scoped object names an owner in a namespace. */
  readonly isOutOfScope: boolean
  /**
   * No watch reports the owner, or not a watch of the cluster's own server: so it is verified once
   * more before anything is done.
   */
  readonly isHearsay: boolean
}

/** The recorded state of the owner that a reference names. */
interface OwnerAt {
  readonly phase: Phase | 'absent' | 'unknown'
  readonly proof: Proof | null
  readonly orphanedAt: number | null
  readonly basis: bigint | null
  /** Found by a GET: no watch reports it. */
  readonly isHearsay: boolean
}

/** Of all references of one object. */
export function standsOf(
  facts: ClusterFacts,
  { object, namedAt }: Pick<Node, 'object' | 'namedAt'>,
): readonly Stand[] {
  return object.ownerReferences.map((each, index) =>
    standingOf(facts, object, each, namedAt[index]),
  )
}

/**
 * `namedAt`: since when, in log time, the dependent has had the reference; 0 where that does not
 * matter.
 */
export function standingOf(
  facts: ClusterFacts,
  dependent: ObjectMeta,
  reference: OwnerReference,
  namedAt = 0,
): Stand {
  const { kind, place } = ownerPlace(facts, dependent, reference)
  const name = `${reference.kind} "${reference.name}"`
  const stand = (standing: Standing, reason: string, owner?: OwnerAt): Stand => ({
    standing,
    reference,
    place: place ?? null,
    reason,
    proof: standing === 'dangling' ? (owner?.proof ?? null) : null,
    isLate: false,
    basis: owner?.basis ?? null,
    orphanedAt: standing === 'orphaned' ? (owner?.orphanedAt ?? null) : null,
    isOutOfScope: kind !== undefined && place === undefined,
    // The owner of an aggregated server may only be hidden: such a server decides who sees what.
    isHearsay: owner?.isHearsay === true || kind?.aggregated === true,
  })

  if (kind === undefined) return stand('unresolvable', `the kind of ${name} is not served`)
  if (place === undefined) {
    return stand(
      'unresolvable',
      `${name} is namespaced, and a cluster-scoped object cannot have it as an owner`,
    )
  }
  const owner = ownerAt(facts, reference.uid, place)
  // By whatever version it is referenced, the dependent is orphaned: that deletes nothing.
  if (owner.orphanedAt !== null)
    return stand('orphaned', `${name} is deleted with its dependents orphaned`, owner)
  // An observed deletion counts for every version it was served in then. That an owner never
  // existed is proved only by a GET, through a version that is still served.
  const { proof } = owner
  const versions = proof === null || proof.class === 'not-found' ? kind.versions : proof.versions
  if (!versions.includes(versionOf(reference.apiVersion))) {
    return stand('unresolvable', `${reference.apiVersion} of ${name} is not served`)
  }
  switch (owner.phase) {
    case 'orphaning':
      return stand('orphaned', `${name} is deleted with its dependents orphaned`, owner)
    case 'absent': {
      // It is verified once more, and that may be through the other resource.
      if (kind.ambiguous) return ofUnknown(facts, { kind, place, name }, stand)
      const isLate = proof !== null && cameLate(facts, proof, namedAt)
      const how = isLate ? 'was deleted before this object referenced it' : 'no longer exists'
      return { ...stand('dangling', `${name} ${how}`, owner), isLate }
    }
    case 'waiting':
      return stand('waiting', `${name} is being deleted in the foreground`, owner)
    case 'observed':
    case 'deleting':
    case 'reaped':
      return stand('solid', `${name} exists`, owner)
    case 'suspect':
      return ofUnknown(facts, { kind, place, name, isUntrusted: true }, stand)
    case 'unknown':
      return ofUnknown(facts, { kind, place, name }, stand)
  }
}

/**
 * A backup tool restores an object with its old reference, whose owner was deleted long ago: the
 * user who deleted that owner did not mean this object. Both times are in log time, so it does not
 * matter which was reported first (decision 0030).
 */
function cameLate(facts: ClusterFacts, { class: cause, at }: Proof, namedAt: number): boolean {
  const isMeant = cause === 'deleted' || cause === 'missing'
  return isMeant && facts.policy.policy.preset === 'guarded' && namedAt > at + LATE_MS
}

/** Nothing is known, or trusted, at these coordinates: can a verification find out? */
function ofUnknown(
  facts: ClusterFacts,
  owner: UnknownOwner,
  stand: (standing: Standing, reason: string) => Stand,
): Stand {
  const { kind, name } = owner
  if (kind.phase === 'unserved')
    return stand('unresolvable', `the kind of ${name} is no longer served`)
  if (kind.ambiguous) return stand('unresolvable', `several resources share the kind of ${name}`)
  return stand('unverified', unknownText(facts, owner))
}

interface UnknownOwner {
  readonly kind: Kind
  readonly place: Coordinates
  readonly name: string
  /** It was observed, and that is untrusted by now. */
  readonly isUntrusted?: boolean
}

/** Only where a complete list would have shown it is it of any meaning that it was not seen. */
function unknownText({ state }: ClusterFacts, owner: UnknownOwner): string {
  const { kind, place, name, isUntrusted } = owner
  const of = place.group === '' ? place.kind : `${place.kind}.${place.group}`
  const unknown = `whether ${name} exists is not known`
  const status = state === undefined ? 'listing' : kindStatus(kind, place, state).type
  if (status === 'unwatched') return `kind ${of} is not watched: ${unknown}`
  if (isUntrusted === true) return `${name} is untrusted until it is listed again`
  if (status === 'listing') return `kind ${of} is not listed yet: ${unknown}`
  return `${name} has not been seen`
}

/** Exported for the questions people ask; the fold itself uses `standingOf`. */
export function ownerAt(facts: ClusterFacts, uid: Uid, place: Coordinates): OwnerAt {
  const node = facts.node(uid)
  if (node !== undefined && isSamePlace(node.object, place)) {
    // Seen in an earlier epoch of the cluster: it is not known yet whether it came back.
    const seen = facts.seen(place, uid)
    const isCurrent = seen?.clusterEpoch === facts.state?.clusterEpoch
    const phase = isCurrent ? phaseAsOwner(node) : 'suspect'
    const orphanedAt = phase === 'suspect' ? null : node.orphanedAt
    return { phase, proof: null, orphanedAt, basis: node.position, isHearsay: false }
  }
  const owner = facts.owner(uid, place)
  if (owner === undefined) return NOTHING_KNOWN
  const state = facts.state
  switch (owner.type) {
    case 'absent': {
      const { proof } = owner
      // A restore brings owners back, and may undo their deletion requests with them. If the owner
      // stays away, its request was not revoked: its mark lasts, and it is verified once more
      // before a reference is dropped by it.
      const isOfEpoch = proof.clusterEpoch === state?.clusterEpoch
      const isHearsay = owner.orphanedAt !== null && !isOfEpoch
      const { position: basis } = proof
      return { phase: 'absent', proof, orphanedAt: owner.orphanedAt, basis, isHearsay }
    }
    case 'found': {
      const { phase, orphanedAt, lastKnown: basis } = owner
      if (basis < (state?.epochAt ?? 0n)) return NOTHING_KNOWN
      return { phase, proof: null, orphanedAt, basis, isHearsay: true }
    }
    case 'asked':
    case 'trace':
      return NOTHING_KNOWN
  }
}

const NOTHING_KNOWN: OwnerAt = {
  phase: 'unknown',
  proof: null,
  orphanedAt: null,
  basis: null,
  isHearsay: false,
}
