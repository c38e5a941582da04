/**
 * The contents of the partitions' stores: at once, and decoded. The latter only at rest: it reads
 * one after the other.
 */
import type { SortedMap } from '../../adapters/memory/sorted-map.ts'
import type { StateValue } from '../../core/model/state.ts'
import type { KeyRange } from '../../ports/store.ts'
import { stateValueOf } from '../../services/graph/fold/bytes/long-node.ts'
import { END_OF_STATE } from '../../services/graph/fold/former/former-key.ts'
import { valueIn } from '../../services/graph/fold/former/row.ts'
import type { Content, World } from '../model.ts'

export const ALL: KeyRange = { gte: ' ', lt: END_OF_STATE, limit: Number.MAX_SAFE_INTEGER }

/** The content of a disk, with the gathered writes of its store. */
export function contentWith(
  entries: SortedMap,
  gathered: ReadonlyMap<string, Uint8Array | null> = new Map(),
): Content {
  return {
    get(key) {
      const changed = gathered.get(key)
      const row = changed === undefined ? entries.get(key) : (changed ?? undefined)
      return row && valueIn(row)
    },
    page(gte, lt, limit) {
      const held = new Map(entries.page(gte, lt, Number.MAX_SAFE_INTEGER))
      for (const [key, value] of gathered) {
        if (key < gte || key >= lt) continue
        if (value === null) held.delete(key)
        else held.set(key, value)
      }
      const rows = [...held].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, limit)
      return rows.map(([key, row]) => [key, valueIn(row)])
    },
  }
}

export async function statesOf(world: World): Promise<ReadonlyMap<string, StateValue>[]> {
  const states: ReadonlyMap<string, StateValue>[] = []
  for (let partition = 0; partition < world.broker.partitions; partition++) {
    const content = world.contentOf(partition)
    const page = content.page(ALL.gte, ALL.lt, ALL.limit)
    const entries = page.map(
      ([key, bytes]) => [key, stateValueOf(world.codec, key, bytes, content.get)] as const,
    )
    states.push(new Map(entries))
  }
  return states
}
