/**
 * Gives the event loop its turn in long work: what must stay true is that nothing computes for
 * longer than `TURN_MS` between two of them.
 */
import type { Clock } from '../../ports/clock.ts'
import { TURN_MS } from './config.ts'

export class Turns {
  readonly #clock: Clock
  #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.monotonicMs() + TURN_MS
  }

  /**
   * Call it between any two small pieces of work; pieces that are done side by side share their
   * turns.
   */
  async take(): Promise<void> {
    while (this.#clock.monotonicMs() >= this.#at) {
      const due = this.#at
      await this.#clock.sleep(0)
      if (this.#at === due) this.#at = this.#clock.monotonicMs() + TURN_MS
    }
  }
}
