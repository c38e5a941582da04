/**
 * A call to the log, made again after a growing wait while the log is not to be had.
 *
 * What must stay true: only idempotent calls are made through it. An append whose outcome is unknown is one: readers take entries twice.
 *
 * Not here: errors that need another answer than patience; they pass through.
 */
import type { Clock } from '../../ports/clock.ts'
import { LogError } from '../../ports/log.ts'

export type LogRetry = <T>(call: () => Promise<T>, signal: AbortSignal) => Promise<T>

export interface LogRetryBounds {
  readonly logRetryMs: number
  readonly logRetryMaxMs: number
}

/** `onWait` is called for each failure that is waited out. Retries until the signal aborts: without the log the reaper can do nothing. */
export function createLogRetry(
  clock: Clock,
  bounds: LogRetryBounds,
  onWait: (error: LogError) => void,
): LogRetry {
  return async (call, signal) => {
    for (let waitMs = bounds.logRetryMs; ; waitMs = Math.min(waitMs * 2, bounds.logRetryMaxMs)) {
      try {
        return await call()
      } catch (error) {
        if (signal.aborted || !(error instanceof LogError) || !isPassing(error)) throw error
        onWait(error)
        await clock.sleep(waitMs, signal)
        signal.throwIfAborted()
      }
    }
  }
}

function isPassing(error: LogError): boolean {
  return error.remedy === 'retry' || error.code === 'UNKNOWN_OUTCOME'
}
