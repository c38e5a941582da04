/**
 * The append times of a log that gives them by itself: one clock for all its partitions.
 *
 * What must stay true: it never goes back and never stops, since holds, waits and expiries are counted by it; and between two starts of a process it never runs
 * ahead of the monotonic clock by more than a heartbeat, so a wall clock that is set forward ends no hold. Where the wall clock is behind (it was set back), time
 * continues by the monotonic clock until the wall clock has caught up; where the wall clock is ahead, append time catches up at the next start.
 *
 * Not here: Kafka, whose brokers give the times. Why it does not catch up while the process runs: docs/decisions/0024.
 */
import type { Clock } from './clock.ts'

/** A watcher's heartbeat: clocks are read one after the other, and a second that a server puts right is no step of the clock. */
export const MOST_AHEAD_MS = 5_000

/** The wall clock was set by at least as much, or the machine was suspended and its own clock did not notice. */
const STEP_MS = 1_000

export class AppendTime {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** The offset to add to the monotonic clock for the latest time that may be given. */
  readonly #mostMs: number
  /** With fractions: otherwise it would stop for appends within one millisecond of each other. */
  #lastMs: number
  #lastMonotonicMs: number
  /** How far the wall clock is ahead, but for what is no step; the append time when it was set forward last; and by how much it was altogether. */
  #aheadMs: number
  #steppedAtMs: number
  #steppedMs = 0

  /** `lastMs`: of the newest entry anywhere in the log; 0 when it is empty. */
  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, lastMs: number) {
    this.#clock = clock
    this.#lastMs = lastMs
    this.#lastMonotonicMs = clock.monotonicMs()
    const wallMs = clock.now()
    this.#steppedAtMs = Math.max(lastMs, wallMs)
    this.#aheadMs = wallMs - this.#steppedAtMs
    this.#mostMs = this.#steppedAtMs - this.#lastMonotonicMs + MOST_AHEAD_MS
  }

  /** In whole milliseconds since 1970. */
  now(): number {
    return this.#read().nowMs
  }

  /** How far the wall clock is ahead of it; negative where it is behind. */
  wallAheadMs(): number {
    const { wallMs, nowMs } = this.#read()
    return wallMs - nowMs
  }

  /**
   * How long ago this append time was given, or longer. If the wall clock was set forward since, it is older by that: a machine that was suspended for hours
   * without noticing looks like one whose clock was set, and a record must not look young because of that.
   */
  ageMs(timestamp: number): number {
    const { nowMs } = this.#read()
    return nowMs - timestamp + (timestamp > this.#steppedAtMs ? 0 : this.#steppedMs)
  }

  #read(): { readonly wallMs: number; readonly nowMs: number } {
    const wallMs = this.#clock.now()
    const monotonicMs = this.#clock.monotonicMs()
    const goneMs = monotonicMs - this.#lastMonotonicMs
    this.#lastMonotonicMs = monotonicMs
    this.#lastMs =
      wallMs < this.#lastMs ? this.#lastMs + goneMs : Math.min(wallMs, monotonicMs + this.#mostMs)
    this.#noteStep(wallMs - this.#lastMs)
    return { wallMs, nowMs: Math.floor(this.#lastMs) }
  }

  #noteStep(aheadMs: number): void {
    const grownMs = aheadMs - this.#aheadMs
    if (grownMs > 0 && grownMs < STEP_MS) return
    this.#aheadMs = aheadMs
    if (grownMs < STEP_MS) return
    this.#steppedAtMs = this.#lastMs
    this.#steppedMs += grownMs
  }
}
