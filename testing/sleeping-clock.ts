/**
 * The clock of a process that a test stops: time passes, and no sleeper wakes before the process
 * continues.
 *
 * What must stay true: only timers stop. Input from a wire is passed on, as a process that
 * continues reads it before its timers fire.
 */
import type { Clock } from '../ports/clock.ts'

export class SleepingClock implements Clock {
  readonly #clock: Clock
  #awake: Promise<void> = Promise.resolve()
  #wake: () => void = () => undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  monotonicMs(): number {
    return this.#clock.monotonicMs()
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await this.#clock.sleep(ms, signal)
    await this.#awake
  }

  pause(): void {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awake = promise
    this.#wake = resolve
  }

  resume(): void {
    this.#wake()
  }
}
