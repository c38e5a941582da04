/**
 * Snapshots of a partition's store, and the trimming of `events` behind them.
 *
 * What must stay true: events are trimmed only behind a whole snapshot, so that what is left can always be folded again; a snapshot is the
 * store's content at one position, with the digests it had there.
 *
 * Not here: taking one while folding (task.ts gives the moment).
 */
import { POSITION_KEY } from '../../core/key.ts'
import type { Snapshot } from '../../core/record.ts'
import type { Position } from '../../core/state.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Codec } from '../../ports/codec.ts'
import { type Log, LogError, type Topic } from '../../ports/log.ts'
import type { Task } from './task.ts'

export interface RetentionConfig {
  /** Events younger than this are kept. */
  readonly keepMs: number
  /** At most so many events are kept, whatever their age, and those since the last snapshot. A number, not bytes: no log counts those. */
  readonly keepEvents: number
  /** A snapshot after so many events; sooner when what may go lies beyond the last one. */
  readonly snapshotEvents: number
  /** How often it is looked at. */
  readonly everyMs: number
}

export const DEFAULT_RETENTION: RetentionConfig = {
  keepMs: 30 * 24 * 3_600_000,
  keepEvents: 20_000_000,
  snapshotEvents: 500_000,
  everyMs: 60_000,
}

/** Snapshots kept of a partition. */
const SNAPSHOTS_KEPT = 3
/** Keys of one chunk, and bytes after which it is closed: a record stays below 1 MiB. */
const CHUNK_KEYS = 2_000
const CHUNK_BYTES = 512 * 1024
/** Chunks read at once. */
export const CHUNKS_PER_READ = 8

export interface RetentionParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly task: Task
  readonly retention: RetentionConfig
}

/** What the log is known to have, so that a round reads only what came since. */
interface Known {
  readonly places: readonly SnapshotPlace[]
  readonly next: bigint
}

export async function keepTrimmed(parts: RetentionParts, signal: AbortSignal): Promise<void> {
  const { clock, retention, task } = parts
  let known: Known | undefined
  while (!signal.aborted) {
    await clock.sleep(retention.everyMs, signal)
    if (signal.aborted || task.status().state !== 'folding') continue
    try {
      known = await round(parts, known, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof LogError) || error.remedy !== 'retry') throw error
      known = undefined
    }
  }
}

async function round(
  parts: RetentionParts,
  before: Known | undefined,
  signal: AbortSignal,
): Promise<Known> {
  const mayGo = await endOfWhatMayGo(parts)
  let known = await knownSnapshots(parts, before)
  const { position } = parts.task.status()
  const last = known.places.at(-1)?.position ?? 0n
  const isDue = mayGo > last || position - last >= BigInt(parts.retention.snapshotEvents)
  if (isDue && position > last) {
    await unlessStopped(
      parts.task.pausedForSnapshot(() => takeSnapshot(parts, signal)),
      signal,
    )
    known = await knownSnapshots(parts, known)
  }
  return { ...known, places: await trim(parts, known.places, mayGo) }
}

/** The task gives no moment any more once it is stopped. */
async function unlessStopped(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const stopped = Promise.withResolvers<never>()
  const stop = (): void => stopped.reject(signal.reason)
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  try {
    await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

async function endOfWhatMayGo({ log, clock, task, retention }: RetentionParts): Promise<bigint> {
  const { keepMs, keepEvents } = retention
  const byCount = task.status().position - BigInt(keepEvents)
  const byAge = await firstSince(log, 'events', task.partition, clock.now() - keepMs)
  return byAge > byCount ? byAge : byCount
}

async function knownSnapshots(
  { log, codec, task }: RetentionParts,
  before: Known | undefined,
): Promise<Known> {
  const { start, end } = await log.bounds('snapshots', task.partition)
  const found = await snapshots(log, codec, task.partition, before?.next ?? start)
  return { places: [...(before?.places ?? []), ...found], next: end }
}

/** Appends the store's whole content; the last chunk makes it count. The task must stand still meanwhile. */
export async function takeSnapshot(
  { log, codec, task }: Pick<RetentionParts, 'log' | 'codec' | 'task'>,
  signal: AbortSignal,
): Promise<void> {
  const bytes = task.store.get(POSITION_KEY)
  if (bytes === undefined) return
  const { partition, position, state, outputs } = codec.decode(bytes) as Position
  let chunk = 0
  const write = async (keys: string[], values: Uint8Array[], last: boolean): Promise<void> => {
    const record: Snapshot = {
      type: 'Snapshot',
      partition,
      position,
      state,
      outputs,
      chunk,
      last,
      keys,
      values,
    }
    chunk += 1
    const produced = { key: `${partition}/${position}`, value: codec.encode(record) }
    await log.append('snapshots', partition, [produced])
  }
  let after = ''
  for (;;) {
    signal.throwIfAborted()
    const page = await task.store.page({ gte: `${after}\0`, lt: '~', limit: CHUNK_KEYS })
    let keys: string[] = []
    let values: Uint8Array[] = []
    let size = 0
    for (const [key, value] of page) {
      keys.push(key)
      values.push(value)
      size += key.length + value.length
      if (size < CHUNK_BYTES) continue
      await write(keys, values, false)
      keys = []
      values = []
      size = 0
    }
    const isLast = page.length < CHUNK_KEYS
    if (keys.length > 0 || isLast) await write(keys, values, isLast)
    if (isLast) return
    after = page[page.length - 1]?.[0] ?? ''
  }
}

export interface SnapshotPlace {
  readonly position: bigint
  readonly state: string
  readonly outputs: string
  /** Offset of its first chunk. */
  readonly offset: bigint
}

/** Whole snapshots of a partition from an offset on, oldest first. */
export async function snapshots(
  log: Log,
  codec: Codec,
  partition: number,
  from?: bigint,
): Promise<SnapshotPlace[]> {
  const { start, end } = await log.bounds('snapshots', partition)
  const found: SnapshotPlace[] = []
  let first: bigint | undefined
  for (let next = from ?? start; next < end; ) {
    const page = await log.read('snapshots', partition, next, { limit: CHUNKS_PER_READ, waitMs: 0 })
    for (const entry of page.entries) {
      if (entry.value === null) continue
      const record = codec.decode(entry.value) as Snapshot
      if (record.chunk === 0) first = entry.offset
      const { position, state, outputs } = record
      if (record.last && first !== undefined)
        found.push({ position, state, outputs, offset: first })
    }
    next = page.next
  }
  return found
}

/** Answers the snapshots that are left. */
async function trim(
  { log, task }: RetentionParts,
  all: readonly SnapshotPlace[],
  mayGo: bigint,
): Promise<readonly SnapshotPlace[]> {
  const kept = all.slice(-SNAPSHOTS_KEPT)
  const oldest = kept[0]
  const last = kept.at(-1)
  if (oldest === undefined || last === undefined) return all
  const { start } = await log.bounds('events', task.partition)
  // Something must be left to fold again from: never beyond the last snapshot.
  const before = mayGo < last.position ? mayGo : last.position
  if (before > start) await log.trim('events', task.partition, before)
  if (all.length > kept.length) await log.trim('snapshots', task.partition, oldest.offset)
  await trimFollowers(log, task.partition)
  return kept
}

/** What tells of events goes when they go: an audit compares all that is left of them. */
async function trimFollowers(log: Log, partition: number): Promise<void> {
  const since = await oldestEvent(log)
  if (since === undefined) return
  for (const topic of ['commands', 'history', 'digests', 'dead-letter'] as const) {
    const { start } = await log.bounds(topic, partition)
    const before = await firstSince(log, topic, partition, since)
    if (before > start) await log.trim(topic, partition, before)
  }
}

/** Append time of the oldest event that any partition still has; commands lie in the partitions of their targets. */
async function oldestEvent(log: Log): Promise<number | undefined> {
  let oldest: number | undefined
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    const { start, end } = await log.bounds('events', partition)
    if (start === end) continue
    const page = await log.read('events', partition, start, { limit: 1, waitMs: 0 })
    const time = page.entries[0]?.timestamp
    if (time !== undefined && (oldest === undefined || time < oldest)) oldest = time
  }
  return oldest
}

/** Offset of the first entry appended at or after a time, by halving. */
async function firstSince(
  log: Log,
  topic: Topic,
  partition: number,
  time: number,
): Promise<bigint> {
  let { start: low, end: high } = await log.bounds(topic, partition)
  while (low < high) {
    const middle = (low + high) / 2n
    const page = await log.read(topic, partition, middle, { limit: 1, waitMs: 0 })
    const entry = page.entries[0]
    if (entry === undefined || entry.timestamp >= time) high = middle
    else low = entry.offset + 1n
  }
  return low
}
