/**
 * The machine's clock, as every main hands it to its loops.
 *
 * What must stay true: `sleep` never rejects and never keeps the process alive by itself once its signal aborted.
 *
 * Not here: time that a test moves by hand (adapters/memory/clock.ts).
 */
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Clock } from '../ports/clock.ts'

/** Node takes longer timeouts for no wait at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs: () => performance.now(),
    async sleep(ms, signal) {
      try {
        // No wait at all still gives the event loop one turn: that is what loops with much to do ask it for.
        if (ms <= 0) await setImmediate(undefined, signalOf(signal))
        else await setTimeout(Math.min(ms, LONGEST_TIMER_MS), undefined, signalOf(signal))
      } catch {
        // Aborted: an early end is a quiet one.
      }
    },
  }
}

function signalOf(signal: AbortSignal | undefined): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal }
}
