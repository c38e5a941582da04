/**
 * How far behind this process may be with what it reads of a cluster.
 *
 * What must stay true: an old observation is never published as a new one. Bytes wait in a socket
 * while a process sleeps, and while the log accepts no more; nothing in them says since when, so
 * everything that is read in the minute after counts as from before.
 *
 * Not here: how long read input waits for the log (publisher.ts).
 */
import type { Clock } from '../../../ports/clock.ts'
import type { WatcherConfig } from '../config.ts'

export class Lag {
  readonly #clock: Clock
  readonly #config: WatcherConfig
  /**
   * When it was known last that time is not lost: by both clocks, since a machine that is suspended
   * may stop either.
   */
  #awake: { readonly monotonicMs: number; readonly wallMs: number }
  /** Monotonic. */
  #sinceMs = Number.POSITIVE_INFINITY
  #untilMs = Number.NEGATIVE_INFINITY

  constructor({ clock, config }: { readonly clock: Clock; readonly config: WatcherConfig }) {
    this.#clock = clock
    this.#config = config
    this.#awake = this.#now()
  }

  /**
   * How long ago the input that is read now may have arrived, in milliseconds; 0 where nothing says
   * that it waited.
   */
  ageMs(): number {
    const { monotonicMs } = this.#now()
    const isBehind = monotonicMs < this.#untilMs
    return Math.max(this.#lostMs(), isBehind ? monotonicMs - this.#sinceMs : 0)
  }

  /** To be called every `awakeMs`. */
  tick(): void {
    this.stood(this.#lostMs())
    this.#awake = this.#now()
  }

  /** Nothing was read for `ms`. */
  stood(ms: number): void {
    if (ms < this.#config.behindMs) return
    const { monotonicMs } = this.#now()
    const sinceMs = monotonicMs < this.#untilMs ? this.#sinceMs : Number.POSITIVE_INFINITY
    this.#sinceMs = Math.min(sinceMs, monotonicMs - ms)
    this.#untilMs = monotonicMs + this.#config.catchUpMs
  }

  /** Since the last tick, where that is more than a busy machine explains. */
  #lostMs(): number {
    const { monotonicMs, wallMs } = this.#now()
    const lostMs = Math.max(monotonicMs - this.#awake.monotonicMs, wallMs - this.#awake.wallMs)
    return lostMs < this.#config.behindMs ? 0 : lostMs
  }

  #now(): { readonly monotonicMs: number; readonly wallMs: number } {
    return { monotonicMs: this.#clock.monotonicMs(), wallMs: this.#clock.now() }
  }
}
