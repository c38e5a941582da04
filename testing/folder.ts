/**
 * Folds events in memory, without bytes, logs or services: the fold alone, a page at a time.
 *
 * What must stay true: pages hold exactly the first keys behind the cursor, as a task's do.
 */

import type { Command } from '../core/command.ts'
import type { Event } from '../core/event.ts'
import { finish, fold, pageOf, resume } from '../core/fold.ts'
import type { Graph } from '../core/graph.ts'
import { graphOver } from '../core/graph.ts'
import type { Outcome } from '../core/outcome.ts'
import type { StateValue } from '../core/state.ts'
import { prefixRange } from '../ports/store.ts'
import { enclosed } from './sorted.ts'

export interface Folder {
  readonly state: ReadonlyMap<string, StateValue>
  readonly graph: Graph
  /** Folds one event, and every `Continue` that follows from it. */
  fold(event: Event, timestampMs?: number): Outcome[]
  /** Folds one event and no more. */
  foldOne(event: Event, timestampMs?: number): Outcome
  readonly commands: readonly Command[]
  readonly position: bigint
}

/** `batchSize`: records between commits; the results must not depend on it. */
export function folder(batchSize = 1): Folder {
  const state = new Map<string, StateValue>()
  const graph = graphOver({ get: (key) => state.get(key) })
  const commands: Command[] = []
  let position = 0n
  let records = 0
  let now = 0

  function keysOf(request: { prefix: string; after: string; limit: number }): readonly string[] {
    const { prefix, after, limit } = request
    const range = prefixRange(prefix, limit)
    const stored = enclosed(state.keys(), after === '' ? prefix : `${after}\0`, range.lt)
    return graph.overlaid(stored, { prefix, after, upTo: undefined }).slice(0, limit)
  }

  function foldOne(event: Event, timestampMs: number = now): Outcome {
    now = Math.max(now, timestampMs)
    const at = { partition: 0, partitions: 1, position, timestamp: now }
    position += 1n
    const folding = fold(graph, event, at)
    for (let page = pageOf(folding); page !== undefined; page = pageOf(folding)) {
      resume(folding, keysOf(page))
    }
    const outcome = finish(folding)
    commands.push(...outcome.commands)
    graph.takeRecent()
    records += 1
    if (records % batchSize === 0) {
      for (const [key, value] of graph.changes) {
        if (value === null) state.delete(key)
        else state.set(key, value)
      }
      graph.clear()
    }
    return outcome
  }

  return {
    state,
    graph,
    commands,
    foldOne,
    get position() {
      return position
    },
    fold(event, timestampMs) {
      const outcomes = [foldOne(event, timestampMs)]
      for (let last = outcomes[0]; last !== undefined && last.notes.length > 0; ) {
        last = foldOne({ type: 'Continue' })
        outcomes.push(last)
      }
      return outcomes
    },
  }
}
