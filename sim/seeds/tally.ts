/**
 * The sum of many seeds: how many failed, which faults happened in them, how long it takes.
 *
 * What must stay true: it is whole after each seed, so a run may be stopped at any time.
 *
 * Not here: what is printed about one seed (main.ts).
 */
import { BY_THEMSELVES, FAULTS } from '../fault/faults.ts'
import type { Report } from './worker.ts'

/** In so many worlds every fault happens; of fewer not all are to be expected. */
const WHOLE = 300

export class Tally {
  readonly #count: number
  readonly #begunMs: number = performance.now()
  readonly #fired = new Set<string>()
  readonly #wrong: number[] = []
  #seeds = 0
  #hits = 0
  #cpuMs = 0
  #elapsedMs = 0

  /** Of how many there are to be. */
  constructor(count: number) {
    this.#count = count
  }

  add({ seed, wrongs, fired, cpuMs, elapsedMs }: Report): void {
    this.#seeds++
    this.#cpuMs += cpuMs
    this.#elapsedMs += elapsedMs
    if (wrongs.length > 0) this.#wrong.push(seed)
    for (const [row, times] of fired) {
      this.#fired.add(row)
      this.#hits += times
    }
  }

  /**
   * That a fault never happened is a failure of such a run: what it would have shown was not
   * checked.
   */
  get lacksFaults(): boolean {
    return this.#seeds >= WHOLE && this.#never.length > 0
  }

  get #never(): readonly string[] {
    const rows = [...FAULTS.map(({ row }) => row), ...Object.keys(BY_THEMSELVES)]
    return rows.filter((row) => !this.#fired.has(row))
  }

  progress(): string {
    const leftMinutes = Math.ceil((this.#count - this.#seeds) / Math.max(this.#rate, 1e-6) / 60)
    const left = this.#seeds === 0 ? '' : `; ${leftMinutes} minutes left`
    return `${this.#seeds} of ${this.#count} seeds, ${this.#rate.toFixed(2)} a second, ${this.#wrong.length} went wrong${left}`
  }

  lines(): readonly string[] {
    const hours = Math.round(this.#elapsedMs / 3_600_000)
    const cpu = (this.#cpuMs / 1_000 / Math.max(1, this.#seeds)).toFixed(1)
    const done = this.#seeds === this.#count ? `${this.#seeds}` : `${this.#seeds} of ${this.#count}`
    const which = this.#wrong.length === 0 ? '' : ` (${this.#wrong.join(' ')})`
    return [
      `${done} seeds, ${hours} virtual hours, ${this.#hits} faults, ${cpu} s of CPU each, ${this.#rate.toFixed(2)} seeds a second`,
      `${this.#wrong.length} went wrong${which}; never reached: ${this.#never.join(' ') || 'none'}`,
    ]
  }

  /** Seeds a second, of the clock on the wall. */
  get #rate(): number {
    return this.#seeds / ((performance.now() - this.#begunMs) / 1_000)
  }
}
