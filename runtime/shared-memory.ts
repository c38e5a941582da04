/**
 * What is remembered by key for holders that share a bounded number of places: users and the rights
 * that were reviewed for them, addresses and the tokens that were refused.
 *
 * What must stay true: whoever has most makes room, its oldest first, so a holder that fills it
 * forgets its own and nobody else's.
 *
 * Not here: for how long what is remembered counts.
 */
import type { Cuts } from './cuts.ts'
import { type Cap, Shares } from './shares.ts'

interface Kept<T> {
  readonly holder: string
  readonly value: T
}

export class SharedMemory<T> {
  readonly #shares: Shares
  readonly #kept = new Map<string, Kept<T>>()
  /** Keys of each, the oldest first. */
  readonly #keys = new Map<string, Set<string>>()

  constructor(cap: Cap, cuts: Cuts) {
    this.#shares = new Shares(cap, cuts)
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): T | undefined {
    return this.#kept.get(key)?.value
  }

  /** Not remembered where each has its floor, and this one has nothing to forget for it. */
  set(holder: string, key: string, value: T): void {
    this.delete(key)
    for (let giver = this.#shares.giver(holder); giver; giver = this.#shares.giver(holder)) {
      const [oldest] = this.#keys.get(giver) ?? []
      this.#shares.cut(giver)
      if (oldest === undefined) return
      this.delete(oldest)
    }
    this.#shares.take(holder)
    this.#kept.set(key, { holder, value })
    const keys = this.#keys.get(holder) ?? new Set()
    this.#keys.set(holder, keys.add(key))
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#shares.give(kept.holder)
    const keys = this.#keys.get(kept.holder)
    keys?.delete(key)
    if (keys?.size === 0) this.#keys.delete(kept.holder)
  }
}
