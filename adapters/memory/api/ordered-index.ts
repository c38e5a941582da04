/**
 * An ordered set of keyed values in chunks: writes touch one chunk, a snapshot shares all of them
 * until they are written to.
 *
 * What must stay true: a snapshot never changes. A chunk that some snapshot may hold is copied
 * before it is written.
 *
 * Not here: the meaning of keys (collection.ts).
 */

export interface Keyed {
  readonly key: string
}

interface Chunk<V> {
  /** Never empty, in key order. */
  readonly values: V[]
  /** Written in place only while this equals the index' generation. */
  readonly generation: number
}

/**
 * Half of it stays at a split. Small enough that copying one costs less than serving the request
 * that caused it.
 */
const CHUNK_SIZE = 512

export class OrderedIndex<V extends Keyed> {
  readonly #chunks: Chunk<V>[] = []
  #generation = 0
  #size = 0

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const chunk = this.#chunks[chunkFor(this.#chunks, key)]
    if (chunk === undefined) return undefined
    const found = chunk.values[lowerBound(chunk.values, key)]
    return found?.key === key ? found : undefined
  }

  /** The first one whose key is not smaller. */
  first(gte: string): V | undefined {
    const at = chunkFor(this.#chunks, gte)
    const values = this.#chunks[at]?.values ?? []
    return values[lowerBound(values, gte)] ?? this.#chunks[at + 1]?.values[0]
  }

  /** Adds it, or replaces the value of its key. */
  set(value: V): void {
    if (this.#chunks.length === 0) {
      this.#chunks.push({ values: [value], generation: this.#generation })
      this.#size++
      return
    }
    const at = chunkFor(this.#chunks, value.key)
    const { values } = this.#writable(at)
    const index = lowerBound(values, value.key)
    if (values[index]?.key === value.key) {
      values[index] = value
      return
    }
    values.splice(index, 0, value)
    this.#size++
    if (values.length > CHUNK_SIZE) this.#split(at)
  }

  delete(key: string): void {
    const at = chunkFor(this.#chunks, key)
    if (this.#chunks[at] === undefined) return
    const { values } = this.#writable(at)
    const index = lowerBound(values, key)
    if (values[index]?.key !== key) return
    values.splice(index, 1)
    this.#size--
    if (values.length === 0) this.#chunks.splice(at, 1)
  }

  snapshot(): Snapshot<V> {
    this.#generation++
    return new Snapshot(this.#chunks.slice())
  }

  #writable(at: number): Chunk<V> {
    const chunk = this.#chunks[at]!
    if (chunk.generation === this.#generation) return chunk
    const copy = { values: chunk.values.slice(), generation: this.#generation }
    this.#chunks[at] = copy
    return copy
  }

  #split(at: number): void {
    const { values, generation } = this.#chunks[at]!
    const upper = values.splice(values.length >> 1)
    this.#chunks.splice(at + 1, 0, { values: upper, generation })
  }
}

export class Snapshot<V extends Keyed> {
  readonly #chunks: readonly Chunk<V>[]

  constructor(chunks: readonly Chunk<V>[]) {
    this.#chunks = chunks
  }

  /** From `gte` (inclusive) to `lt` (exclusive). */
  *range(gte: string, lt: string): Generator<V, void, undefined> {
    for (let at = chunkFor(this.#chunks, gte); at < this.#chunks.length; at++) {
      const { values } = this.#chunks[at]!
      for (let index = lowerBound(values, gte); index < values.length; index++) {
        const value = values[index]!
        if (value.key >= lt) return
        yield value
      }
    }
  }

  count(gte: string, lt: string): number {
    return this.#rank(lt) - this.#rank(gte)
  }

  /** How many keys are smaller. */
  #rank(key: string): number {
    const last = chunkFor(this.#chunks, key)
    let rank = 0
    for (let at = 0; at < last; at++) rank += this.#chunks[at]!.values.length
    const chunk = this.#chunks[last]
    return chunk === undefined ? rank : rank + lowerBound(chunk.values, key)
  }
}

/** The last chunk that begins at or before `key`, else the first. */
function chunkFor<V extends Keyed>(chunks: readonly Chunk<V>[], key: string): number {
  let low = 0
  let high = chunks.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (chunks[middle]!.values[0]!.key <= key) low = middle + 1
    else high = middle
  }
  return Math.max(0, low - 1)
}

function lowerBound<V extends Keyed>(values: readonly V[], key: string): number {
  let low = 0
  let high = values.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (values[middle]!.key < key) low = middle + 1
    else high = middle
  }
  return low
}
