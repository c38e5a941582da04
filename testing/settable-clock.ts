/**
 * The machine's clock, whose wall time a test sets as an administrator sets that of a machine, and that a test may let run ahead.
 *
 * What must stay true: setting the wall clock leaves the monotonic one alone; time that passes moves both. Waits are real.
 */
import type { Clock } from '../ports/clock.ts'
import { systemClock } from '../runtime/clock.ts'

export class SettableClock implements Clock {
  readonly #real: Clock = systemClock()
  #wallOffMs = 0
  #passedMs = 0

  now(): number {
    return this.#real.now() + this.#passedMs + this.#wallOffMs
  }

  monotonicMs(): number {
    return this.#real.monotonicMs() + this.#passedMs
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.#real.sleep(ms, signal)
  }

  /** So far from the right time. */
  setWall(offMs: number): void {
    this.#wallOffMs = offMs
  }

  pass(ms: number): void {
    this.#passedMs += ms
  }
}
