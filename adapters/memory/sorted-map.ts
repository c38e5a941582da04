/**
 * An ordered map of text to bytes: a Map for points, and its keys in order for pages.
 *
 * What must stay true: the ordered keys are exactly the Map's.
 */
import { SortedKeys } from '../../ports/sorted-keys.ts'

export class SortedMap {
  readonly #values = new Map<string, Uint8Array>()
  #keys = new SortedKeys()

  get size(): number {
    return this.#values.size
  }

  get(key: string): Uint8Array | undefined {
    return this.#values.get(key)
  }

  set(key: string, value: Uint8Array): void {
    const isNew = !this.#values.has(key)
    this.#values.set(key, value)
    if (isNew) this.#keys.add(key)
  }

  delete(key: string): void {
    if (this.#values.delete(key)) this.#keys.delete(key)
  }

  clear(): void {
    this.#values.clear()
    this.#keys.clear()
  }

  /** Its own keys; the values, which are never changed, are shared. */
  copy(): SortedMap {
    const copy = new SortedMap()
    for (const [key, value] of this.#values) copy.#values.set(key, value)
    copy.#keys = this.#keys.copy()
    return copy
  }

  /**
   * At most `limit` entries with keys from `gte` up to, not including, `lt`: the first, or the
   * last.
   */
  page(
    gte: string,
    lt: string,
    limit: number,
    take: 'first' | 'last' = 'first',
  ): (readonly [string, Uint8Array])[] {
    const keys =
      take === 'first' ? this.#keys.page(gte, lt, limit) : this.#keys.last(gte, lt, limit)
    return keys.map((key) => [key, this.#values.get(key)!])
  }
}
