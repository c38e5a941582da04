/**
 * The owner that a reference names, also of an object that was deleted, as far as the record knows:
 * by uid and coordinates.
 *
 * What must stay true: no graph is read; an object that has the uid at other coordinates is never
 * the owner.
 *
 * Not here: owners of objects in the graph (core/graph/identity.ts).
 */
import { type Identity, identityOf, isNamedBy } from '../../../../core/graph/identity.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { NamedOwner } from '../index/name-key.ts'

/**
 * The owner that a reference names: an object that was observed, or (a live GET may have asked for
 * it) the one that would be there; in its dependent's namespace, or in none.
 */
export function ownersMeant(
  index: Pick<HistoryIndex, 'namesOf'>,
  dependent: Pick<Identity, 'cluster' | 'namespace'>,
  reference: NamedOwner,
): readonly Identity[] {
  const { cluster } = dependent
  const { name, uid } = reference
  const last = index.namesOf(cluster).lastOf(cluster, uid)
  const seen = last && identityOf(cluster, last)
  if (seen !== undefined && isNamedBy(seen, dependent, reference)) return [seen]
  const namespaces = new Set([dependent.namespace, ''])
  return [...namespaces].map((namespace) => {
    return identityOf(cluster, { ...kindOfReference(reference), namespace, name, uid })
  })
}
