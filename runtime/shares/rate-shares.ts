/**
 * Shares of what is used up as time goes on: so much of it in any day, by holders within holders (a
 * user of a namespace of a cluster).
 *
 * What must stay true: while no other holder needs it, one may have all of it. Where it is used up,
 * a holder that has had less than the largest one beside it gets more, at the cost of that one,
 * which waits until it is not the largest any more: so of n holders beside each other each may have
 * an n-th part, however many are within each. What was had cannot be taken back: so in a day that
 * begins with one holder that has all, up to 1 + 1/2 + … + 1/n times the total are had. Whatever is
 * refused is noted (cuts.ts).
 *
 * Not here: shares of what is held and can be given back (shares.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Cuts } from './cuts.ts'

export interface RateCap {
  /** As metric and log name it, in the plural. A constant: it is a label. */
  readonly name: string
  /** Of all holders together, in any day. */
  readonly total: number
}

const SLICE_MS = 3_600_000
const SLICES = 24
/** Innermost holders that are known apart; those beyond share one in the place of each. */
const MOST_HOLDERS = 20_000
const OTHERS = '*'

interface Holder {
  had: number
  readonly within: Map<string, Holder>
  /** The one with most within it, while that is known. */
  largest: Holder | undefined
  /** Of an innermost one: what it had in each hour, the oldest first. */
  readonly slices: { readonly slice: number; had: number }[]
}

export class RateShares {
  readonly #cap: RateCap
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #cuts: Cuts
  #all: Holder = holder()
  #holders = 0
  #slice = 0

  constructor(cap: RateCap, clock: Pick<Clock, 'monotonicMs'>, cuts: Cuts) {
    this.#cap = cap
    this.#clock = clock
    this.#cuts = cuts
  }

  /** `path`: the outermost holder first. False: it has had its share. */
  take(path: readonly string[]): boolean {
    this.#forget()
    const own = this.#pathOf(path)
    if (this.#all.had >= this.#cap.total) {
      const giver = giverTo(own)
      if (giver === undefined) {
        this.#cuts.note(this.#cap.name, path.join('/'))
        return false
      }
      takeFrom(giver)
    }
    for (const [index, each] of own.entries()) {
      each.had += 1
      const above = own[index - 1]
      if (above?.largest !== undefined && each.had > above.largest.had) above.largest = each
    }
    const slices = own.at(-1)?.slices ?? []
    const last = slices.at(-1)
    if (last?.slice === this.#slice) last.had += 1
    else slices.push({ slice: this.#slice, had: 1 })
    return true
  }

  /** All of them, from that of all holders to the innermost. */
  #pathOf(path: readonly string[]): readonly Holder[] {
    const own = [this.#all]
    for (const [index, name] of path.entries()) {
      const above = own[index] ?? this.#all
      const isKnown = above.within.has(name) || this.#holders < MOST_HOLDERS
      const key = isKnown ? name : OTHERS
      const found = above.within.get(key) ?? holder()
      if (!above.within.has(key)) {
        above.within.set(key, found)
        if (index === path.length - 1) this.#holders += 1
      }
      own.push(found)
    }
    return own
  }

  /** What was had before the last day. */
  #forget(): void {
    const slice = Math.floor(this.#clock.monotonicMs() / SLICE_MS)
    if (slice === this.#slice) return
    this.#slice = slice
    this.#holders = 0
    this.#expire(this.#all)
  }

  #expire(one: Holder): void {
    one.largest = undefined
    while ((one.slices[0]?.slice ?? this.#slice) <= this.#slice - SLICES) one.slices.shift()
    for (const [name, each] of one.within) {
      this.#expire(each)
      if (each.had === 0) one.within.delete(name)
    }
    const inner = [...one.within.values()]
    this.#holders += one.slices.length > 0 ? 1 : 0
    one.had = [...one.slices, ...inner].reduce((sum, { had }) => sum + had, 0)
  }
}

function holder(): Holder {
  return { had: 0, within: new Map(), largest: undefined, slices: [] }
}

/**
 * From that of all to the innermost that has to give; undefined: the one that asks has its share.
 */
function giverTo(own: readonly Holder[]): readonly Holder[] | undefined {
  for (const [index, above] of own.entries()) {
    const mine = own[index + 1]
    if (mine === undefined) return undefined
    const largest = largestIn(above)
    if (largest !== undefined && largest !== mine && largest.had > mine.had + 1) {
      return [...own.slice(0, index + 1), ...downFrom(largest)]
    }
  }
  return undefined
}

function downFrom(one: Holder): readonly Holder[] {
  const largest = largestIn(one)
  return largest === undefined ? [one] : [one, ...downFrom(largest)]
}

function largestIn(above: Holder): Holder | undefined {
  if (above.largest === undefined) {
    for (const each of above.within.values()) {
      if (each.had > (above.largest?.had ?? 0)) above.largest = each
    }
  }
  return above.largest
}

function takeFrom(giver: readonly Holder[]): void {
  for (const [index, each] of giver.entries()) {
    each.had -= 1
    const above = giver[index - 1]
    if (above?.largest === each) above.largest = undefined
  }
  const oldest = giver.at(-1)?.slices.find(({ had }) => had > 0)
  if (oldest !== undefined) oldest.had -= 1
}
