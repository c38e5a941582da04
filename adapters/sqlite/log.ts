/**
 * The embedded log: one SQLite file in one directory, for one process.
 *
 * What must stay true: a write is acknowledged only after its transaction is on disk; readers see
 * only acknowledged entries; a record that cannot be proved is an error, never an entry.
 *
 * Not here: the contents of a sum (checksum.ts), the checks of a file (verify.ts), how it stays
 * small (maintenance.ts).
 */
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AppendTime } from '../../ports/append-time.ts'
import type { Clock } from '../../ports/clock.ts'
import {
  type Appending,
  type Bounds,
  COMPACTED,
  type Entry,
  FENCE_KEY,
  type Log,
  LogError,
  type Page,
  type Produced,
  type SavedPosition,
  SINGLE_PARTITION,
  sentNow,
  type TaskLog,
  type Topic,
} from '../../ports/log.ts'
import { checkPosition, checkRecords } from '../../ports/record/record-limit.ts'
import { Compaction } from './compaction.ts'
import { damagedFile, failureOf, invalid } from './failure.ts'
import { type Head, nameOf } from './head.ts'
import { sizeOf } from './limit.ts'
import { lockDirectory } from './lock.ts'
import { LogFile } from './log-file.ts'
import { Maintenance } from './maintenance.ts'
import type { StoredRecord } from './record-table.ts'
import { createFile } from './schema.ts'
import { SqliteTaskLog } from './task-log.ts'
import { verifyFile } from './verify.ts'
import { WriteQueue } from './write-queue.ts'

export interface SqliteLogOptions {
  readonly directory: string
  /** A file never changes its number. Absent: that of the file, which then has to exist. */
  readonly partitions?: number | undefined
  readonly clock: Clock
  /** Takes no lock and sees the commits of another process: for audits. */
  readonly readOnly?: boolean | undefined
  /**
   * This process has read the file through before: what is read of it now is checked all the same.
   */
  readonly isVerified?: boolean | undefined
  /** Beyond this size the file accepts no writes. */
  readonly maxBytes?: number | undefined
  /** Traces of records are kept, too: the file gets a column for them, which is never removed. */
  readonly traces?: boolean | undefined
}

/** A reader at the end of a lane. */
interface Waiting {
  readonly lane: number
  readonly from: bigint
  readonly wake: () => void
}

/** How often a read-only log checks for records that another process wrote. */
const POLL_MS = 100

export async function openSqliteLog(options: SqliteLogOptions): Promise<SqliteLog> {
  const path = join(options.directory, 'log.sqlite')
  const readOnly = options.readOnly ?? false
  const lock = readOnly ? undefined : prepareDirectory(options, path)
  let file: LogFile | undefined
  try {
    if (!existsSync(path)) throw missing(path)
    file = new LogFile({
      ...{ path, readOnly, maxBytes: options.maxBytes },
      traces: options.traces ?? false,
    })
    checkPartitions(options, file)
    if (options.isVerified !== true) await verifyFile(file)
    file.opened()
    return new SqliteLog(file, lock, options.clock)
  } catch (error) {
    file?.close()
    lock?.[Symbol.dispose]()
    throw error
  }
}

export class SqliteLog implements Log {
  /** For a comparison of an append time with now this clock is used, not the wall clock. */
  readonly time: AppendTime
  readonly #file: LogFile
  readonly #lock: Disposable | undefined
  readonly #clock: Clock
  readonly #queue: WriteQueue
  readonly #maintenance: Maintenance
  /** Of each partition the one task that may commit. */
  readonly #owners = new Map<number, SqliteTaskLog>()
  readonly #waiting = new Set<Waiting>()
  readonly #closed = new AbortController()

  constructor(file: LogFile, lock: Disposable | undefined, clock: Clock) {
    this.#file = file
    this.#lock = lock
    this.#clock = clock
    this.time = new AppendTime(clock, newestIn(file))
    const monotonicMs = (): number => clock.monotonicMs()
    const queueClock = { now: () => this.time.now(), monotonicMs }
    this.#queue = new WriteQueue(file, queueClock, () => this.#written())
    const compaction = new Compaction(file, clock)
    this.#maintenance = new Maintenance(file, compaction, monotonicMs, () => this.#queue.isBusy)
    if (lock !== undefined) this.#maintenance.look()
  }

  /** Of the file and of its write-ahead log. */
  bytes(): number {
    const { path } = this.#file
    const sizes = [path, `${path}-wal`].map(
      (each) => statSync(each, { throwIfNoEntry: false })?.size,
    )
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
  }

  partitions(topic: Topic): number {
    return SINGLE_PARTITION.has(topic) ? 1 : this.#file.partitions
  }

  async append(topic: Topic, partition: number, records: readonly Appending[]): Promise<bigint> {
    const lane = this.#writable(topic, partition)
    if (records.length === 0) throw invalid('An append needs at least one record')
    checkRecords(topic, records)
    const write = (tx: { append(lane: number, records: readonly Produced[]): number }): number =>
      tx.append(lane, sentNow(records))
    return BigInt(await this.#queue.add({ bytes: sizeOf(records), write }))
  }

  async read(
    topic: Topic,
    partition: number,
    from: bigint,
    options: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page> {
    if (!(options.limit >= 1)) throw invalid('A read needs a limit of at least 1')
    const deadline = this.#clock.monotonicMs() + options.waitMs
    for (;;) {
      signal?.throwIfAborted()
      const lane = this.#lane(topic, partition)
      const page = this.#page(lane, from, options.limit)
      const leftMs = deadline - this.#clock.monotonicMs()
      if (page.entries.length > 0 || leftMs <= 0) return page
      await this.#change(lane, from, leftMs, signal)
    }
  }

  async bounds(topic: Topic, partition: number): Promise<Bounds> {
    if (this.#isNewer(topic, partition)) return { start: 0n, end: 0n }
    const lane = this.#lane(topic, partition)
    const { start, next } = this.#file.read(() => this.#file.head(lane))
    return { start: BigInt(start), end: BigInt(next) }
  }

  async end(topic: Topic, partition: number): Promise<bigint> {
    return (await this.bounds(topic, partition)).end
  }

  /**
   * A null value outlives a day of the process that also keeps the stores up to date: none of them
   * lags so far.
   */
  async wholeFrom(topic: Topic, partition: number): Promise<bigint> {
    const { start } = await this.bounds(topic, partition)
    return start
  }

  async latest(topic: Topic, partition: number): Promise<readonly Entry[]> {
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted: read its entries`)
    if (this.#isNewer(topic, partition)) return []
    const latest = new Map<string, Entry>()
    // The end is read again after each page: the newer value of an entry that is compacted away
    // meanwhile is further up.
    for (let from = 0n; ; ) {
      const { entries, next } = this.#page(
        this.#lane(topic, partition),
        from,
        Number.MAX_SAFE_INTEGER,
      )
      if (entries.length === 0) return [...latest.values()]
      for (const entry of entries) {
        latest.delete(entry.key)
        if (entry.value !== null) latest.set(entry.key, entry)
      }
      from = next
      await setImmediate()
    }
  }

  async loadPosition(
    reader: string,
    topic: Topic,
    partition: number,
  ): Promise<SavedPosition | undefined> {
    const lane = this.#lane(topic, partition)
    return this.#file.read(() => this.#file.position(lane, reader))
  }

  async savePosition(
    reader: string,
    topic: Topic,
    partition: number,
    position: SavedPosition,
  ): Promise<void> {
    const lane = this.#writable(topic, partition)
    checkPosition(reader, position)
    const { offset, detail } = position
    await this.#queue.add({
      bytes: detail.length,
      write: (tx) => tx.savePosition(lane, reader, { offset, detail }),
    })
  }

  async trim(topic: Topic, partition: number, before: bigint): Promise<void> {
    const lane = this.#writable(topic, partition)
    if (COMPACTED.has(topic)) throw invalid(`Topic ${topic} is compacted and never trimmed`)
    const start = Number(before)
    await this.#queue.add({
      bytes: 0,
      check: (tx) => {
        const head = tx.head(lane)
        if (start > head.next) throw outOfRange(head, before)
      },
      write: (tx) => {
        const head = tx.head(lane)
        if (start <= head.start) return
        const base = this.#file.records.sumBelow(head, start)
        const records = head.records - (start - head.start)
        tx.replaceHead({ ...head, start, base, records })
        this.#maintenance.trimmed(lane)
      },
    })
  }

  async openTask(partition: number): Promise<TaskLog> {
    const lane = this.#writable('changelog', partition)
    const value = new TextEncoder().encode(new Date(this.time.now()).toISOString())
    return this.#queue.add({
      bytes: 0,
      write: (tx) => {
        const fence = tx.append(lane, [{ key: FENCE_KEY, value }])
        const task = new SqliteTaskLog({
          partition,
          fence: BigInt(fence),
          queue: this.#queue,
          laneOf: (topic, at) => this.#writable(topic, at),
          isOwner: () => this.#owners.get(partition) === task,
          giveUp: () => this.#owners.delete(partition),
        })
        this.#owners.set(partition, task)
        return task
      },
    })
  }

  /** Compacts a partition now; it happens by itself when it is due. */
  async compact(topic: Topic, partition: number): Promise<void> {
    const lane = this.#writable(topic, partition)
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted`)
    await this.#maintenance.compact(lane)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed.signal.aborted) return
    this.#maintenance.stop()
    this.#queue.drain()
    this.#closed.abort()
    this.#wake()
    this.#file.close()
    this.#lock?.[Symbol.dispose]()
  }

  #page(lane: number, from: bigint, limit: number): Page {
    return this.#file.read(() => {
      const head = this.#file.head(lane)
      if (from < head.start || from > head.next) throw outOfRange(head, from)
      const recent = this.#file.recent(lane, from, limit)
      if (recent !== undefined) {
        return { entries: recent, next: (recent.at(-1)?.offset ?? from - 1n) + 1n }
      }
      const { records, complete } = this.#file.records.upward(head, Number(from), limit)
      const next = complete ? head.next : records.at(-1)!.offset + 1
      return { entries: records.map(entryOf), next: BigInt(next) }
    })
  }

  #lane(topic: Topic, partition: number): number {
    if (this.#closed.signal.aborted) throw new LogError('CLOSED', 'This log is closed: open it')
    const lane = this.#file.laneOf(topic, partition)
    if (lane !== undefined) return lane
    if (this.#isNewer(topic, partition)) {
      const what = `The log ${this.#file.path} has no topic ${topic}: an older Kinfold wrote it`
      throw new LogError('FORMAT', `${what}. Begin a new one with "kinfold upgrade --data DIR"`)
    }
    throw invalid(`Topic ${topic} has no partition ${partition}, only ${this.partitions(topic)}`)
  }

  /** A topic that was added after the file was written: it is empty. */
  #isNewer(topic: Topic, partition: number): boolean {
    const isThere =
      Number.isInteger(partition) && partition >= 0 && partition < this.partitions(topic)
    return isThere && this.#file.laneOf(topic, partition) === undefined
  }

  #writable(topic: Topic, partition: number): number {
    const lane = this.#lane(topic, partition)
    if (this.#lock !== undefined) return lane
    throw invalid(`The log ${this.#file.path} is open for reading only: open it for writing`)
  }

  #written(): void {
    this.#wake()
    this.#maintenance.look()
  }

  /** Only readers that will find something, or all if the log is closed. */
  #wake(): void {
    for (const { lane, from, wake } of this.#waiting) {
      if (this.#closed.signal.aborted || this.#file.head(lane).next > from) wake()
    }
  }

  async #change(lane: number, from: bigint, leftMs: number, signal?: AbortSignal): Promise<void> {
    const over = new AbortController()
    const waiting = { lane, from, wake: () => over.abort() }
    this.#waiting.add(waiting)
    const any = signal === undefined ? over.signal : AbortSignal.any([over.signal, signal])
    const waitMs = this.#lock === undefined ? Math.min(leftMs, POLL_MS) : leftMs
    await this.#clock.sleep(waitMs, any)
    this.#waiting.delete(waiting)
  }
}

/** The directory, its lock and, the first time, the file. */
function prepareDirectory({ directory, partitions }: SqliteLogOptions, path: string): Disposable {
  let lock: Disposable | undefined
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    lock = lockDirectory(directory)
    if (!existsSync(path) && partitions !== undefined) {
      if (existsSync(`${path}-wal`))
        throw damagedFile(path, 'it is gone and its log.sqlite-wal is there')
      createFile(path, partitions)
    }
    return lock
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw failureOf(error, 'opened', path)
  }
}

function checkPartitions({ partitions, directory }: SqliteLogOptions, file: LogFile): void {
  if (partitions === undefined || partitions === file.partitions) return
  const message = `The log in ${directory} has ${file.partitions} partitions, not ${partitions}: open it with that number or use another directory`
  throw new LogError('FORMAT', message)
}

/** The append time of the newest record, also of records that were removed since. */
function newestIn(file: LogFile): number {
  let newest = 0
  for (const { timestamp } of file.heads) newest = Math.max(newest, timestamp)
  return newest
}

function missing(path: string): LogError {
  return invalid(`There is no log at ${path}: name the directory of one`)
}

function outOfRange(head: Head, asked: bigint): LogError {
  const held = `${nameOf(head)} holds ${head.start} to ${head.next}, not ${asked}`
  return new LogError('OUT_OF_RANGE', `The log's ${held}: start from a snapshot or a relist`)
}

function entryOf({ offset, timestamp, key, value, trace }: StoredRecord): Entry {
  const entry = { offset: BigInt(offset), timestamp, key, value }
  return trace === undefined ? entry : { ...entry, trace }
}
