/**
 * Which keys of each range that is read in pages were changed.
 *
 * What must stay true: a page sees every earlier change.
 */
import type { OverlaidRange } from '../../../../core/graph/graph.ts'
import { ALL_NODES_PREFIX } from '../../../../core/graph/key.ts'
import { rangeOf } from '../../../../core/graph/table.ts'
import { invariant } from '../../../../core/model/invariant.ts'

/** The changed keys of one range. */
interface Bucket {
  readonly prefix: string
  readonly keys: Set<string>
}

export class ChangedRanges {
  #buckets = new Map<string, Set<string>>()
  /** Of each first letter the bucket used last: nearly always the next one's, too. */
  #last: (Bucket | undefined)[] = []

  add(key: string): void {
    const letter = key.charCodeAt(0)
    const likely = this.#last[letter]
    if (likely !== undefined && key.startsWith(likely.prefix)) {
      likely.keys.add(key)
      return
    }
    const prefix = rangeOf(key)
    if (prefix === undefined) return
    const keys = this.#buckets.get(prefix) ?? new Set()
    this.#buckets.set(prefix, keys.add(key))
    this.#last[letter] = { prefix, keys }
  }

  /** As `Graph.overlaid`. `isThere`: a changed key holds something. */
  overlaid(
    stored: readonly string[],
    { prefix, after, upTo }: OverlaidRange,
    isThere: (key: string) => boolean,
  ): readonly string[] {
    invariant(isRange(prefix), 'a page of keys that the overlay does not hold by range')
    const keys = new Set(stored)
    for (const key of this.#keysIn(prefix)) {
      if (key <= after || (upTo !== undefined && key > upTo)) continue
      if (isThere(key)) keys.add(key)
      else keys.delete(key)
    }
    return [...keys].sort(byAscii)
  }

  clear(): void {
    this.#buckets = new Map()
    this.#last = []
  }

  /**
   * Changed keys with this prefix; `node/`, of all clusters, is read as a whole when a policy
   * changes.
   */
  *#keysIn(prefix: string): Iterable<string> {
    if (prefix !== ALL_NODES_PREFIX) return yield* this.#buckets.get(prefix) ?? []
    for (const [bucket, keys] of this.#buckets) if (bucket.startsWith(prefix)) yield* keys
  }
}

function isRange(prefix: string): boolean {
  return prefix === ALL_NODES_PREFIX || rangeOf(`${prefix}x`) === prefix
}

function byAscii(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
