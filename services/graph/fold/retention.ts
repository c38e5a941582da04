/**
 * Snapshots of a partition's store, and the trimming of `events` before them.
 *
 * What must stay true: events are trimmed only before a whole snapshot, so that the rest can always
 * be folded again; a snapshot is the store's content at one position, with the digests it had
 * there. Folding continues meanwhile: a snapshot of a large graph takes minutes.
 */
import { POSITION_KEY } from '../../../core/graph/key.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Log, LogError, type Topic } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Snapshot } from '../../../ports/record/service-record.ts'
import { StoreError, type StoreView } from '../../../ports/store.ts'
import { END_OF_STATE } from './former/former-key.ts'
import type { Task } from './task.ts'

export interface RetentionConfig {
  /** Events younger than this are kept. */
  readonly keepMs: number
  /**
   * At most so many events are kept, whatever their age, and those since the last snapshot. A
   * number, not bytes: no log counts bytes.
   */
  readonly keepEvents: number
  /**
   * What facts were is remembered for so long; zero: not at all; null: as long as events are kept.
   */
  readonly keepPastMs: number | null
  /**
   * A snapshot after so many events; sooner when records that may be trimmed are beyond the last
   * one.
   */
  readonly snapshotEvents: number
  /** Archived objects younger than this are kept. */
  readonly archiveKeepMs: number
  /** How often retention is checked. */
  readonly everyMs: number
}

export const DEFAULT_RETENTION: RetentionConfig = {
  keepMs: 30 * 24 * 3_600_000,
  keepEvents: 20_000_000,
  keepPastMs: null,
  snapshotEvents: 500_000,
  archiveKeepMs: 30 * 24 * 3_600_000,
  everyMs: 60_000,
}

/** Snapshots kept of a partition. */
const SNAPSHOTS_KEPT = 3
/** Keys of one chunk, and bytes after which it is closed, unless one value alone has more. */
const CHUNK_KEYS = 2_000
const CHUNK_BYTES = 512 * 1024
/** Chunks read at once: one is decoded in some 10 ms without a turn for other work. */
export const CHUNKS_PER_READ = 1

export interface RetentionParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly task: Task
  readonly retention: RetentionConfig
}

export async function keepTrimmed(parts: RetentionParts, signal: AbortSignal): Promise<void> {
  const { clock, retention, task } = parts
  /** The snapshots that the log is known to have; undefined when that has to be read. */
  let known: readonly SnapshotPlace[] | undefined
  while (!signal.aborted) {
    await clock.sleep(retention.everyMs, signal)
    if (signal.aborted || task.status().state !== 'folding') continue
    try {
      known = await round(parts, known, signal)
    } catch (error) {
      if (signal.aborted) return
      if (!isPassing(error)) throw error
      known = undefined
    }
  }
}

/**
 * A store that is closed, wiped or damaged is mended by its task. Records that are missing were
 * trimmed by their owner meanwhile.
 */
function isPassing(error: unknown): boolean {
  if (error instanceof StoreError) return true
  return error instanceof LogError && (error.remedy === 'retry' || error.remedy === 'rebuild')
}

/** Answers the snapshots that the log has then. */
async function round(
  parts: RetentionParts,
  known: readonly SnapshotPlace[] | undefined,
  signal: AbortSignal,
): Promise<readonly SnapshotPlace[]> {
  const { log, codec, task, retention } = parts
  const mayGo = await endOfWhatMayGo(parts)
  const places = [...(known ?? (await snapshots(log, codec, task.partition)))]
  await trimArchive(parts)
  await forgetPast(parts)
  const { position } = task.status()
  const last = places.at(-1)?.position ?? 0n
  const isDue = mayGo > last || position - last >= BigInt(retention.snapshotEvents)
  if (isDue && position > last) {
    const taken = await takeSnapshot(parts, signal)
    if (taken !== undefined) places.push(taken)
  }
  return await trim(parts, places, mayGo)
}

async function endOfWhatMayGo({ log, clock, task, retention }: RetentionParts): Promise<bigint> {
  const { keepMs, keepEvents } = retention
  const byCount = task.status().position - BigInt(keepEvents)
  const byAge = await firstSince(log, 'events', task.partition, clock.now() - keepMs)
  return byAge > byCount ? byAge : byCount
}

/**
 * Appends the store's whole content as of now; the last chunk makes it count. Undefined for a store
 * without any.
 */
export async function takeSnapshot(
  { log, codec, task }: Pick<RetentionParts, 'log' | 'codec' | 'task'>,
  signal: AbortSignal,
): Promise<SnapshotPlace | undefined> {
  await using view = task.store.view()
  const place = await view.page({ gte: POSITION_KEY, lt: `${POSITION_KEY}\0`, limit: 1 })
  const [at] = place.rows
  if (at === undefined) return undefined
  const { partition, position, state, outputs } = codec.decode(at[1]) as Position
  const head = { type: 'Snapshot', partition, position, state, outputs } as const
  let first: bigint | undefined
  let chunk = 0
  for await (const { keys, values, last } of chunksOf(view, signal)) {
    const record: Snapshot = { ...head, chunk, last, keys, values }
    const produced = { key: `${partition}/${position}`, value: codec.encode(record) }
    const offset = await log.append('snapshots', partition, [produced])
    first ??= offset
    chunk += 1
  }
  return first === undefined ? undefined : { position, state, outputs, offset: first }
}

type Chunk = Pick<Snapshot, 'keys' | 'values' | 'last'>

async function* chunksOf(view: StoreView, signal: AbortSignal): AsyncGenerator<Chunk> {
  let after = ''
  for (;;) {
    signal.throwIfAborted()
    const { rows, isCut } = await view.page({
      gte: `${after}\0`,
      lt: END_OF_STATE,
      limit: CHUNK_KEYS,
    })
    let keys: string[] = []
    let values: Uint8Array[] = []
    let size = 0
    for (const [key, value] of rows) {
      const bytes = key.length + value.length
      if (keys.length > 0 && size + bytes > CHUNK_BYTES) {
        yield { keys, values, last: false }
        keys = []
        values = []
        size = 0
      }
      keys.push(key)
      values.push(value)
      size += bytes
    }
    if (keys.length > 0 || !isCut) yield { keys, values, last: !isCut }
    if (!isCut) return
    after = rows.at(-1)?.[0] ?? ''
  }
}

export interface SnapshotPlace {
  readonly position: bigint
  readonly state: string
  readonly outputs: string
  /** Offset of its first chunk. */
  readonly offset: bigint
}

export interface FoundSnapshot extends SnapshotPlace {
  /** Append time of its last chunk, in milliseconds. */
  readonly at: number
}

/** Whole snapshots of a partition, oldest first. */
export async function snapshots(
  log: Log,
  codec: Codec,
  partition: number,
): Promise<FoundSnapshot[]> {
  const { start, end } = await log.bounds('snapshots', partition)
  const found: FoundSnapshot[] = []
  /** By position: a former owner of the task may still write chunks of its own between these. */
  const firsts = new Map<bigint, bigint>()
  for (let next = start; next < end; ) {
    const page = await log.read('snapshots', partition, next, { limit: CHUNKS_PER_READ, waitMs: 0 })
    for (const entry of page.entries) {
      if (entry.value === null) continue
      const record = codec.decode(entry.value) as Snapshot
      const { position, state, outputs, chunk, last } = record
      if (chunk === 0 && !firsts.has(position)) firsts.set(position, entry.offset)
      const offset = firsts.get(position)
      if (last && offset !== undefined)
        found.push({ position, state, outputs, offset, at: entry.timestamp })
    }
    next = page.next
  }
  return found
}

/** Answers the snapshots that are left. */
async function trim(
  parts: RetentionParts,
  all: readonly SnapshotPlace[],
  mayGo: bigint,
): Promise<readonly SnapshotPlace[]> {
  const { log, task } = parts
  const kept = all.slice(-SNAPSHOTS_KEPT)
  const oldest = kept[0]
  const last = kept.at(-1)
  if (oldest === undefined || last === undefined) return all
  const { start } = await log.bounds('events', task.partition)
  // Something must be left to fold again from: never beyond the last snapshot.
  const before = mayGo < last.position ? mayGo : last.position
  if (before > start) await log.trim('events', task.partition, before)
  const first = kept.reduce((least, { offset }) => (offset < least ? offset : least), oldest.offset)
  if (all.length > kept.length) await log.trim('snapshots', task.partition, first)
  await trimFollowers(log, task.partition)
  await forgetPast(parts)
  return kept
}

/**
 * As old as the setting says, and what lies before all events: moments are named by times, which
 * events have.
 */
async function forgetPast({ log, clock, task, retention }: RetentionParts): Promise<void> {
  const { partition } = task
  const { keepPastMs } = retention
  const { start } = await log.bounds('events', partition)
  if (keepPastMs === null) return task.forgetBefore(start)
  const since = clock.now() - keepPastMs
  task.forgetBefore(await firstSince(log, 'events', partition, since))
  const former = await firstSince(log, 'former', partition, since)
  if (former > (await log.bounds('former', partition)).start)
    await log.trim('former', partition, former)
}

/** It depends on no event: an object can be restored for as long as the operator configured. */
async function trimArchive({ log, clock, task, retention }: RetentionParts): Promise<void> {
  const { partition } = task
  const { start, end } = await log.bounds('archive', partition)
  // Where nothing is archived, no right to read it is needed.
  if (start === end) return
  const since = clock.now() - retention.archiveKeepMs
  const oldest = await log.read('archive', partition, start, { limit: 1, waitMs: 0 })
  if ((oldest.entries[0]?.timestamp ?? since) >= since) return
  const before = await firstSince(log, 'archive', partition, since)
  if (before > start) await log.trim('archive', partition, before)
}

/**
 * Records derived from events are trimmed with them: an audit compares all that are left of them.
 */
async function trimFollowers(log: Log, partition: number): Promise<void> {
  const since = await oldestEvent(log)
  if (since === undefined) return
  for (const topic of ['commands', 'history', 'digests', 'former', 'dead-letter'] as const) {
    const { start } = await log.bounds(topic, partition)
    const before = await firstSince(log, topic, partition, since)
    if (before > start) await log.trim(topic, partition, before)
  }
}

/**
 * Append time of the oldest event that any partition still has; commands are in the partitions of
 * their targets.
 */
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
export async function firstSince(
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
