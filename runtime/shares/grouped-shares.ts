/**
 * Shares of a bounded amount among groups, and in each group among its holders: clusters and their
 * namespaces, operators and users.
 *
 * What must stay true: what a group has up to its floor no other group takes, however many holders
 * that one has; within a group it is as in shares.ts.
 *
 * Not here: what is held, and giving it up: the owner of the amount does that.
 */
import type { Cuts } from './cuts.ts'
import { type Cap, Shares } from './shares.ts'

export interface Holder {
  readonly group: string
  readonly name: string
}

export interface GroupedCap extends Cap {
  /** What no other group can take from one; `floor` is a holder's in its group. */
  readonly groupFloor: number
}

export class GroupedShares {
  readonly #cap: GroupedCap
  readonly #cuts: Cuts
  readonly #groups: Shares
  /** By group, then by holder; each has something. */
  readonly #held = new Map<string, Map<string, number>>()

  constructor(cap: GroupedCap, cuts: Cuts) {
    this.#cap = cap
    this.#cuts = cuts
    const { name, total, groupFloor } = cap
    this.#groups = new Shares({ name, total, floor: groupFloor }, cuts)
  }

  get taken(): number {
    return this.#groups.taken
  }

  of({ group, name }: Holder): number {
    return this.#held.get(group)?.get(name) ?? 0
  }

  /** As `Shares.giver`: null, another holder, or this one, which has its share already. */
  giver(holder: Holder, amount = 1): Holder | null {
    const group = this.#groups.giver(holder.group, amount)
    if (group === null) return null
    const isOwn = group === holder.group
    let most = isOwn ? Math.max(this.of(holder) + amount, this.#cap.floor) : 0
    let largest = holder.name
    for (const [name, held] of this.#held.get(group) ?? []) {
      if (held > most && !(isOwn && name === holder.name)) [largest, most] = [name, held]
    }
    return { group, name: largest }
  }

  /** As `Shares.take`. */
  take(holder: Holder, amount = 1): boolean {
    if (this.giver(holder, amount) !== null) {
      this.cut(holder, amount)
      return false
    }
    this.#groups.take(holder.group, amount)
    const its = this.#held.get(holder.group) ?? new Map<string, number>()
    its.set(holder.name, this.of(holder) + amount)
    this.#held.set(holder.group, its)
    return true
  }

  give(holder: Holder, amount = 1): void {
    const { group, name } = holder
    const held = this.of(holder)
    const given = Math.min(held, amount)
    const its = this.#held.get(group)
    if (its === undefined) return
    this.#groups.give(group, given)
    if (held > given) its.set(name, held - given)
    else its.delete(name)
    if (its.size === 0) this.#held.delete(group)
  }

  /** Notes that something of a holder's was refused, or taken from it. */
  cut({ group, name }: Holder, amount = 1): void {
    this.#cuts.note(this.#cap.name, `${group} ${name}`, amount)
  }
}

export function isSame(one: Holder, other: Holder): boolean {
  return one.group === other.group && one.name === other.name
}
