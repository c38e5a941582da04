/** Work that is broken off when it takes too long, by the clock that was handed in. */
import type { Clock } from '../../ports/clock.ts'

/** Rejects with the signal's reason, or with an error naming the time that was allowed. */
export async function within<T>(
  clock: Clock,
  limitMs: number,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const limit = new AbortController()
  const giveUp = (): void => limit.abort(signal.reason)
  if (signal.aborted) giveUp()
  else signal.addEventListener('abort', giveUp, { once: true })
  void clock.sleep(limitMs, limit.signal).then(() => {
    if (limit.signal.aborted) return
    limit.abort(new DOMException(`It took longer than ${limitMs} ms.`, 'TimeoutError'))
  })
  try {
    return await work(limit.signal)
  } finally {
    // Ends the sleep, and removes the listeners: `signal` may live as long as the process.
    signal.removeEventListener('abort', giveUp)
    limit.abort(DONE)
  }
}

/**
 * Created once: an abort without a reason creates one each time, with its stack, and this happens
 * at every heartbeat.
 */
const DONE = new DOMException('The work is done.', 'AbortError')
