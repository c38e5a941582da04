/**
 * What clusters are called before people. What must stay true: two that have one name are
 * distinguished, since one may have replaced the other.
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import type { ClusterRef } from '../../api/document.ts'
import { labelOf } from '../../api/word.ts'

/** Of one that is not among them the name is its id. */
export function clusterRefs(
  known: readonly { readonly id: ClusterId; readonly name: string }[],
): (id: ClusterId) => ClusterRef {
  const names = new Map(known.map(({ id, name }) => [id, name]))
  const sharing = Map.groupBy(names.values(), (name) => name)
  return (id) => {
    const name = names.get(id) ?? id
    return { name, id, scope: (sharing.get(name)?.length ?? 0) > 1 ? id : name }
  }
}

/** The same of clusters that are known by name. */
export function clusterLabels(names: ReadonlyMap<ClusterId, string>): (id: ClusterId) => string {
  const refOf = clusterRefs([...names].map(([id, name]) => ({ id, name })))
  return (id) => labelOf(refOf(id))
}
