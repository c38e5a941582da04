/**
 * How an index follows the log: in rounds with a pause after each, and how long a question waits
 * for it.
 *
 * What must stay true: nothing else depends on an index. It waits for a log that is unavailable; an
 * index that has read more than the log holds, or is damaged, begins again. A question ends a pause
 * in which nothing was appended, and waits no longer than a moment.
 *
 * Not here: what a round reads (history-follower.ts, actor-index.ts, audit/shadow.ts).
 */
import type { Clock } from '../../../../../ports/clock.ts'
import { LogError } from '../../../../../ports/log.ts'
import { type Store, StoreError } from '../../../../../ports/store.ts'

/**
 * A pause is longer each time that nothing was appended, up to this: reading costs requests where
 * the log is on other machines.
 */
const IDLE_PAUSE_MS = 1_000
/** How long a question waits for what the log holds already, and how often it checks. */
const CATCH_UP_MS = 1_000
const CATCH_UP_LOOK_MS = 10
/** An index has no changelog, and keeps its positions itself. */
export const NO_CHECKPOINT = { changelog: 0n, position: 0n }

export interface RoundsParts {
  readonly clock: Clock
  readonly store: Pick<Store, 'wipe'>
  /** After a round that had something new. */
  readonly pauseMs: number
}

export class Rounds {
  readonly #parts: RoundsParts
  /** Ends a pause that is longer than others, because nothing had come. */
  #wake: AbortController | undefined

  constructor(parts: RoundsParts) {
    this.#parts = parts
  }

  /** `round`: false when there was nothing new. */
  async run(round: () => Promise<boolean>, signal: AbortSignal): Promise<void> {
    const { clock, store, pauseMs } = this.#parts
    let nextMs = pauseMs
    while (!signal.aborted) {
      try {
        nextMs = (await round()) ? pauseMs : Math.min(2 * nextMs, IDLE_PAUSE_MS)
      } catch (error) {
        if (isOutdated(error)) await store.wipe()
        else if (!isAway(error)) throw error
      }
      this.#wake = new AbortController()
      const isIdle = nextMs > pauseMs
      await clock.sleep(nextMs, isIdle ? AbortSignal.any([signal, this.#wake.signal]) : signal)
    }
  }

  /** Waits a moment until nothing is left to read; answers with how much is. */
  async waitFor(left: () => bigint): Promise<bigint> {
    const { clock } = this.#parts
    const until = clock.monotonicMs() + CATCH_UP_MS
    while (left() > 0n && clock.monotonicMs() < until) {
      this.#wake?.abort()
      await clock.sleep(CATCH_UP_LOOK_MS)
    }
    return left()
  }
}

export function isOutdated(error: unknown): boolean {
  if (error instanceof LogError) return error.code === 'OUT_OF_RANGE'
  return error instanceof StoreError && error.remedy === 'rebuild'
}

/** A log that cannot be reached is waited for. */
export function isAway(error: unknown): boolean {
  return error instanceof LogError && error.remedy === 'retry'
}
