/**
 * Time as one watch needs it: it wakes the watch at a change, for a bookmark, at its end, and when
 * its reader has left.
 *
 * Not here: what the watch then sends (watch.ts).
 */
import type { Clock } from '../../../../ports/clock.ts'
import type { Random } from '../../../../ports/random.ts'
import type { Collection } from '../collection.ts'
import { isTrue } from '../request.ts'

/**
 * Without a requested timeout, a watch ends after this and up to as much again, so that not all end
 * at once.
 */
const DEFAULT_TIMEOUT_MS = 30 * 60_000
/** A last bookmark comes this long before the end. */
const FAREWELL_MS = 2_000

const OVERDUE_MS = 1_000
const CLOSED = new Error('The watch is closed.')

export interface BellContext {
  readonly clock: Clock
  readonly random: Random
  readonly bookmarkMs: number
}

/** Wakes one watch: at a change, for a bookmark, at its end, when its reader has left. */
export class Bell implements AsyncDisposable {
  readonly #clock: Clock
  readonly #signal: AbortSignal
  readonly #closing = new AbortController()
  readonly #endsAt: number
  readonly #bookmarkMs: number | undefined
  #bookmarkAt: number
  #isSaidFarewell = false
  #wake: () => void = () => {}

  constructor(context: BellContext, query: URLSearchParams, signal: AbortSignal) {
    const { clock, random, bookmarkMs } = context
    this.#clock = clock
    this.#signal = signal
    const asked = Number(query.get('timeoutSeconds') ?? 0)
    const timeoutMs = asked > 0 ? asked * 1000 : DEFAULT_TIMEOUT_MS * (1 + random.next())
    this.#endsAt = clock.monotonicMs() + timeoutMs
    this.#bookmarkMs = isTrue(query.get('allowWatchBookmarks')) ? bookmarkMs : undefined
    this.#bookmarkAt = this.#nextBookmark()
  }

  /** From here on it must be closed. */
  started(): this {
    this.#signal.addEventListener('abort', this.#onAbort, { once: true })
    void this.#keepTime()
    return this
  }

  get isOver(): boolean {
    return this.#clock.monotonicMs() >= this.#endsAt
  }

  /** Whether one is due; the next one is then not, for a while. */
  takeBookmark(): boolean {
    if (this.#clock.monotonicMs() < this.#bookmarkAt) return false
    this.#bookmarkAt = this.#nextBookmark()
    return true
  }

  /** The caller has just seen that its signal is not aborted. */
  async rung(collection: Collection): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const takeBack = collection.whenChanged(resolve)
    await promise
    // Woken otherwise, for example for a bookmark: a kind that never changes would keep one
    // callback for each.
    takeBack()
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort)
    this.#closing.abort(CLOSED)
    return Promise.resolve()
  }

  readonly #onAbort = (): void => this.#wake()

  async #keepTime(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted && !this.isOver) {
      const waitMs = Math.min(this.#bookmarkAt, this.#endsAt) - this.#clock.monotonicMs()
      // A bookmark may be overdue, when its reader takes nothing.
      await this.#clock.sleep(waitMs > 0 ? waitMs : OVERDUE_MS, signal)
      this.#wake()
    }
  }

  #nextBookmark(): number {
    if (this.#bookmarkMs === undefined || this.#isSaidFarewell) return Number.POSITIVE_INFINITY
    const farewell = this.#endsAt - FAREWELL_MS
    const next = this.#clock.monotonicMs() + this.#bookmarkMs
    if (next < farewell) return next
    this.#isSaidFarewell = true
    return Math.max(farewell, this.#clock.monotonicMs())
  }
}
