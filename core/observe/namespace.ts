/**
 * Namespaces that are being deleted: all deletions in one are one user's doing.
 *
 * What must stay true: recorded only where budgets count. It is remembered for a while after the namespace was deleted, since watches of other kinds publish later
 * what was deleted with it.
 *
 * Not here: what that means (price.ts, burst.ts).
 */
import { setTimer } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { clusterOf, policyOf } from '../graph/graph.ts'
import { endingKey } from '../graph/key.ts'
import type { Step } from '../graph/outcome.ts'
import { ENDED_MEMORY_MS } from '../model/constant.ts'
import type { ClusterId, ObjectMeta } from '../model/object.ts'

/** An object is seen, or leaves (null). */
export function noteNamespace(
  step: Step,
  cluster: ClusterId,
  before: ObjectMeta | null,
  after: ObjectMeta | null,
): void {
  const object = after ?? before
  if (object?.kind !== 'Namespace' || object.group !== '') return
  const ends = after !== null && after.deletedAt !== null
  const ended = before !== null && before.deletedAt !== null
  if (ends === ended) return
  const key = endingKey(cluster, object.name)
  if (ends) {
    if (policyOf(step.graph).policy.budgets !== null) step.graph.put(key, { type: 'Ending' })
    return
  }
  if (step.graph.get(key) === undefined) return
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  const timer = { what: 'ending', uid: object.name, coordinates: null } as const
  setTimer(step, cluster, now + ENDED_MEMORY_MS, timer)
}

export function isEnding(graph: StateReader, cluster: ClusterId, namespace: string): boolean {
  return namespace !== '' && graph.get(endingKey(cluster, namespace)) !== undefined
}

export function endingDue(step: Step, cluster: ClusterId, namespace: string): void {
  const key = endingKey(cluster, namespace)
  if (step.graph.get(key) !== undefined) step.graph.remove(key)
}
