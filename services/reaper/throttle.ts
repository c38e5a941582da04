/**
 * The limit of concurrent calls to one cluster: more while its answers come quickly, half when it
 * reports overload.
 *
 * What must stay true: the limit stays between 1 and the ceiling, and is halved once per flight of
 * calls, not once per refusal in it.
 *
 * Not here: which command is next, and the few that may exceed the limit (backlog.ts), retries
 * (reap.ts).
 */
export interface ThrottleBounds {
  readonly startConcurrency: number
  readonly maxConcurrency: number
  readonly slowMs: number
}

export class Throttle {
  readonly #bounds: ThrottleBounds
  #limit: number
  #inFlight = 0
  /** Doubling from round to round until the first sign of trouble, by one after it. */
  #isFinding = true
  #answers = 0
  #slow = 0
  /** The limit was reached in this round; one that is not reached proves nothing by holding. */
  #wasFull = false
  /** Answers still to come of calls sent before the last halving. */
  #old = 0

  constructor(bounds: ThrottleBounds) {
    this.#bounds = bounds
    this.#limit = Math.min(bounds.startConcurrency, bounds.maxConcurrency)
  }

  limit(): number {
    return this.#limit
  }

  inFlight(): number {
    return this.#inFlight
  }

  enter(): void {
    this.#inFlight++
    if (this.#inFlight >= this.#limit) this.#wasFull = true
  }

  leave(): void {
    this.#inFlight--
  }

  /** One call was answered. `throttled`: 429, or another answer that names a time to wait. */
  answered(latencyMs: number, throttled: boolean): void {
    if (this.#old > 0) {
      this.#old--
      return
    }
    if (throttled) {
      this.#isFinding = false
      this.#old = Math.max(0, this.#inFlight - 1)
      this.#nextRound(Math.floor(this.#limit / 2))
      return
    }
    this.#answers++
    if (latencyMs >= this.#bounds.slowMs) this.#slow++
    if (this.#answers < this.#limit) return
    const holds = this.#slow * 2 <= this.#answers
    if (!holds) this.#isFinding = false
    if (!holds) this.#nextRound(this.#limit - 1)
    else if (!this.#wasFull) this.#nextRound(this.#limit)
    else this.#nextRound(this.#isFinding ? this.#limit * 2 : this.#limit + 1)
  }

  #nextRound(to: number): void {
    this.#limit = Math.max(1, Math.min(this.#bounds.maxConcurrency, to))
    this.#answers = 0
    this.#slow = 0
    this.#wasFull = this.#inFlight >= this.#limit
  }
}
