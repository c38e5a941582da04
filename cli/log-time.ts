/**
 * What `kinfold up` does about a clock that was set while it runs: the embedded log's time does not follow, and people are told.
 *
 * What must stay true: it is a warning and no more; nobody gets unready for it.
 *
 * Not here: the time itself (ports/append-time.ts).
 */
import { type AppendTime, MOST_AHEAD_MS } from '../ports/append-time.ts'
import type { Clock } from '../ports/clock.ts'
import { type Check, warned } from '../runtime/health.ts'
import type { Logger } from '../runtime/logger.ts'

const LOOK_EVERY_MS = 5_000

type LogTime = Pick<AppendTime, 'now' | 'wallAheadMs'>

/** The clock for whoever compares the log's times with now: a wall clock that was set says nothing of them. */
export function clockOf(time: LogTime, clock: Clock): Clock {
  return {
    now: () => time.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  }
}

/** A line each time that they go apart by a heartbeat more, or come together by one. */
export async function watchLogTime(
  time: LogTime,
  clock: Pick<Clock, 'sleep'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  let toldMs = 0
  while (!signal.aborted) {
    const aheadMs = time.wallAheadMs()
    if (Math.abs(aheadMs - toldMs) >= MOST_AHEAD_MS) {
      toldMs = aheadMs
      const text = noteOf(aheadMs)
      if (text === '') logger.log('info', 'the clock agrees with the time of the log again')
      else
        logger.log('warn', 'the clock was set, or stood still', { ahead_ms: aheadMs, hint: text })
    }
    await clock.sleep(LOOK_EVERY_MS, signal)
  }
}

/** None while they agree. */
export function checksOfLogTime(time: LogTime): Check[] {
  const reason = clockNote(time)
  return reason === '' ? [] : [warned('clock', reason)]
}

/** How far the clock is from the time of the log, for people; empty while they agree. */
export function clockNote(time: Pick<LogTime, 'wallAheadMs'>): string {
  return noteOf(time.wallAheadMs())
}

function noteOf(aheadMs: number): string {
  if (Math.abs(aheadMs) < MOST_AHEAD_MS / 2) return ''
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  return aheadMs > 0
    ? `it is ${seconds} s ahead of the time of the log, which follows it at the next start: holds last as long as they were meant to`
    : `it is ${seconds} s behind the time of the log, which does not go back`
}
