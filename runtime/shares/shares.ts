/**
 * Shares of a bounded amount: places, bytes or records that many holders use and no single one may
 * use up. Holders are those that the amount has to be shared between: namespaces, users, clients,
 * clusters.
 *
 * What must stay true: while no other holder needs it, one may have all of it; a holder that has
 * little gets more as soon as it asks, from the one that has most; what a holder has up to the
 * floor is never taken from it. A holder that gives, gives its oldest, so the newest is kept.
 * Whatever is refused or taken away is noted (cuts.ts).
 *
 * Not here: what is held, and giving it up: the owner of the amount does that, and reports it with
 * `give`.
 */
import type { Cuts } from './cuts.ts'

export interface Cap {
  /** As metric and log name it, in the plural: "streams". A constant: it is a label. */
  readonly name: string
  /** Of all holders together. */
  readonly total: number
  /** What no other holder can take from one. */
  readonly floor: number
}

export class Shares {
  readonly cap: Cap
  readonly #cuts: Cuts
  /** More than nothing each, so there are at most as many as units of the total. */
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(cap: Cap, cuts: Cuts) {
    this.cap = cap
    this.#cuts = cuts
    cuts.know(cap.name)
  }

  get taken(): number {
    return this.#taken
  }

  of(holder: string): number {
    return this.#held.get(holder) ?? 0
  }

  /**
   * Who has to give something before a holder may take an amount: no holder (null), another one, or
   * the holder itself, which has its share already. Ask again after each gift: one may not be
   * enough.
   */
  giver(holder: string, amount = 1): string | null {
    if (this.#taken + amount <= this.cap.total) return null
    const wanted = this.of(holder) + amount
    // Where there are more holders than floors fit, the floor is an equal part.
    const holders = this.#held.size + (this.#held.has(holder) ? 0 : 1)
    const floor = Math.min(this.cap.floor, Math.floor(this.cap.total / holders))
    let [largest, most] = [holder, Math.max(wanted, floor)]
    for (const [other, held] of this.#held) {
      if (other !== holder && held > most) [largest, most] = [other, held]
    }
    return largest
  }

  /** Takes it where no holder has to give; otherwise false, and the cut is noted. */
  take(holder: string, amount = 1): boolean {
    if (this.giver(holder, amount) !== null) {
      this.cut(holder, amount)
      return false
    }
    this.#taken += amount
    this.#held.set(holder, this.of(holder) + amount)
    return true
  }

  give(holder: string, amount = 1): void {
    const held = this.of(holder)
    const given = Math.min(held, amount)
    this.#taken -= given
    if (held > given) this.#held.set(holder, held - given)
    else this.#held.delete(holder)
  }

  /** Notes that something of a holder's was refused, or taken from it. */
  cut(holder: string, amount = 1): void {
    this.#cuts.note(this.cap.name, holder, amount)
  }
}
