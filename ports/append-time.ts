/**
 * The append times of a log that gives them by itself: one clock for all its partitions.
 *
 * What must stay true: it never goes back, and it never stands: holds, waits and expiries are counted by it. Where the wall clock is behind what was
 * given before (it was ahead then, and was set right), it goes on from there by the monotonic clock until the wall clock has come up with it.
 *
 * Not here: Kafka, whose brokers give the times.
 */
import type { Clock } from './clock.ts'

export class AppendTime {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** With fractions, or appends within one millisecond of each other would make it stand. */
  #lastMs: number
  #lastMonotonicMs: number

  /** `lastMs`: of the newest entry anywhere in the log; 0 when it is empty. */
  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, lastMs: number) {
    this.#clock = clock
    this.#lastMs = lastMs
    this.#lastMonotonicMs = clock.monotonicMs()
  }

  /** In whole milliseconds since 1970. */
  now(): number {
    const wallMs = this.#clock.now()
    const monotonicMs = this.#clock.monotonicMs()
    const goneMs = monotonicMs - this.#lastMonotonicMs
    this.#lastMonotonicMs = monotonicMs
    this.#lastMs = wallMs < this.#lastMs ? this.#lastMs + goneMs : wallMs
    return Math.floor(this.#lastMs)
  }
}
