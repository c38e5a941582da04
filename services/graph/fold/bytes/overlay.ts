/**
 * Changes that are not stored yet, over a reader of the stored state: the state of a fold until its
 * commit.
 *
 * What must stay true: every read sees every earlier change, in points and in pages alike; nothing
 * leaves the overlay before its commit.
 *
 * Not here: bytes and disks (ports/store.ts), the meaning of the changes (core/fold.ts).
 */
import type { Graph, StateReader } from '../../../../core/graph/graph.ts'
import { ALL_NODES_PREFIX } from '../../../../core/graph/key.ts'
import { rangeOf } from '../../../../core/graph/table.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { StateValue } from '../../../../core/model/state.ts'

export function graphOver(reader: StateReader): Graph {
  const changes = new Map<string, StateValue | null>()
  const buckets = new Map<string, Set<string>>()
  /** Of each first letter the bucket used last: nearly always the next one's, too. */
  let last: (Bucket | undefined)[] = []
  let recent = new Map<string, StateValue | null>()

  function change(key: string, value: StateValue | null): void {
    changes.set(key, value)
    recent.set(key, value)
    const letter = key.charCodeAt(0)
    const likely = last[letter]
    if (likely !== undefined && key.startsWith(likely.prefix)) {
      likely.keys.add(key)
      return
    }
    const prefix = rangeOf(key)
    if (prefix === undefined) return
    const keys = buckets.get(prefix) ?? new Set()
    buckets.set(prefix, keys.add(key))
    last[letter] = { prefix, keys }
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
    overlaid(stored, { prefix, after, upTo }) {
      invariant(isRange(prefix), 'a page of keys that the overlay does not hold by range')
      const keys = new Set(stored)
      for (const key of overlaidKeys(buckets, prefix)) {
        if (key <= after || (upTo !== undefined && key > upTo)) continue
        if (changes.get(key) === null) keys.delete(key)
        else keys.add(key)
      }
      return [...keys].sort(byAscii)
    },
    clear() {
      invariant(recent.size === 0, 'a record was folded whose changes nobody took')
      changes.clear()
      buckets.clear()
      last = []
    },
  }
}

/** The changed keys of one range. */
interface Bucket {
  readonly prefix: string
  readonly keys: Set<string>
}

/**
 * Changed keys with this prefix; `node/`, of all clusters, is read as a whole when a policy
 * changes.
 */
function* overlaidKeys(buckets: Map<string, Set<string>>, prefix: string): Iterable<string> {
  if (prefix !== ALL_NODES_PREFIX) return yield* buckets.get(prefix) ?? []
  for (const [bucket, keys] of buckets) if (bucket.startsWith(prefix)) yield* keys
}

function isRange(prefix: string): boolean {
  return prefix === ALL_NODES_PREFIX || rangeOf(`${prefix}x`) === prefix
}

function byAscii(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
