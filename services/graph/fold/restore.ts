/**
 * Brings a store up to its changelog, page by page from its checkpoint on: a task's up to the
 * fence.
 *
 * What must stay true: each page is one write with its checkpoint; a store that has seen more than
 * the log holds, or something else, means that the log lost acknowledged records, and that is never
 * ignored.
 */
import { POSITION_KEY } from '../../../core/graph/key.ts'
import type { Position } from '../../../core/model/state.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Entry, Log, Page } from '../../../ports/log.ts'
import { FENCE_KEY, LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { IDLE_WAIT_MS, RESTORE_LIMIT, STILL_MS } from '../config.ts'
import { digestOf } from './bytes/digest.ts'

/** Changelog entries before a store's checkpoint that are compared with its content. */
const COMPARED = 64n

export interface Restored {
  readonly position: Position | undefined
  /** Changelog entries replayed. */
  readonly entries: number
}

/** Replays up to and with the entry at `fence`. */
export async function restore(
  log: Log,
  codec: Codec,
  store: Store,
  partition: number,
  fence: bigint,
  clock: Clock,
  signal: AbortSignal,
): Promise<Restored> {
  const end = fence + 1n
  // The fence was appended just now, so the checkpoint of a store that belongs to this log is
  // before it.
  const replay = await beginReplay(log, codec, store, partition, fence, clock, signal)
  let entries = 0
  while (replay.next < end) entries += await replay.page(end, signal)
  await Promise.all([
    checkWhole(log, partition, fence, signal),
    checkEvents(log, partition, replay.position, signal),
  ])
  return { position: replay.position, entries }
}

/** The changelog on its way into a store. */
export interface Replay {
  /** Where the next page begins. */
  readonly next: bigint
  readonly position: Position | undefined
  /**
   * Writes one page of the entries before `end`; resolves with the number of its entries. Rejects
   * with `UNAVAILABLE` when this process stood still for long.
   */
  page(end: bigint, signal: AbortSignal): Promise<number>
}

/** From the checkpoint of the store, which is never beyond `most` if it belongs to this log. */
export async function beginReplay(
  log: Log,
  codec: Codec,
  store: Store,
  partition: number,
  most: bigint,
  clock: Clock,
  signal: AbortSignal,
): Promise<Replay> {
  let wholeAtMs = clock.now()
  let next = await startOf(log, store, partition, most)
  await checkLast(log, store, partition, next, signal)
  let position = positionIn(codec, store)
  return {
    get next() {
      return next
    },
    get position() {
      return position
    },
    async page(before, signal) {
      const page = await readPage(log, partition, next, signal)
      const nowMs = clock.now()
      if (nowMs - wholeAtMs > STILL_MS) throw stoodStill()
      wholeAtMs = nowMs
      const changes: StoreChange[] = []
      for (const { key, value, offset } of page.entries) {
        if (offset >= before) break
        if (key === FENCE_KEY) continue
        changes.push([key, value])
        if (key === POSITION_KEY && value !== null) position = codec.decode(value) as Position
      }
      const reached = page.next < before ? page.next : before
      if (reached === next) return 0
      next = reached
      await store.write(changes, { changelog: next, position: position?.position ?? 0n })
      return changes.length
    },
  }
}

async function startOf(log: Log, store: Store, partition: number, most: bigint): Promise<bigint> {
  const checkpoint = store.checkpoint()
  if (checkpoint === undefined) return (await log.bounds('changelog', partition)).start
  const [{ start }, whole] = await Promise.all([
    log.bounds('changelog', partition),
    log.wholeFrom('changelog', partition),
  ])
  if (checkpoint.changelog > most) throw lost('changelog', partition, checkpoint.changelog, most)
  if (checkpoint.changelog >= start && checkpoint.changelog >= whole) return checkpoint.changelog
  // The log may no longer have the deletions of the meantime, and their keys would stay in the
  // store for ever.
  await store.wipe()
  return start
}

/**
 * Offsets that were lost and assigned again since hold records that the store does not have. The
 * process that committed to them notices at once, unless it dies between the commit and its answer.
 */
async function checkLast(
  log: Log,
  store: Store,
  partition: number,
  next: bigint,
  signal: AbortSignal,
): Promise<void> {
  const said = new Map<string, Uint8Array | null>()
  for (const { key, value } of await lastBefore(log, partition, next, signal)) said.set(key, value)
  for (const [key, value] of said) {
    if (isSame(store.get(key), value)) continue
    throw otherwise('changelog', partition, next)
  }
}

/**
 * A commit ends with its position. Records after the last position are part of a commit whose rest
 * was lost, which a transaction never leaves by itself.
 */
async function checkWhole(
  log: Log,
  partition: number,
  fence: bigint,
  signal: AbortSignal,
): Promise<void> {
  const last = (await lastBefore(log, partition, fence, signal)).at(-1)
  if (last === undefined || last.key === POSITION_KEY) return
  // Or of one whose position was compacted away since, for the sake of a later owner's.
  const { entries } = await readPage(log, partition, fence + 1n, signal)
  if (entries.length > 0) throw succeeded(partition)
  throw damaged(`partition ${partition} of changelog ends in the middle of a commit`)
}

/**
 * Some of the last entries before `next`, except fences, which prove nothing: each start leaves
 * one, so after a lost end only fences may be near.
 */
async function lastBefore(
  log: Log,
  partition: number,
  next: bigint,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const { start } = await log.bounds('changelog', partition)
  const found: Entry[] = []
  for (let count = COMPARED; found.length === 0; count *= 4n) {
    const from = next - start > count ? next - count : start
    for (let at = from; at < next; ) {
      const page = await readPage(log, partition, at, signal)
      for (const entry of page.entries)
        if (entry.offset < next && entry.key !== FENCE_KEY) found.push(entry)
      // A leader that took over a moment ago may not show acknowledged records yet: that is no
      // damage.
      if (page.next === at) throw notShown(partition, next)
      at = page.next
    }
    if (from === start) break
  }
  return found
}

function isSame(held: Uint8Array | undefined, said: Uint8Array | null): boolean {
  if (held === undefined || said === null) return held === undefined && said === null
  return Buffer.compare(held, said) === 0
}

async function readPage(
  log: Log,
  partition: number,
  from: bigint,
  signal: AbortSignal,
): Promise<Page> {
  const options = { limit: RESTORE_LIMIT, waitMs: IDLE_WAIT_MS }
  return await log.read('changelog', partition, from, options, signal)
}

async function checkEvents(
  log: Log,
  partition: number,
  position: Position | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (position === undefined) return
  const { start, end } = await log.bounds('events', partition)
  if (position.position > end) throw lost('events', partition, position.position, end)
  const at = position.position - 1n
  if (position.last === '' || at < start) return
  let page: Page
  try {
    page = await log.read('events', partition, at, { limit: 1, waitMs: 1_000 }, signal)
  } catch (error) {
    // Trimmed in just this moment.
    if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return
    throw error
  }
  const [last] = page.entries
  // Offsets that were lost and assigned again: the records there now would never be folded, from
  // here to where the task continues.
  if (last !== undefined && (last.offset !== at || digestOf(last) !== position.last))
    throw otherwise('events', partition, position.position)
}

function positionIn(codec: Codec, store: Store): Position | undefined {
  const bytes = store.get(POSITION_KEY)
  return bytes === undefined ? undefined : (codec.decode(bytes) as Position)
}

export function lost(topic: string, partition: number, seen: bigint, end: bigint): LogError {
  return damaged(
    `partition ${partition} of ${topic} ends at offset ${end}, but entries up to ${seen} were acknowledged`,
  )
}

/** It begins again, and first checks whether its store can still be brought up to date. */
function stoodStill(): LogError {
  const what =
    'this process stood still for so long that the changelog may have forgotten what was deleted'
  return new LogError('UNAVAILABLE', what)
}

function notShown(partition: number, before: bigint): LogError {
  const what = `partition ${partition} of changelog does not show now what is before offset ${before}`
  return new LogError('UNAVAILABLE', what)
}

function succeeded(partition: number): LogError {
  return new LogError('FENCED', `partition ${partition} has another owner: leave it to that one`)
}

function otherwise(topic: string, partition: number, offset: bigint): LogError {
  return damaged(
    `partition ${partition} of ${topic} says otherwise before offset ${offset} than was acknowledged`,
  )
}

function damaged(what: string): LogError {
  return new LogError(
    'DAMAGED',
    `${what}: the log lost its end; ` +
      'restore it from a backup, or begin a new log (an empty data directory; over Kafka another --application) with --mode dry-run (the clusters are then listed anew; ' +
      'what was paused, protected or orphaned is forgotten, so say it again and look at "kinfold held" before you enforce)',
  )
}
