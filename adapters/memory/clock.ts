/**
 * A clock that does not move until a test moves it.
 *
 * What must stay true: sleepers wake in the order of their times, those of one time in the order in
 * which they began to sleep; each one's work gets turns of the event loop before the next one
 * wakes, so it may sleep again within the same `advance`.
 */
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../../ports/clock.ts'

interface Sleeper {
  readonly at: number
  readonly wake: () => void
}

/**
 * Turns of the event loop that a woken sleeper's work gets. Work over memory adapters needs a few;
 * more only cost time.
 */
const TURNS_AFTER_WAKE = 4

export class ManualClock implements Clock {
  readonly #startMs: number
  #elapsedMs = 0
  /** Sorted by time; equal times in the order in which they began. */
  #sleepers: Sleeper[] = []

  constructor(startMs: number = 1_700_000_000_000) {
    this.#startMs = startMs
  }

  now(): number {
    // Whole milliseconds, as a system's clock: waits with jitter end in between.
    return Math.floor(this.#startMs + this.#elapsedMs)
  }

  monotonicMs(): number {
    return this.#elapsedMs
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return
    if (ms <= 0) return setImmediate()
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener('abort', giveUp)
        resolve()
      }
      const sleeper: Sleeper = { at: this.#elapsedMs + ms, wake }
      const giveUp = (): void => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        resolve()
      }
      signal?.addEventListener('abort', giveUp, { once: true })
      const behind = this.#sleepers.findIndex((other) => other.at > sleeper.at)
      this.#sleepers.splice(behind < 0 ? this.#sleepers.length : behind, 0, sleeper)
    })
  }

  /** Moves time on by `ms`, and wakes each sleeper that becomes due. */
  async advance(ms: number): Promise<void> {
    const until = this.#elapsedMs + ms
    await turns()
    for (;;) {
      const next = this.#sleepers[0]
      if (next === undefined || next.at > until) break
      this.#sleepers.shift()
      this.#elapsedMs = next.at
      next.wake()
      await turns()
    }
    this.#elapsedMs = until
  }

  /** The number of sleepers; for tests that need to know that there is one. */
  get sleeping(): number {
    return this.#sleepers.length
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < TURNS_AFTER_WAKE; turn++) await setImmediate()
}
