/**
 * Folds events in memory, without bytes, logs or services: the fold alone, a page at a time.
 *
 * What must stay true: pages hold exactly the first keys after the cursor, as a task's do.
 */
import { SortedMap } from '../../adapters/memory/sorted-map.ts'
import { foldRecord } from '../../core/fold.ts'
import type { PageRequest } from '../../core/graph/agenda.ts'
import type { Graph } from '../../core/graph/graph.ts'
import type { Outcome } from '../../core/graph/outcome.ts'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import type { StateValue } from '../../core/model/state.ts'
import { prefixRange } from '../../ports/store.ts'
import { graphOver } from '../../services/graph/fold/bytes/overlay.ts'

export interface Folder {
  /** The committed state; all of it after `commit`. */
  readonly state: ReadonlyMap<string, StateValue>
  readonly graph: Graph
  /** Folds one event, and every `Continue` that follows from it. */
  fold(event: Event, timestampMs?: number): Outcome[]
  /** Folds one event only. */
  foldOne(event: Event, timestampMs?: number): Outcome
  commit(): void
  readonly commands: readonly Command[]
  readonly position: bigint
}

/** `batchSize`: records between commits; the results must not depend on it. */
export function folder(batchSize = 1, partition = 0, partitions = 1): Folder {
  const state = new Map<string, StateValue>()
  const keys = new SortedMap()
  const graph = graphOver({ get: (key) => state.get(key) })
  const commands: Command[] = []
  let position = 0n
  let records = 0
  let now = 0

  /** As a task does: as many keys of the store as requested, then the overlay's changes to them. */
  function page({ prefix, after, limit }: PageRequest): readonly string[] {
    const { lt } = prefixRange(prefix, limit)
    const found: string[] = []
    let from = after
    while (found.length < limit) {
      const stored = keys.page(from === '' ? prefix : `${from}\0`, lt, limit).map(([key]) => key)
      const upTo = stored.length < limit ? undefined : stored[stored.length - 1]
      found.push(...graph.overlaid(stored, { prefix, after: from, upTo }))
      if (upTo === undefined) break
      from = upTo
    }
    return found.slice(0, limit)
  }

  function foldOne(event: Event, timestampMs: number = now): Outcome {
    now = Math.max(now, timestampMs)
    const at = { partition, partitions, position, timestamp: now }
    position += 1n
    const outcome = foldRecord(graph, event, at, page)
    commands.push(...outcome.commands)
    graph.takeRecent()
    records += 1
    if (records % batchSize === 0) commit()
    return outcome
  }

  function commit(): void {
    for (const [key, value] of graph.changes) {
      if (value === null) {
        state.delete(key)
        keys.delete(key)
      } else {
        state.set(key, value)
        keys.set(key, NO_BYTES)
      }
    }
    graph.clear()
  }

  return {
    state,
    graph,
    commands,
    foldOne,
    commit,
    get position() {
      return position
    },
    fold(event, timestampMs) {
      const outcomes = [foldOne(event, timestampMs)]
      while (outcomes.at(-1)?.continues === true) outcomes.push(foldOne({ type: 'Continue' }))
      return outcomes
    },
  }
}

const NO_BYTES = new Uint8Array()
