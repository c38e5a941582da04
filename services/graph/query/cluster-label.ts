/** What clusters are called before people. What must stay true: two that have one name are told apart, since one may have taken the other's place. */
import type { ClusterId } from '../../../core/model/object.ts'

/** Its name; with its id where another of these has that name, too. Of one that is not among them its id. */
export function clusterLabels(names: ReadonlyMap<ClusterId, string>): (id: ClusterId) => string {
  const sharing = Map.groupBy(names.values(), (name) => name)
  return (id) => {
    const name = names.get(id)
    if (name === undefined) return id
    return (sharing.get(name)?.length ?? 0) > 1 ? `${name} (${id})` : name
  }
}
