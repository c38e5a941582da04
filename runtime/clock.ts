/**
 * The machine's clock, as every main hands it to its loops.
 *
 * What must stay true: `sleep` never rejects and never keeps the process alive by itself once its
 * signal aborted. Time in which the machine was suspended has passed: Linux' monotonic clock stands
 * still then, and what is decided by it would look young afterwards.
 *
 * Not here: time that a test moves by hand (adapters/memory/clock.ts).
 */
import { uptime } from 'node:os'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Clock } from '../ports/clock.ts'

/** Node takes longer timeouts for no wait at all. */
const LONGEST_TIMER_MS = 2 ** 31 - 1

/** What a machine tells of time, in milliseconds. */
export interface Timepieces {
  /** On the wall: may be set. */
  readonly wallMs: () => number
  /** Never goes back, and stands still while the machine is suspended. */
  readonly runMs: () => number
  /** Since the machine was started, suspended or not; costs a system call or three. */
  readonly bootMs: () => number
}

/** Both are read at different moments, and one of them in steps. */
const JUMP_MS = 1_000

/**
 * Never goes back, and goes on while the machine is suspended: whenever the clock on the wall
 * jumps, it is asked whether that was why.
 */
export function unsuspended({ wallMs, runMs, bootMs }: Timepieces): () => number {
  const startMs = bootMs() - runMs()
  let aheadMs = wallMs() - runMs()
  let suspendedMs = 0
  return () => {
    const nowMs = runMs()
    const byWallMs = wallMs() - nowMs
    if (Math.abs(byWallMs - aheadMs) >= JUMP_MS) {
      aheadMs = byWallMs
      const lostMs = bootMs() - nowMs - startMs
      if (lostMs - suspendedMs >= JUMP_MS) suspendedMs = lostMs
    }
    return nowMs + suspendedMs
  }
}

const monotonicMs = unsuspended({
  wallMs: () => Date.now(),
  runMs: () => performance.now(),
  bootMs: () => uptime() * 1_000,
})

export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonicMs,
    async sleep(ms, signal) {
      try {
        // No wait at all still gives the event loop one turn: that is what loops with much to do
        // ask it for.
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
