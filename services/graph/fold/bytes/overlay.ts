/**
 * Changes over a reader of a state, in memory: of a rehearsal and of tests. A fold that commits has
 * a working set.
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike.
 *
 * Not here: bytes and disks (working-set.ts), the meaning of the changes (core/fold.ts).
 */
import type { Graph, StateReader } from '../../../../core/graph/graph.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import { ChangedRanges } from './changed-ranges.ts'

export interface Overlay extends Graph {
  /**
   * The changes since the last call, in the order in which their keys were first changed: those of
   * one record.
   */
  takeRecent(): Map<string, StateValue | null>
  /** All changes since `clear`. */
  readonly changes: ReadonlyMap<string, StateValue | null>
  clear(): void
}

export function graphOver(reader: StateReader): Overlay {
  const changes = new Map<string, StateValue | null>()
  const ranges = new ChangedRanges()
  let recent = new Map<string, StateValue | null>()

  function change(key: string, value: StateValue | null): void {
    changes.set(key, value)
    recent.set(key, value)
    ranges.add(key)
  }

  return {
    changes,
    get(key) {
      const changed = changes.get(key)
      if (changed !== undefined) return changed ?? undefined
      return changed === null ? undefined : reader.get(key)
    },
    put: change,
    remove(key) {
      change(key, null)
    },
    takeRecent() {
      const taken = recent
      recent = new Map()
      return taken
    },
    overlaid(stored, range) {
      return ranges.overlaid(stored, range, (key) => changes.get(key) !== null)
    },
    clear() {
      invariant(recent.size === 0, 'a record was folded whose changes nobody took')
      changes.clear()
      ranges.clear()
    },
  }
}
