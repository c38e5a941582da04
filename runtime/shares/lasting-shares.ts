/**
 * Shares of an amount that no holder can give back when another one needs it, such as bytes of an
 * archive: unlike in shares.ts, what one holder took is taken until it is removed by age.
 *
 * What must stay true: no holder gets more than is left for all others after it, so the first to
 * come has half at most, the next a quarter; the last quarter is for floors alone: there a holder
 * that has little gets up to its floor, however much the others have taken, until so many have that
 * it is used up. The memory is bounded: holders beyond the first two thousand are counted together.
 *
 * Not here: how much there is (the caller measures it at each question), saying what was refused
 * (cuts.ts).
 */
export interface Amounts {
  /** That may still be taken, by all together. */
  readonly left: number
  /** A holder that has less than this may take of the last quarter. */
  readonly floor: number
}

/** For floors alone. */
const KEPT = 0.25
const MOST_HOLDERS = 2_000
/** No holder's name: those are not empty. */
const OTHERS = ''

export class LastingShares {
  readonly #held = new Map<string, number>()
  #taken = 0

  get taken(): number {
    return this.#taken
  }

  of(holder: string): number {
    return this.#held.get(holder) ?? 0
  }

  /** As it is counted: by itself, or with others. */
  keyOf(holder: string): string {
    return this.#held.has(holder) || this.#held.size < MOST_HOLDERS ? holder : OTHERS
  }

  /** `key`: of `keyOf`. */
  may(key: string, amount: number, { left, floor }: Amounts): boolean {
    const held = this.of(key) + amount
    const after = left - amount
    if (after < 0) return false
    if (held <= floor) return true
    return after >= (this.#taken + left) * KEPT && held <= after
  }

  add(key: string, amount: number): void {
    this.#taken += amount
    this.#held.set(key, this.of(key) + amount)
  }

  remove(key: string, amount: number): void {
    const held = this.of(key)
    const removed = Math.min(held, amount)
    this.#taken -= removed
    if (held > removed) this.#held.set(key, held - removed)
    else this.#held.delete(key)
  }
}
