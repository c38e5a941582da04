/**
 * Whom a reference of an object that may be gone names, as far as the record knows: by uid and
 * coordinates.
 *
 * What must stay true: no graph is read, so it can be asked of what is gone, in whatever process;
 * an object that bears the uid and is not named is never one of them.
 *
 * Not here: owners of what is in the graph (core/graph/identity.ts).
 */
import { type Identity, identityOf, isNamedBy } from '../../../../core/graph/identity.ts'
import { kindOfReference } from '../../../../core/model/reference.ts'
import type { HistoryIndex } from '../index/history-index.ts'
import type { NamedOwner } from '../index/name-key.ts'

/**
 * Whom a reference names: an object that was seen, or (a GET may have looked for it) what would be
 * there; in its dependent's namespace, or in none.
 */
export function ownersMeant(
  index: Pick<HistoryIndex, 'lastOf'>,
  dependent: Pick<Identity, 'cluster' | 'namespace'>,
  reference: NamedOwner,
): readonly Identity[] {
  const { cluster } = dependent
  const { name, uid } = reference
  const last = index.lastOf(cluster, uid)
  const seen = last && identityOf(cluster, last)
  if (seen !== undefined && isNamedBy(seen, dependent, reference)) return [seen]
  const namespaces = new Set([dependent.namespace, ''])
  return [...namespaces].map((namespace) => {
    return identityOf(cluster, { ...kindOfReference(reference), namespace, name, uid })
  })
}
