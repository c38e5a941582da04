/**
 * Namespaces that are being deleted: their home is told, since what goes with one is one person's doing.
 *
 * What must stay true: its begin is told only where budgets count, and only when it changes; what was told ends. For a while after it is gone its home knows it still, since other watches tell
 * later what went with it.
 *
 * Not here: what that means (price.ts).
 */
import { setTimer } from './agenda.ts'
import { ENDED_MEMORY_MS } from './constant.ts'
import type { NamespaceEnding } from './event.ts'
import { clusterOf, policyOf } from './graph.ts'
import { endingKey } from './key.ts'
import type { ClusterId, ObjectMeta } from './object.ts'
import type { Step } from './outcome.ts'
import { homeOf, partitionOf } from './partition.ts'

/** An object is seen, or leaves (null). */
export function noteNamespace(
  step: Step,
  cluster: ClusterId,
  before: ObjectMeta | null,
  after: ObjectMeta | null,
): void {
  const object = after ?? before
  if (object?.kind !== 'Namespace' || object.group !== '') return
  const isEnding = after !== null && after.deletedAt !== null
  const wasEnding = before !== null && before.deletedAt !== null
  if (isEnding === wasEnding) return
  // That it ended is told in any case: its home may know it since a time when budgets counted.
  if (isEnding && policyOf(step.graph).policy.budgets === null) return
  const key = homeOf(cluster, object.name)
  step.outcome.notes.push({
    partition: partitionOf(key, step.at.partitions),
    key,
    event: { type: 'NamespaceEnding', cluster, namespace: object.name, isEnding },
  })
}

export function namespaceEnding(step: Step, event: NamespaceEnding): void {
  const { cluster, namespace, isEnding } = event
  const key = endingKey(cluster, namespace)
  if (isEnding) return step.graph.put(key, { type: 'Ending' })
  const now = clusterOf(step.graph, cluster)?.now ?? 0
  const ended = { what: 'ending', uid: namespace, coordinates: null } as const
  setTimer(step, cluster, now + ENDED_MEMORY_MS, ended)
}

export function endingDue(step: Step, cluster: ClusterId, namespace: string): void {
  const key = endingKey(cluster, namespace)
  if (step.graph.get(key) !== undefined) step.graph.remove(key)
}
