/**
 * Breakers: while one is open nothing is deleted or dropped, in its namespace or in its whole cluster, until a person closes it.
 *
 * What must stay true: it is state, so it survives restarts, and only a directive closes it. What was counted before it was closed does not open it again. The
 * activity of one namespace opens that namespace's breaker; the cluster's opens for what several do together, or what has no namespace.
 *
 * Not here: the reasons (burst.ts).
 */
import { judgeAll } from '../graph/agenda.ts'
import type { StateReader } from '../graph/graph.ts'
import { policyOf } from '../graph/graph.ts'
import { breakerKey, namespaceBreakerKey } from '../graph/key.ts'
import type { Step } from '../graph/outcome.ts'
import { scopeFlag } from '../graph/scope-flag.ts'
import type { Directive } from '../model/event.ts'
import type { ClusterId } from '../model/object.ts'
import type { Breaker } from '../model/state.ts'
import { timeText } from '../model/text.ts'

const ALL_CLUSTERS = ''

/** Empty while both the cluster's and the namespace's are closed. */
export function brokenBecause(graph: StateReader, cluster: ClusterId, namespace: string): string {
  if (policyOf(graph).policy.budgets === null) return ''
  const ofCluster = openBreakerOf(graph, cluster)
  const breaker = ofCluster ?? openBreakerOf(graph, cluster, namespace)
  if (breaker === undefined) return ''
  const whose = ofCluster === undefined ? ` of namespace ${namespace}` : ''
  const since = timeText(breaker.openedAt)
  return `the breaker${whose} is open since ${since}: ${breaker.because}; "kinfold close-breaker${scopeFlag(cluster)} --why …" releases it`
}

/** A namespace's, or (empty) the cluster's own. */
export function openBreakerOf(
  graph: StateReader,
  cluster: ClusterId,
  namespace = '',
): Breaker | undefined {
  const breaker = breakerAt(graph, keyOf(cluster, namespace))
  const isOpen = breaker !== undefined && breaker.openedAt > closedAt(graph, cluster, namespace)
  return isOpen ? breaker : undefined
}

/** Log time at which a person last closed it; earlier counts no longer matter. Closing a cluster's breaker closes those of its namespaces, too. */
export function closedAt(graph: StateReader, cluster: ClusterId, namespace = ''): number {
  const keys = [keyOf(cluster, namespace), breakerKey(cluster), breakerKey(ALL_CLUSTERS)]
  return Math.max(...keys.map((key) => breakerAt(graph, key)?.closedAt ?? 0))
}

export function openBreaker(
  step: Step,
  cluster: ClusterId,
  namespace: string,
  because: string,
): void {
  if (openBreakerOf(step.graph, cluster) !== undefined) return
  if (openBreakerOf(step.graph, cluster, namespace) !== undefined) return
  const key = keyOf(cluster, namespace)
  const former = breakerAt(step.graph, key) ?? NEVER_OPENED
  step.graph.put(key, { ...former, openedAt: step.at.timestamp, because })
  judgeAll(step, cluster)
}

export function closeBreaker(step: Step, { cluster }: Directive): void {
  const former = breakerAt(step.graph, breakerKey(cluster)) ?? NEVER_OPENED
  step.graph.put(breakerKey(cluster), { ...former, closedAt: step.at.timestamp })
  judgeAll(step, cluster)
}

const NEVER_OPENED: Breaker = { type: 'Breaker', openedAt: 0, closedAt: 0, because: '' }

function keyOf(cluster: ClusterId, namespace: string): string {
  return namespace === '' ? breakerKey(cluster) : namespaceBreakerKey(cluster, namespace)
}

function breakerAt(graph: StateReader, key: string): Breaker | undefined {
  const breaker = graph.get(key)
  return breaker?.type === 'Breaker' ? breaker : undefined
}
