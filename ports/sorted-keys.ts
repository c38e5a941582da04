/**
 * An ordered set of text that stays fast at half a million keys in any order: for the pages of a
 * map that is in memory.
 *
 * What must stay true: the chunks ascend over all chunks, and none is empty or longer than
 * `CHUNK_LIMIT`.
 */

/** An insert moves at most this many keys; a page begins after two binary searches. */
const CHUNK_LIMIT = 512

export class SortedKeys {
  readonly #chunks: string[][] = []

  /** One that is not there. */
  add(key: string): void {
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

  /** One that is there. */
  delete(key: string): void {
    const at = this.#chunkAt(key)
    const chunk = this.#chunks[at]!
    chunk.splice(firstNotBefore(chunk, key), 1)
    if (chunk.length === 0) this.#chunks.splice(at, 1)
  }

  clear(): void {
    this.#chunks.length = 0
  }

  copy(): SortedKeys {
    const copy = new SortedKeys()
    for (const chunk of this.#chunks) copy.#chunks.push([...chunk])
    return copy
  }

  /** At most `limit` keys from `gte` up to, not including, `lt`. */
  page(gte: string, lt: string, limit: number): string[] {
    const keys: string[] = []
    let at = this.#chunkAt(gte)
    let chunk = this.#chunks[at]
    let index = chunk === undefined ? 0 : firstNotBefore(chunk, gte)
    while (chunk !== undefined && keys.length < limit) {
      const key = chunk[index]
      if (key === undefined) {
        chunk = this.#chunks[++at]
        index = 0
        continue
      }
      if (key >= lt) break
      keys.push(key)
      index++
    }
    return keys
  }

  /** The same, the last ones, in order. */
  last(gte: string, lt: string, limit: number): string[] {
    const keys: string[] = []
    let at = this.#chunkAt(lt)
    let chunk = this.#chunks[at]
    let index = chunk === undefined ? 0 : firstNotBefore(chunk, lt)
    while (chunk !== undefined && keys.length < limit) {
      const key = chunk[--index]
      if (key === undefined) {
        chunk = this.#chunks[--at]
        index = chunk?.length ?? 0
        continue
      }
      if (key < gte) break
      keys.push(key)
    }
    return keys.reverse()
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
