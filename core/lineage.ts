/**
 * The public record of one object as it stands after a fold.
 *
 * What must stay true: it is made from the state alone, so a replay makes the same.
 */
import type { StateReader } from './graph.ts'
import { clusterOf, nodeOf } from './graph.ts'
import type { At, Touch } from './outcome.ts'
import type { Lineage, LineageOwner } from './record.ts'
import { standingOf } from './standing.ts'

/** Null when the object is no node (any more): then the last record says `gone`, and `goneLineage` makes it. */
export function lineageOf(graph: StateReader, { cluster, uid }: Touch, at: At): Lineage | null {
  const node = nodeOf(graph, cluster, uid)
  if (node === undefined) return null
  const { object, phase, verdict } = node
  return {
    type: 'Lineage',
    cluster,
    clusterName: clusterOf(graph, cluster)?.name ?? '',
    uid,
    group: object.group,
    kind: object.kind,
    namespace: object.namespace,
    name: object.name,
    version: object.version,
    scope: object.scope,
    phase,
    owners: object.ownerReferences.map(
      (reference): LineageOwner => ({
        apiVersion: reference.apiVersion,
        kind: reference.kind,
        name: reference.name,
        uid: reference.uid,
        controller: reference.controller === true,
        blocking: reference.blockOwnerDeletion === true,
        standing: standingOf(graph, cluster, object, reference).standing,
      }),
    ),
    createdAt: object.createdAt,
    deletedAt: object.deletedAt,
    why: verdict === null ? '' : `${verdict.type}: ${verdict.because}`,
    evidence: verdict?.evidence ?? null,
    position: at.position,
    at: at.timestamp,
  }
}
