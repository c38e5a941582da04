/** What the partitions' stores hold, decoded. Only in quiet: it reads one after the other. */
import { MemoryStore } from '../adapters/memory/store.ts'
import type { StateValue } from '../core/state.ts'
import type { KeyRange } from '../ports/store.ts'
import type { World } from './model.ts'

export const ALL: KeyRange = { gte: ' ', lt: '~', limit: Number.MAX_SAFE_INTEGER }

export async function statesOf(world: World): Promise<ReadonlyMap<string, StateValue>[]> {
  const states: ReadonlyMap<string, StateValue>[] = []
  for (let partition = 0; partition < world.broker.partitions; partition++) {
    const page = await new MemoryStore(world.contentOf(partition)).page(ALL)
    const entries = page.map(
      ([key, bytes]) => [key, world.codec.decode(bytes) as StateValue] as const,
    )
    states.push(new Map(entries))
  }
  return states
}
