/**
 * The append times of a log that gives them by itself: one clock for all its partitions.
 *
 * What must stay true: it never goes back and never stops, since holds, waits and expiries are
 * counted by it. While a process runs, it is never ahead of the monotonic clock by more than a
 * heartbeat, so a wall clock that is set forward ends no hold. At a start nothing measured the time
 * since the newest entry, so none of it counts until API servers confirm it by their own clocks, or
 * a person does. Where the wall clock is behind (it was set back), time continues
 * by the monotonic clock until the wall clock has caught up.
 *
 * Not here: who is asked (cli/process/log-time.ts); Kafka, whose brokers give the times. Why it is
 * done so: docs/inside/decisions/0024 and 0054.
 */
import type { Clock } from './clock.ts'

/**
 * A watcher's heartbeat: clocks are read one after the other, and a second that a server puts right
 * is no step of the clock.
 */
export const MOST_AHEAD_MS = 5_000

/**
 * The wall clock was set by at least as much, or the machine was suspended and its own clock did
 * not notice.
 */
const STEP_MS = 1_000

export class AppendTime {
  readonly #clock: Pick<Clock, 'now' | 'monotonicMs'>
  /** The offset to add to the monotonic clock for the latest time that may be given. */
  #mostMs: number
  /** With fractions: otherwise it would stop for appends within one millisecond of each other. */
  #lastMs: number
  #lastMonotonicMs: number
  /**
   * How far the wall clock is ahead, but for what is no step; the append time when it was set
   * forward last, or this process started; and the time that passed by it and was not counted.
   */
  #aheadMs: number
  #steppedAtMs: number
  #steppedMs: number

  /**
   * `lastMs`: of the newest entry anywhere in the log; 0 when it is empty: then no hold has begun
   * that a wrong clock could end, and the wall clock is taken.
   */
  constructor(clock: Pick<Clock, 'now' | 'monotonicMs'>, lastMs: number) {
    this.#clock = clock
    this.#lastMonotonicMs = clock.monotonicMs()
    const wallMs = clock.now()
    const isEmpty = lastMs === 0
    this.#lastMs = isEmpty ? wallMs : lastMs
    this.#steppedAtMs = this.#lastMs
    this.#aheadMs = wallMs - this.#lastMs
    this.#steppedMs = Math.max(0, this.#aheadMs)
    this.#mostMs = this.#lastMs - this.#lastMonotonicMs + (isEmpty ? MOST_AHEAD_MS : 0)
  }

  /**
   * Counts the time since the newest entry as far as the wall clock and each of these agree that it
   * passed; `skewsMs`: an API server's clock minus the wall clock. None: nothing is confirmed.
   */
  confirm(skewsMs: readonly number[]): void {
    if (skewsMs.length > 0) this.#countUntil(this.#clock.now() + Math.min(0, ...skewsMs))
  }

  /** A person says that the wall clock is right. */
  confirmWall(): void {
    this.#countUntil(this.#clock.now())
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
   * How long ago this append time was given, or longer. If the wall clock was set forward since, or
   * time since the newest entry was not confirmed at the start, it is older by that: a record must
   * not look young because a machine was suspended, or Kinfold was down, for hours.
   */
  ageMs(timestamp: number): number {
    const { nowMs } = this.#read()
    return nowMs - timestamp + (timestamp > this.#steppedAtMs ? 0 : this.#steppedMs)
  }

  #countUntil(timeMs: number): void {
    this.#read()
    const countedMs = Math.max(0, timeMs - this.#lastMs)
    this.#lastMs += countedMs
    this.#aheadMs -= countedMs
    this.#steppedMs = Math.max(0, this.#steppedMs - countedMs)
    this.#mostMs = this.#lastMs - this.#lastMonotonicMs + MOST_AHEAD_MS
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
