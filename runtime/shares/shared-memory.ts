/**
 * What is remembered by key, each for a while, for holders that share a bounded number of places:
 * users and the rights that were reviewed for them, addresses and the tokens that were refused.
 *
 * What must stay true: what has lapsed is as if it had never been, and gives its place before
 * anything that counts does; then the holder that has most makes room, its oldest first, so a
 * holder that fills it forgets its own and no other holder's.
 */
import type { Clock } from '../../ports/clock.ts'
import type { Cuts } from './cuts.ts'
import { type Cap, Shares } from './shares.ts'

interface Kept<T> {
  readonly holder: string
  readonly value: T
  readonly lastsMs: number
  /** Monotonic. */
  readonly until: number
}

export interface SharedMemoryParts {
  readonly cap: Cap
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly cuts: Cuts
}

export class SharedMemory<T> {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #shares: Shares
  readonly #kept = new Map<string, Kept<T>>()
  /** Keys of each, the oldest first. */
  readonly #keys = new Map<string, Set<string>>()
  /** By how long they last, of which there are few: so each is in the order of its ends. */
  readonly #ends = new Map<number, Set<string>>()

  constructor({ cap, clock, cuts }: SharedMemoryParts) {
    this.#clock = clock
    this.#shares = new Shares(cap, cuts)
  }

  get size(): number {
    return this.#kept.size
  }

  get(key: string): T | undefined {
    const kept = this.#kept.get(key)
    return kept !== undefined && this.#clock.monotonicMs() < kept.until ? kept.value : undefined
  }

  /** Not remembered where each has its floor, and this one has nothing to forget for it. */
  set(holder: string, key: string, value: T, lastsMs: number): void {
    this.delete(key)
    this.#forgetLapsed()
    for (let giver = this.#shares.giver(holder); giver; giver = this.#shares.giver(holder)) {
      const [oldest] = this.#keys.get(giver) ?? []
      this.#shares.cut(giver)
      if (oldest === undefined) return
      this.delete(oldest)
    }
    this.#shares.take(holder)
    this.#kept.set(key, { holder, value, lastsMs, until: this.#clock.monotonicMs() + lastsMs })
    add(this.#keys, holder, key)
    add(this.#ends, lastsMs, key)
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (kept === undefined) return
    this.#kept.delete(key)
    this.#shares.give(kept.holder)
    remove(this.#keys, kept.holder, key)
    remove(this.#ends, kept.lastsMs, key)
  }

  /** Each once: no more is looked at than is forgotten, and one of each end. */
  #forgetLapsed(): void {
    const now = this.#clock.monotonicMs()
    for (const keys of this.#ends.values()) {
      for (const key of keys) {
        if (now < (this.#kept.get(key)?.until ?? 0)) break
        this.delete(key)
      }
    }
  }
}

function add<K>(sets: Map<K, Set<string>>, of: K, key: string): void {
  sets.set(of, (sets.get(of) ?? new Set()).add(key))
}

function remove<K>(sets: Map<K, Set<string>>, of: K, key: string): void {
  const its = sets.get(of)
  its?.delete(key)
  if (its?.size === 0) sets.delete(of)
}
