/**
 * What this process' part of the graph holds, for metrics and readiness: the tallies of its tasks, added up.
 *
 * What must stay true: counts are those of the last commits, of all tasks or of none: while one is not counted yet, the last ones told stand. Their labels are few.
 *
 * Not here: the counting (tally.ts).
 */
import { openBreakerOf } from '../../core/breaker.ts'
import { pausedBecause } from '../../core/directive.ts'
import type { ClusterId } from '../../core/object.ts'
import type { Codec } from '../../ports/codec.ts'
import { StoreError } from '../../ports/store.ts'
import type { Graph } from './graph.ts'
import type { ClusterTally } from './tally.ts'
import { bothBlocked } from './tally.ts'
import type { Task } from './task.ts'
import { readerOf } from './view.ts'

/** Of one cluster, over all partitions. */
export interface ClusterCount extends ClusterTally {
  readonly isBreakerOpen: boolean
  readonly isPaused: boolean
}

export interface Census {
  counts(): readonly ClusterCount[]
}

export function createCensus(graph: Pick<Graph, 'tasks'>, codec: Codec): Census {
  let counted: readonly ClusterCount[] = []

  return {
    counts() {
      try {
        counted = countsOf(graph.tasks, codec) ?? counted
      } catch (error) {
        // A store that is being rebuilt, or closed and somebody else's now: its task sees to that.
        if (!(error instanceof StoreError)) throw error
      }
      return counted
    },
  }
}

function countsOf(tasks: readonly Task[], codec: Codec): readonly ClusterCount[] | undefined {
  const sums = new Map<ClusterId, ClusterCount>()
  for (const task of tasks) {
    const tallies = task.counts()
    if (tallies === undefined) return undefined
    const reader = readerOf(task.store, codec)
    for (const tally of tallies) {
      const { cluster } = tally
      const isBreakerOpen = openBreakerOf(reader, cluster) !== undefined
      const isPaused = pausedBecause(reader, cluster) !== ''
      const count = { ...tally, isBreakerOpen, isPaused }
      const other = sums.get(cluster)
      sums.set(cluster, other === undefined ? count : both(other, count))
    }
  }
  return [...sums.values()]
}

function both(a: ClusterCount, b: ClusterCount): ClusterCount {
  const { held, blocked } = a
  return {
    cluster: a.cluster,
    edges: a.edges + b.edges,
    dangling: a.dangling + b.dangling,
    held: {
      mode: held.mode + b.held.mode,
      pause: held.pause + b.held.pause,
      protection: held.protection + b.held.protection,
      approval: held.approval + b.held.approval,
      breaker: held.breaker + b.held.breaker,
      hold: held.hold + b.held.hold,
      budget: held.budget + b.held.budget,
    },
    blocked: {
      unresolvable: bothBlocked(blocked.unresolvable, b.blocked.unresolvable),
      held: bothBlocked(blocked.held, b.blocked.held),
      refused: bothBlocked(blocked.refused, b.blocked.refused),
    },
    isBreakerOpen: a.isBreakerOpen || b.isBreakerOpen,
    isPaused: a.isPaused || b.isPaused,
  }
}
