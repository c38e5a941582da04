/**
 * The public record of one object after a fold.
 *
 * What must stay true: it is made from the state alone, so a replay makes the same.
 */
import type { ClusterFacts } from '../../../core/graph/facts.ts'
import type { At, Touch } from '../../../core/graph/outcome.ts'
import { standingOf } from '../../../core/judge/standing.ts'
import { LONG_LIST } from '../../../core/model/constant.ts'
import type { Node } from '../../../core/model/node.ts'
import { admissionOf, nodePhase } from '../../../core/model/node.ts'
import { goneOf, orphanMarkOf } from '../../../core/model/owner.ts'
import type { Departure, Lineage, LineageOwner } from '../../../ports/record/lineage.ts'
import { knownDeletion, knownHold, SHOWN_OWNERS, verdictText } from './known-object.ts'

/**
 * For a deleted object: what it was, and that it was deleted. Null when there is nothing to
 * publish.
 */
export function lineageOf(facts: ClusterFacts, touch: Touch, at: At): Lineage | null {
  const { cluster, uid } = touch
  const node = facts.node(uid)
  const told = node ?? touch.last
  if (told === null) return null
  const left = node === undefined ? touch.last : null
  const { object, verdict } = told
  const { phase, doubt, deletion } = 'phase' in told ? ofLast(told) : ofNode(told)
  const admission = admissionOf(told)
  const { ownerReferences: owners } = object
  const shown = owners.length > LONG_LIST ? owners.slice(0, SHOWN_OWNERS) : owners
  return {
    type: 'Lineage',
    cluster,
    clusterName: facts.state?.name ?? '',
    uid,
    group: object.group,
    kind: object.kind,
    namespace: object.namespace,
    name: object.name,
    version: object.version,
    scope: object.scope,
    phase,
    doubt,
    deletion,
    owners: shown.map(
      (reference): LineageOwner => ({
        apiVersion: reference.apiVersion,
        kind: reference.kind,
        name: reference.name,
        uid: reference.uid,
        controller: reference.controller === true,
        blocking: reference.blockOwnerDeletion === true,
        standing: standingOf(facts, object, reference).standing,
      }),
    ),
    createdAt: object.createdAt,
    deletedAt: object.deletedAt,
    why: verdictText(verdict),
    verdict: verdict?.type ?? null,
    admission,
    heldBy: node?.hold?.by ?? null,
    held: knownHold(node),
    evidence: verdict?.evidence ?? null,
    position: at.position,
    at: at.timestamp,
    moreOwners: owners.length - shown.length,
    resource: object.resource,
    departure: left?.phase === 'gone' ? departureOf(facts, left) : null,
  }
}

/** For who follows this record from another cluster; null where it is remembered no more. */
function departureOf(
  facts: ClusterFacts,
  { object, isWhole, isOrphaning }: NonNullable<Touch['last']>,
): Departure | null {
  const known = facts.owner(object.uid, object)
  const proof = goneOf(known)
  if (proof === null) return null
  const { class: evidence, command, clusterEpoch } = proof
  const isWatched = evidence === 'deleted' && command === null && isWhole
  const isMarked = orphanMarkOf(known) !== null
  return { evidence, isWatched, isOrphaning: isOrphaning || isMarked, clusterEpoch }
}

type Standing = Pick<Lineage, 'phase' | 'doubt' | 'deletion'>

function ofNode(node: Node): Standing {
  return { phase: nodePhase(node), doubt: node.doubt, deletion: knownDeletion(node) }
}

function ofLast({ phase }: NonNullable<Touch['last']>): Standing {
  return { phase, doubt: phase === 'gone' ? null : 'unwatched', deletion: null }
}
