/**
 * Breakers: while one is open nothing is deleted or dropped, in its namespace or in its whole
 * cluster, until a person closes it.
 *
 * What must stay true: it is state, so it survives restarts, and only a directive closes it. What
 * was counted before it was closed does not open it again. The activity of one namespace opens that
 * namespace's breaker; the cluster's opens for what several do together, or what has no namespace.
 *
 * Not here: the reasons (burst.ts).
 */
import { judgeAll } from '../graph/agenda.ts'
import type { ClusterFacts } from '../graph/facts.ts'
import type { Step } from '../graph/outcome.ts'
import { scopeFlag } from '../graph/scope-flag.ts'
import type { Breaker } from '../model/state.ts'
import { timeText } from '../model/text.ts'

/** Empty while both the cluster's and the namespace's are closed. */
export function brokenBecause(facts: ClusterFacts, namespace: string): string {
  if (facts.policy.policy.budgets === null) return ''
  const ofCluster = openBreakerOf(facts)
  const breaker = ofCluster ?? openBreakerOf(facts, namespace)
  if (breaker === undefined) return ''
  const whose = ofCluster === undefined ? ` of namespace ${namespace}` : ''
  const since = timeText(breaker.openedAt)
  return `the breaker${whose} is open since ${since}: ${breaker.because}; "kinfold close-breaker${scopeFlag(facts.cluster)} --why …" releases it`
}

/** A namespace's, or (empty) the cluster's own. */
export function openBreakerOf(facts: ClusterFacts, namespace = ''): Breaker | undefined {
  const breaker = facts.breaker(namespace)
  const isOpen = breaker !== undefined && breaker.openedAt > closedAt(facts, namespace)
  return isOpen ? breaker : undefined
}

/**
 * Log time at which a person last closed it; earlier counts no longer matter. Closing a cluster's
 * breaker closes those of its namespaces, too.
 */
export function closedAt(facts: ClusterFacts, namespace = ''): number {
  const breakers = [facts.breaker(namespace), facts.breaker(''), facts.breakerOfAll]
  return Math.max(...breakers.map((breaker) => breaker?.closedAt ?? 0))
}

export function openBreaker(step: Step, namespace: string, because: string): void {
  if (openBreakerOf(step.graph) !== undefined) return
  if (openBreakerOf(step.graph, namespace) !== undefined) return
  const former = step.graph.breaker(namespace) ?? NEVER_OPENED
  step.graph.setBreaker(namespace, { ...former, openedAt: step.at.timestamp, because })
  judgeAll(step)
}

export function closeBreaker(step: Step): void {
  const former = step.graph.breaker('') ?? NEVER_OPENED
  step.graph.setBreaker('', { ...former, closedAt: step.at.timestamp })
  judgeAll(step)
}

const NEVER_OPENED: Breaker = { type: 'Breaker', openedAt: 0, closedAt: 0, because: '' }
