/**
 * How far back the log reaches: since when nothing is missing of a partition of `history` or
 * `events`.
 *
 * What must stay true: it is never earlier than the first whole moment, so a question about an
 * earlier time can be refused. Topics are trimmed by Kinfold alone (their own retention is off:
 * docs/operate/kafka.md): events before a snapshot, and history only as far as the oldest event
 * that any partition still has (fold/retention.ts).
 *
 * Not here: where the index of histories begins (history-index.ts).
 */
import { type Log, LogError } from '../../../../ports/log.ts'

export interface Reach {
  readonly partition: number
  /** The oldest that is kept. */
  readonly first: bigint
  /** Nothing was ever removed. */
  readonly isWhole: boolean
  /** All that was appended since then is there, in milliseconds. Null: nothing is. */
  readonly earliest: number | null
}

type ReachTopic = 'history' | 'events'

/** Tries, as a partition may be trimmed while it is read. */
const ATTEMPTS = 5

export async function reachOf(log: Log, topic: ReachTopic): Promise<readonly Reach[]> {
  const oldest = await oldestEvent(log)
  const partitions = Array.from({ length: log.partitions(topic) }, (_, each) => each)
  const all = await Promise.all(partitions.map((each) => ownReach(log, topic, each, oldest)))
  // Of a partition that was never trimmed it is not recorded when it began: no later than the
  // oldest entry that is there.
  const begun = earlier(oldest, ...all.map(({ earliest }) => earliest))
  return all.map((reach) => (reach.isWhole ? { ...reach, earliest: begun } : reach))
}

export async function reachOfPartition(
  log: Log,
  topic: ReachTopic,
  partition: number,
): Promise<Reach> {
  return await ownReach(log, topic, partition, await oldestEvent(log))
}

/** Of all of them together; null: none is whole since any time. */
export function earliestOf(all: readonly Reach[]): number | null {
  if (all.some(({ earliest }) => earliest === null)) return null
  return Math.max(...all.map(({ earliest }) => earliest ?? 0))
}

async function ownReach(
  log: Log,
  topic: ReachTopic,
  partition: number,
  oldest: number | null,
): Promise<Reach> {
  const { start, time } = await firstOf(log, topic, partition)
  const isWhole = start === 0n
  // Of a silent partition the first entry says too little: history is trimmed with events only.
  const earliest = topic === 'history' ? earlier(time, oldest) : time
  return { partition, first: start, isWhole, earliest }
}

async function oldestEvent(log: Log): Promise<number | null> {
  const partitions = Array.from({ length: log.partitions('events') }, (_, each) => each)
  const firsts = await Promise.all(partitions.map((each) => firstOf(log, 'events', each)))
  return earlier(...firsts.map(({ time }) => time))
}

async function firstOf(
  log: Log,
  topic: ReachTopic,
  partition: number,
): Promise<{ readonly start: bigint; readonly time: number | null }> {
  for (let attempt = 1; ; attempt++) {
    const { start, end } = await log.bounds(topic, partition)
    if (start === end) return { start, time: null }
    try {
      const { entries } = await log.read(topic, partition, start, { limit: 1, waitMs: 0 })
      return { start, time: entries[0]?.timestamp ?? null }
    } catch (error) {
      const isTrimmed = error instanceof LogError && error.code === 'OUT_OF_RANGE'
      if (!isTrimmed || attempt >= ATTEMPTS) throw error
    }
  }
}

function earlier(...times: readonly (number | null)[]): number | null {
  const known = times.filter((time) => time !== null)
  return known.length === 0 ? null : Math.min(...known)
}
