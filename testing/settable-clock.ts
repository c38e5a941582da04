/**
 * A clock that stands unless a test lets time pass, and whose wall time a test sets as an
 * administrator sets that of a machine. Who sleeps really waits, and so much time has passed then.
 *
 * What must stay true: setting the wall clock leaves the monotonic one alone; time that passes
 * moves both. How busy the machine is moves neither, so a test may say to the millisecond what time
 * it is.
 */
import type { Clock } from '../ports/clock.ts'
import { systemClock } from '../runtime/clock.ts'

export class SettableClock implements Clock {
  readonly #real: Clock = systemClock()
  readonly #begunMs = Math.trunc(this.#real.now())
  #wallOffMs = 0
  #passedMs = 0

  now(): number {
    return this.#begunMs + this.#passedMs + this.#wallOffMs
  }

  monotonicMs(): number {
    return this.#passedMs
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const untilMs = this.#passedMs + ms
    await this.#real.sleep(ms, signal)
    if (signal?.aborted !== true) this.#passedMs = Math.max(this.#passedMs, untilMs)
  }

  /** So far from the right time. */
  setWall(offMs: number): void {
    this.#wallOffMs = offMs
  }

  pass(ms: number): void {
    this.#passedMs += ms
  }
}
