/**
 * What `kinfold up` does about a wall clock that may be wrong: at a start the API servers are asked
 * what time it is, and while it runs people are notified when the time of the log is another one.
 *
 * What must stay true: an API server that does not answer, or sends no date, confirms nothing, and
 * without any the log's time goes on where it was. It is a warning and no more; no process becomes
 * unready for it, since holds last longer and nothing else follows.
 *
 * Not here: the time itself (ports/append-time.ts), the order of a person
 * (services/graph/orders/directive-http.ts).
 */
import { type AppendTime, MOST_AHEAD_MS } from '../../ports/append-time.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { type Check, warned } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'

const LOOK_EVERY_MS = 5_000
/** How long an API server may take to say what time it is. */
const ASK_MS = 5_000

type LogTime = Pick<AppendTime, 'now' | 'wallAheadMs'>

/**
 * The clock for comparing the log's times with now: a wall clock that was set says nothing of them.
 */
export function clockOf(time: LogTime, clock: Clock): Clock {
  return {
    now: () => time.now(),
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
  }
}

/** The time since the newest entry counts as far as all that answer agree that it passed. */
export async function confirmTime(
  time: Pick<AppendTime, 'confirm' | 'wallAheadMs'>,
  clusters: readonly Pick<Cluster, 'name' | 'clockSkewMs'>[],
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  const sinceMs = time.wallAheadMs()
  const asked = await Promise.all(
    clusters.map(async (cluster) => ({ name: cluster.name, skew: await skewOf(cluster, signal) })),
  )
  time.confirm(asked.flatMap(({ skew }) => (typeof skew === 'number' ? [skew] : [])))
  const leftMs = time.wallAheadMs()
  if (leftMs < MOST_AHEAD_MS) return
  const clocks = asked.map(({ name, skew }) => `${name}: ${skewText(skew)}`).join('; ')
  logger.log('warn', 'the clock is not believed', {
    since_last_entry_ms: sinceMs,
    not_confirmed_ms: leftMs,
    clocks,
    hint: noteOf(leftMs),
  })
}

/** The server's clock minus ours in milliseconds, or why that is unknown. */
async function skewOf(
  cluster: Pick<Cluster, 'clockSkewMs'>,
  signal: AbortSignal,
): Promise<number | string> {
  const limit = AbortSignal.any([signal, AbortSignal.timeout(ASK_MS)])
  try {
    return (await cluster.clockSkewMs(limit)) ?? 'its answers have no date'
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof Error ? error.message : String(error)
  }
}

function skewText(skew: number | string): string {
  if (typeof skew === 'string') return skew
  const seconds = Math.round(Math.abs(skew) / 1_000)
  return seconds === 0 ? 'agrees with ours' : `${seconds} s ${skew > 0 ? 'ahead' : 'behind'}`
}

/** A line each time that they go apart by a heartbeat more, or come together by one. */
export async function watchLogTime(
  time: LogTime,
  clock: Pick<Clock, 'sleep'>,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  // What was not confirmed at the start was said then.
  let reportedMs = Math.max(0, time.wallAheadMs())
  while (!signal.aborted) {
    const aheadMs = time.wallAheadMs()
    if (Math.abs(aheadMs - reportedMs) >= MOST_AHEAD_MS) {
      reportedMs = aheadMs
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

const CONFIRM = 'where it is right run "kinfold confirm-clock --why TEXT"'

function noteOf(aheadMs: number): string {
  if (Math.abs(aheadMs) < MOST_AHEAD_MS / 2) return ''
  const seconds = Math.round(Math.abs(aheadMs) / 1_000)
  return aheadMs > 0
    ? `it is ${seconds} s ahead of the time of the log, so holds last ${seconds} s longer by it: set it right, or ${CONFIRM}; a start follows it as far as the API servers' clocks agree`
    : `it is ${seconds} s behind the time of the log, which does not go back`
}
