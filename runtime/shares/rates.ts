/**
 * How often each of many sources may do something: so many a second, and twice as many at once
 * after a pause.
 *
 * What must stay true: no source uses up another's; what is remembered of them is bounded: a source
 * that has paused is forgotten, which changes nothing for it, and those beyond the first thousand
 * at one time share one allowance.
 */
import type { Clock } from '../../ports/clock.ts'

const MOST_SOURCES = 1_000
const OTHERS = ''

interface Allowance {
  left: number
  at: number
}

export class Rates {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #perSecond: number
  readonly #sources = new Map<string, Allowance>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, perSecond: number) {
    this.#clock = clock
    this.#perSecond = perSecond
  }

  /** False: not now. */
  take(source: string): boolean {
    const now = this.#clock.monotonicMs()
    const key = this.#keyOf(source, now)
    const known = this.#sources.get(key)
    const left = known === undefined ? this.#most() : this.#leftOf(known, now)
    if (left < 1) return false
    this.#sources.set(key, { left: left - 1, at: now })
    return true
  }

  #most(): number {
    return 2 * this.#perSecond
  }

  #leftOf({ left, at }: Allowance, now: number): number {
    return Math.min(this.#most(), left + ((now - at) / 1_000) * this.#perSecond)
  }

  #keyOf(source: string, now: number): string {
    if (this.#sources.has(source) || this.#sources.size < MOST_SOURCES) return source
    for (const [key, known] of this.#sources) {
      if (this.#leftOf(known, now) >= this.#most()) this.#sources.delete(key)
    }
    return this.#sources.size < MOST_SOURCES ? source : OTHERS
  }
}
