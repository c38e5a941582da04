/**
 * An ordered map of text to bytes that stays fast at half a million keys in any order: a Map for points, and chunks of sorted keys for pages.
 *
 * What must stay true: the chunks hold exactly the Map's keys, ascending over all chunks, and none is empty or longer than `CHUNK_LIMIT`.
 */

/** An insert moves at most this many keys; a page begins after two binary searches. */
const CHUNK_LIMIT = 512

export class SortedMap {
  readonly #values = new Map<string, Uint8Array>()
  readonly #chunks: string[][] = []

  get size(): number {
    return this.#values.size
  }

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Uint8Array): void {
    const isNew = !this.#values.has(key)
    this.#values.set(key, value)
    if (isNew) this.#insert(key)
  }

  delete(key: string): void {
    if (!this.#values.delete(key)) return
    const at = this.#chunkAt(key)
    const chunk = this.#chunks[at]!
    chunk.splice(firstNotBefore(chunk, key), 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  clear(): void {
    this.#values.clear()
    this.#chunks.length = 0
  }

  /** Its own keys; the values, which are never changed, are shared. */
  copy(): SortedMap {
    const copy = new SortedMap()
    for (const [key, value] of this.#values) copy.#values.set(key, value)
    for (const chunk of this.#chunks) copy.#chunks.push([...chunk])
    return copy
  }

  /** At most `limit` entries with keys from `gte` up to, not including, `lt`. */
  page(gte: string, lt: string, limit: number): (readonly [string, Uint8Array])[] {
    const entries: (readonly [string, Uint8Array])[] = []
    let at = this.#chunkAt(gte)
    let chunk = this.#chunks[at]
    let index = chunk === undefined ? 0 : firstNotBefore(chunk, gte)
    while (chunk !== undefined && entries.length < limit) {
      const key = chunk[index]
      if (key === undefined) {
        chunk = this.#chunks[++at]
        index = 0
        continue
      }
      if (key >= lt) break
      entries.push([key, this.#values.get(key)!])
      index++
    }
    return entries
  }

  #insert(key: string): void {
    const at = this.#chunkAt(key)
    const chunk = this.#chunks[at]
    if (chunk === undefined) {
      this.#chunks.push([key])
      return
    }
    chunk.splice(firstNotBefore(chunk, key), 0, key)
    if (chunk.length <= CHUNK_LIMIT) return
    // Keys that only ever grow leave full chunks, not half empty ones.
    const isLast = at === this.#chunks.length - 1
    this.#chunks.splice(at + 1, 0, chunk.splice(isLast ? CHUNK_LIMIT : CHUNK_LIMIT / 2))
  }

  /** The last chunk that begins at or before the key, or the first one. */
  #chunkAt(key: string): number {
    let low = 0
    let high = this.#chunks.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#chunks[middle]![0]! <= key) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }
}

function firstNotBefore(keys: readonly string[], key: string): number {
  let low = 0
  let high = keys.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (keys[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
