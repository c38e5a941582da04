/**
 * A map that lets go of what was put there first once it is full. What must stay true: it never
 * holds more than it may.
 */
export class BoundedMap<K, V> {
  readonly #most: number
  readonly #map = new Map<K, V>()

  constructor(most: number) {
    this.#most = most
  }

  get size(): number {
    return this.#map.size
  }

  get(key: K): V | undefined {
    return this.#map.get(key)
  }

  set(key: K, value: V): void {
    this.#map.set(key, value)
    if (this.#map.size <= this.#most) return
    for (const oldest of this.#map.keys()) {
      this.#map.delete(oldest)
      return
    }
  }

  delete(key: K): void {
    this.#map.delete(key)
  }
}
