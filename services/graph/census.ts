/**
 * What this process' part of the graph holds, for metrics and readiness: the tallies of its tasks,
 * each of other clusters.
 *
 * What must stay true: counts are those of the last commits, of all tasks or of none: while the
 * tally of one task is not complete, the last complete counts are returned. Their labels are few.
 *
 * Not here: the counting (tally.ts).
 */
import { openBreakerOf } from '../../core/admit/breaker.ts'
import { pausedBecause } from '../../core/admit/paused.ts'
import { factsOf } from '../../core/graph/facts.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { StoreError } from '../../ports/store.ts'
import type { ClusterTally } from './fold/tally.ts'
import type { Task } from './fold/task.ts'
import type { Graph } from './graph.ts'
import { readerOf } from './query/view/view.ts'

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
        // A store that is being rebuilt, or that was closed for another owner: its task handles
        // that.
        if (!(error instanceof StoreError)) throw error
      }
      return counted
    },
  }
}

function countsOf(tasks: readonly Task[], codec: Codec): readonly ClusterCount[] | undefined {
  const all: ClusterCount[] = []
  for (const task of tasks) {
    const tallies = task.counts()
    if (tallies === undefined) return undefined
    const reader = readerOf(task.store, codec)
    for (const tally of tallies) {
      const facts = factsOf(reader, tally.cluster)
      const isBreakerOpen = openBreakerOf(facts) !== undefined
      const isPaused = pausedBecause(facts) !== ''
      all.push({ ...tally, isBreakerOpen, isPaused })
    }
  }
  return all
}
