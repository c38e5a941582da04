/**
 * How often the file is written under load: a transaction blocks the process while the disk stores
 * it, however small it is.
 *
 * What must stay true: a caller that writes rarely never waits; under load a write waits no longer
 * than a few transactions take, and writing leaves most of the process's time to other work.
 */

/** Of the process's time, for transactions, in the long run. */
const SHARE = 0.08
/** The time that transactions may take at once before a caller waits: a handful of them. */
const BURST_MS = 20
/** However slow the disk is. */
const MAX_WAIT_MS = 20
/**
 * The pauses in a burst are shorter: work that waits for quiet waits for a pause of this length.
 */
const QUIET_MS = 1_000

export class Pace {
  readonly #monotonicMs: () => number
  #debtMs = 0
  #at: number
  #busyAt = Number.NEGATIVE_INFINITY

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs
    this.#at = monotonicMs()
  }

  /** How long the next transaction should wait for others to join it. */
  waitMs(): number {
    this.#settle()
    return Math.min(MAX_WAIT_MS, Math.max(0, this.#debtMs - BURST_MS) / SHARE)
  }

  /** Whether a lot was written just now or a moment ago. */
  get isBusy(): boolean {
    return this.#monotonicMs() - this.#busyAt < QUIET_MS
  }

  /** A transaction took `ms`. */
  spent(ms: number): void {
    this.#settle()
    this.#debtMs = Math.min(this.#debtMs + ms, BURST_MS + MAX_WAIT_MS)
    if (this.#debtMs > BURST_MS / 2) this.#busyAt = this.#at
  }

  #settle(): void {
    const now = this.#monotonicMs()
    this.#debtMs = Math.max(0, this.#debtMs - (now - this.#at) * SHARE)
    this.#at = now
  }
}
