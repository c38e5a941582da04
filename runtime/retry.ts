/**
 * Waits that double, and calls to the log that are made again after them.
 *
 * What must stay true: only calls that may be made twice are made again. An append whose outcome is
 * unknown is one: readers take a record twice, and one that is lost is lost.
 *
 * Not here: pauses of a poll, which grow while nothing is new; waits that are a value of a state
 * machine (services/watcher/monitor.ts); calls to an API server, which says itself when to come
 * again (services/reaper/call.ts).
 */
import type { Clock } from '../ports/clock.ts'
import { LogError } from '../ports/log.ts'

export interface Waits {
  readonly firstMs: number
  readonly mostMs: number
}

/** Of one thing that fails again and again. */
export class Backoff {
  readonly #waits: Waits
  #nextMs: number

  constructor(waits: Waits) {
    this.#waits = waits
    this.#nextMs = waits.firstMs
  }

  next(): number {
    const waitMs = this.#nextMs
    this.#nextMs = Math.min(2 * waitMs, this.#waits.mostMs)
    return waitMs
  }

  /** It got on. */
  reset(): void {
    this.#nextMs = this.#waits.firstMs
  }
}

export type LogRetry = <T>(call: () => Promise<T>, signal: AbortSignal) => Promise<T>

export interface LogRetryParts {
  readonly clock: Clock
  readonly waits: Waits
  /** From 0 up to 1, for each wait: which share of itself it takes longer. */
  readonly chance?: () => number
  /** For each failure that is waited out. */
  readonly onWait?: (error: LogError) => void
}

/**
 * Calls until it gets through, or the signal aborts: without the log its callers can do nothing.
 * Rejects with an error that needs another answer than patience, or with the signal's reason.
 */
export function createLogRetry(parts: LogRetryParts): LogRetry {
  const { clock, waits, chance = () => 0, onWait } = parts
  return async (call, signal) => {
    const backoff = new Backoff(waits)
    for (;;) {
      try {
        return await call()
      } catch (error) {
        if (!mayTryAgain(error)) throw error
        signal.throwIfAborted()
        onWait?.(error)
        await clock.sleep(backoff.next() * (1 + chance()), signal)
        signal.throwIfAborted()
      }
    }
  }
}

export function mayTryAgain(error: unknown): error is LogError {
  return error instanceof LogError && (error.remedy === 'retry' || error.remedy === 'take-over')
}
