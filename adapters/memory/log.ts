/**
 * The log in memory: a broker's behaviour without its network, for tests, the simulator and the
 * playground.
 *
 * What must stay true: it is as awkward as a real broker may be. Transactions stay open, answers
 * get lost, owners are fenced in the middle of a commit, offsets have gaps; what works here must
 * not depend on luck. Content outlives a handle: `reopen` is a restart of the process.
 *
 * Not here: bytes on a disk and their faults (adapters/sqlite).
 */
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
  type SavedPosition,
  SINGLE_PARTITION,
  sentNow,
  type TaskLog,
  TOPICS,
  type Topic,
} from '../../ports/log.ts'
import { checkPosition, checkRecords } from '../../ports/record/record-limit.ts'
import { MemoryPartition } from './log-partition.ts'
import { type Fate, type HeldFate, MemoryTaskLog, type TaskAccess } from './task-log.ts'
import { Transaction } from './transaction.ts'

export interface MemoryLogOptions {
  readonly partitions: number
  readonly clock: Clock
}

/** A commit whose entries are in the log while its outcome is open. */
export interface HeldCommit {
  release(): void
  abort(): void
}

/** The state that outlives a handle. */
interface Content {
  time: AppendTime
  readonly partitions: Map<string, MemoryPartition>
  readonly positions: Map<string, SavedPosition>
  readonly tasks: Map<number, MemoryTaskLog>
  /** How the next commits are to end, when not at once and well. */
  readonly fates: Fate[]
  readonly refusals: LogError[]
}

export class MemoryLog implements Log {
  readonly #options: MemoryLogOptions
  readonly #content: Content
  readonly #closed = new AbortController()

  constructor(options: MemoryLogOptions, content: Content = emptyContent(options)) {
    this.#options = options
    this.#content = content
  }

  get time(): AppendTime {
    return this.#content.time
  }

  partitions(topic: Topic): number {
    return SINGLE_PARTITION.has(topic) ? 1 : this.#options.partitions
  }

  async append(topic: Topic, partition: number, records: readonly Appending[]): Promise<bigint> {
    const at = this.#partition(topic, partition)
    if (records.length === 0) throw invalid('An append needs at least one record')
    checkRecords(topic, records)
    const refusal = this.#content.refusals.shift()
    if (refusal !== undefined) throw refusal
    return at.append(sentNow(records), this.#content.time.now())
  }

  async read(
    topic: Topic,
    partition: number,
    from: bigint,
    options: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page> {
    if (!(options.limit >= 1)) throw invalid('A read needs a limit of at least 1')
    const deadline = this.#options.clock.monotonicMs() + options.waitMs
    // Not by the clock alone: a test may hold it still.
    for (let isOver = false; ; ) {
      signal?.throwIfAborted()
      const at = this.#partition(topic, partition)
      if (from < at.start || from > at.end) throw outOfRange(topic, partition, from, at)
      const page = at.page(from, options.limit)
      const leftMs = deadline - this.#options.clock.monotonicMs()
      if (page.entries.length > 0 || leftMs <= 0 || isOver) return page
      isOver = !(await this.#change(at, leftMs, signal))
    }
  }

  async bounds(topic: Topic, partition: number): Promise<Bounds> {
    const { start, end } = this.#partition(topic, partition)
    return { start, end }
  }

  async end(topic: Topic, partition: number): Promise<bigint> {
    return (await this.bounds(topic, partition)).end
  }

  /** Only tests compact, and keep the null values. */
  async wholeFrom(topic: Topic, partition: number): Promise<bigint> {
    return this.#partition(topic, partition).start
  }

  async latest(topic: Topic, partition: number): Promise<readonly Entry[]> {
    const at = this.#partition(topic, partition)
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted: read its entries`)
    const latest = new Map<string, Entry>()
    for (const entry of at.page(at.start, Number.POSITIVE_INFINITY).entries) {
      latest.delete(entry.key)
      if (entry.value !== null) latest.set(entry.key, entry)
    }
    return [...latest.values()]
  }

  async loadPosition(
    reader: string,
    topic: Topic,
    partition: number,
  ): Promise<SavedPosition | undefined> {
    this.#partition(topic, partition)
    return this.#content.positions.get(positionKey(reader, topic, partition))
  }

  async savePosition(
    reader: string,
    topic: Topic,
    partition: number,
    position: SavedPosition,
  ): Promise<void> {
    this.#partition(topic, partition)
    checkPosition(reader, position)
    this.#content.positions.set(positionKey(reader, topic, partition), { ...position })
  }

  async trim(topic: Topic, partition: number, before: bigint): Promise<void> {
    const at = this.#partition(topic, partition)
    if (COMPACTED.has(topic)) throw invalid(`Topic ${topic} is compacted and never trimmed`)
    if (before > at.end) throw outOfRange(topic, partition, before, at)
    if (before > at.start) at.trim(before)
  }

  async openTask(partition: number): Promise<TaskLog> {
    const changelog = this.#partition('changelog', partition)
    this.#content.tasks.get(partition)?.supersede()
    const now = this.#content.time.now()
    const marker = new Transaction()
    const value = new TextEncoder().encode(new Date(now).toISOString())
    const fence = marker.append(changelog, [{ key: FENCE_KEY, value }], now)
    marker.end('committed')
    const task = new MemoryTaskLog(partition, fence, this.#access(changelog))
    this.#content.tasks.set(partition, task)
    return task
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort()
  }

  /**
   * As a restart of the process: this handle closes, the content stays, open transactions on the
   * broker stay open.
   */
  reopen(): MemoryLog {
    this.#closed.abort()
    this.#content.time = new AppendTime(this.#options.clock, this.#content.time.now())
    return new MemoryLog(this.#options, this.#content)
  }

  /** The next commit stays open until `release` says how it ends; several calls queue up. */
  holdNextCommit(): HeldCommit {
    const fate: HeldFate = {
      type: 'held',
      told: null,
      end: (phase) => {
        fate.told ??= phase
      },
    }
    this.#content.fates.push(fate)
    return { release: () => fate.end('committed'), abort: () => fate.end('aborted') }
  }

  /** The next commit rejects with `UNKNOWN_OUTCOME`, whether it took effect or not. */
  loseNextCommitAnswer(took: boolean): void {
    this.#content.fates.push({ type: 'lost', took })
  }

  /** The next append is refused and leaves nothing. */
  refuseNextAppend(): void {
    const message = 'The log cannot be reached just now: try again'
    this.#content.refusals.push(new LogError('UNAVAILABLE', message))
  }

  /** As an unclean election: acknowledged records from `from` on are lost. */
  cutOff(topic: Topic, partition: number, from: bigint): void {
    this.#partition(topic, partition).cutOff(from)
  }

  /** Removes superseded entries of a compacted topic; tombstones stay. */
  compact(topic: Topic, partition: number): void {
    const at = this.#partition(topic, partition)
    if (!COMPACTED.has(topic)) throw invalid(`Topic ${topic} is not compacted`)
    at.compact()
  }

  #access(changelog: MemoryPartition): TaskAccess {
    return {
      changelog,
      closed: this.#closed.signal,
      now: () => this.#content.time.now(),
      nextFate: () => this.#content.fates.shift(),
      writable: (topic, partition, records) => {
        const at = this.#partition(topic, partition)
        checkRecords(topic, records)
        return at
      },
    }
  }

  #partition(topic: Topic, partition: number): MemoryPartition {
    if (this.#closed.signal.aborted) throw new LogError('CLOSED', 'This log is closed: open it')
    const found = this.#content.partitions.get(`${topic}/${partition}`)
    if (found !== undefined) return found
    throw invalid(`Topic ${topic} has no partition ${partition}, only ${this.partitions(topic)}`)
  }

  /** False: it waited in vain. */
  async #change(at: MemoryPartition, leftMs: number, signal?: AbortSignal): Promise<boolean> {
    const over = new AbortController()
    // One signal of our own, and a reason that is there already: this is the simulator's busiest
    // wait.
    const end = (): void => over.abort(CHANGED)
    const takeBack = at.onChange(end)
    const ends = signal === undefined ? [this.#closed.signal] : [this.#closed.signal, signal]
    for (const each of ends) each.addEventListener('abort', end, { once: true })
    await this.#options.clock.sleep(leftMs, over.signal)
    for (const each of ends) each.removeEventListener('abort', end)
    takeBack()
    return over.signal.aborted
  }
}

const CHANGED = new Error('Something changed.')

function emptyContent(log: MemoryLogOptions): Content {
  const partitions = new Map<string, MemoryPartition>()
  for (const topic of TOPICS) {
    const count = SINGLE_PARTITION.has(topic) ? 1 : log.partitions
    for (let partition = 0; partition < count; partition++) {
      partitions.set(`${topic}/${partition}`, new MemoryPartition())
    }
  }
  const time = new AppendTime(log.clock, 0)
  return { time, partitions, positions: new Map(), tasks: new Map(), fates: [], refusals: [] }
}

function positionKey(reader: string, topic: Topic, partition: number): string {
  return `${topic}/${partition}/${reader}`
}

function invalid(message: string): LogError {
  return new LogError('INVALID', message)
}

function outOfRange(topic: Topic, partition: number, asked: bigint, at: Bounds): LogError {
  const held = `from ${at.start} to ${at.end}`
  const message = `Partition ${partition} of ${topic} holds ${held}, not ${asked}: start from a snapshot or a relist`
  return new LogError('OUT_OF_RANGE', message)
}
