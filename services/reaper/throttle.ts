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
export interface Throttle {
  limit(): number
  inFlight(): number
  enter(): void
  leave(): void
  /** One call was answered. `throttled`: 429, or another answer that names a time to wait. */
  answered(latencyMs: number, throttled: boolean): void
}

export interface ThrottleBounds {
  readonly startConcurrency: number
  readonly maxConcurrency: number
  readonly slowMs: number
}

export function createThrottle(bounds: ThrottleBounds): Throttle {
  let limit = Math.min(bounds.startConcurrency, bounds.maxConcurrency)
  let inFlight = 0
  /** Doubling from round to round until the first sign of trouble, by one after it. */
  let isFinding = true
  let answers = 0
  let slow = 0
  /** The limit was reached in this round; one that is not reached proves nothing by holding. */
  let wasFull = false
  /** Answers still to come of calls sent before the last halving. */
  let old = 0

  function nextRound(to: number): void {
    limit = Math.max(1, Math.min(bounds.maxConcurrency, to))
    answers = 0
    slow = 0
    wasFull = inFlight >= limit
  }

  return {
    limit: () => limit,
    inFlight: () => inFlight,
    enter() {
      inFlight++
      if (inFlight >= limit) wasFull = true
    },
    leave() {
      inFlight--
    },
    answered(latencyMs, throttled) {
      if (old > 0) {
        old--
        return
      }
      if (throttled) {
        isFinding = false
        old = Math.max(0, inFlight - 1)
        nextRound(Math.floor(limit / 2))
        return
      }
      answers++
      if (latencyMs >= bounds.slowMs) slow++
      if (answers < limit) return
      const holds = slow * 2 <= answers
      if (!holds) isFinding = false
      if (!holds) nextRound(limit - 1)
      else if (wasFull) nextRound(isFinding ? limit * 2 : limit + 1)
      else nextRound(limit)
    },
  }
}
