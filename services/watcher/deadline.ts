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
  void clock.sleep(limitMs, limit.signal).then(() => {
    limit.abort(new DOMException(`It took longer than ${limitMs} ms.`, 'TimeoutError'))
  })
  try {
    return await work(AbortSignal.any([signal, limit.signal]))
  } finally {
    // Ends the sleep, and lets go of whatever listens: `signal` may live as long as the process.
    limit.abort()
  }
}
