/**
 * The breaker of a cluster: open, nothing is deleted or dropped there until a person closes it.
 *
 * What must stay true: it is state of every partition, so it survives restarts; whoever sees a reason opens it everywhere, and only a directive closes it.
 * What was counted before it was closed does not open it again.
 *
 * Not here: the reasons (burst.ts).
 */
import { judgeAll } from './agenda.ts'
import type { BreakerOpened, Directive } from './event.ts'
import type { StateReader } from './graph.ts'
import { policyOf } from './graph.ts'
import { breakerKey } from './key.ts'
import type { ClusterId } from './object.ts'
import type { Step } from './outcome.ts'
import { drop, noteToOthers } from './outcome.ts'
import type { Breaker } from './state.ts'
import { timeText } from './time-text.ts'

const ALL_CLUSTERS = ''

/** Empty while it is closed. */
export function brokenBecause(graph: StateReader, cluster: ClusterId): string {
  if (policyOf(graph).policy.budgets === null) return ''
  const breaker = openBreakerOf(graph, cluster)
  if (breaker === undefined) return ''
  const since = timeText(breaker.openedAt)
  return `the breaker is open since ${since}: ${breaker.because}; "kinfold close-breaker --why …" lets it go`
}

export function openBreakerOf(graph: StateReader, cluster: ClusterId): Breaker | undefined {
  const breaker = breakerOf(graph, cluster)
  return breaker !== undefined && breaker.openedAt > closedAt(graph, cluster) ? breaker : undefined
}

/** Log time at which a person closed it last; what was seen before says nothing any more. */
export function closedAt(graph: StateReader, cluster: ClusterId): number {
  const [own, all] = [breakerOf(graph, cluster), breakerOf(graph, ALL_CLUSTERS)]
  return Math.max(own?.closedAt ?? 0, all?.closedAt ?? 0)
}

export function openBreaker(step: Step, cluster: ClusterId, because: string): void {
  if (openBreakerOf(step.graph, cluster) !== undefined) return
  const event: BreakerOpened = {
    type: 'BreakerOpened',
    cluster,
    openedAt: step.at.timestamp,
    because,
  }
  noteToOthers(step, cluster, event)
  open(step, event)
}

/** Another partition has seen a reason. */
export function breakerOpened(step: Step, event: BreakerOpened): void {
  const { cluster, openedAt } = event
  if (openBreakerOf(step.graph, cluster) !== undefined) return
  if (openedAt <= closedAt(step.graph, cluster)) return drop(step, 'it was closed since')
  open(step, event)
}

function open(step: Step, { cluster, openedAt, because }: BreakerOpened): void {
  const closed = breakerOf(step.graph, cluster)?.closedAt ?? 0
  const breaker: Breaker = { type: 'Breaker', openedAt, closedAt: closed, because }
  step.graph.put(breakerKey(cluster), breaker)
  judgeAll(step, cluster)
}

export function closeBreaker(step: Step, { cluster }: Directive): void {
  const former = breakerOf(step.graph, cluster) ?? NEVER_OPENED
  step.graph.put(breakerKey(cluster), { ...former, closedAt: step.at.timestamp })
  judgeAll(step, cluster)
}

const NEVER_OPENED: Breaker = { type: 'Breaker', openedAt: 0, closedAt: 0, because: '' }

function breakerOf(graph: StateReader, cluster: ClusterId): Breaker | undefined {
  const breaker = graph.get(breakerKey(cluster))
  return breaker?.type === 'Breaker' ? breaker : undefined
}
