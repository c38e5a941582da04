/**
 * Port: an ordered, partitioned, durable log, and the one way to become the owner of a task on it.
 *
 * Guarantees: entries of a partition have growing offsets (with gaps) and are read in that order;
 * an acknowledged append is durable; a reader sees committed entries only, and never one beyond an
 * open transaction; a task's commit is atomic; after `openTask` no earlier owner's commit takes
 * effect. Assumes: callers can take an entry twice, and never retry a failed commit.
 *
 * Not here: the meaning of the bytes (codec.ts), the partition of a record
 * (core/model/partition.ts).
 */

export const TOPICS = [
  'events',
  'commands',
  'lineage',
  'history',
  'changelog',
  'orders',
  'control',
  'watermarks',
  'digests',
  'former',
  'snapshots',
  'archive',
  'dead-letter',
  'actors',
] as const

export type Topic = (typeof TOPICS)[number]

/** Only the latest value of a key is kept; a null value removes the key. */
export const COMPACTED: ReadonlySet<Topic> = new Set([
  'lineage',
  'changelog',
  'orders',
  'control',
  'watermarks',
])

/** These have one partition; all others as many as `events`. */
export const SINGLE_PARTITION: ReadonlySet<Topic> = new Set([
  'orders',
  'control',
  'watermarks',
  'actors',
])

/** Key of the entry that `openTask` writes into the changelog. */
export const FENCE_KEY = '~fence'

export interface Produced {
  /** Not empty; at most 32 KiB. */
  readonly key: string
  /** Null only on compacted topics. At most 7 MiB with its key. */
  readonly value: Uint8Array | null
  /**
   * Which trace the record belongs to (`traceparent` of W3C Trace Context): printable ASCII, at
   * most 64 characters. It is outside of the value, so no digest and no audit has it, and a log may
   * lose it: nothing but telemetry may read it.
   */
  readonly trace?: string
  /**
   * Names and values for other programs, which read the topic without us; together at most 256 KiB.
   * No reader of this port gets them, and a log that no other program reads leaves them out.
   */
  readonly headers?: readonly Header[]
}

export type Header = readonly [name: string, value: string]

/** A record to append. */
export interface Appending extends Produced {
  /**
   * The value at the moment in which it is sent, each time that it is: its content may change while
   * it waits. A few bytes larger than `value` at most.
   */
  readonly valueNow?: () => Uint8Array
  /**
   * When its fact was observed, by the monotonic clock of this process: for telemetry alone, and
   * never written.
   */
  readonly seenMs?: number
}

/** As they are to be sent off now. */
export function sentNow(records: readonly Appending[]): readonly Produced[] {
  if (records.every(({ valueNow }) => valueNow === undefined)) return records
  return records.map(({ valueNow, ...record }) => ({
    ...record,
    value: valueNow?.() ?? record.value,
  }))
}

export interface Entry extends Produced {
  readonly offset: bigint
  /**
   * Append time, in milliseconds since 1970, given by the log itself. In a log of this process it
   * continues at the pace of time, however the clock is set (append-time.ts).
   */
  readonly timestamp: number
}

export interface Page {
  readonly entries: readonly Entry[]
  /** Where to read on; may be beyond the last entry's offset plus one. */
  readonly next: bigint
}

export interface Bounds {
  /** Oldest offset that may still be read. */
  readonly start: bigint
  /** First offset that no reader may see yet (the last stable offset). */
  readonly end: bigint
}

export interface SavedPosition {
  /** Everything before it is dealt with. */
  readonly offset: bigint
  /** The reader's own metadata, at most 64 KiB. */
  readonly detail: string
}

export interface TopicBatch {
  readonly topic: Topic
  readonly partition: number
  readonly records: readonly Produced[]
}

export interface TaskCommit {
  readonly outputs: readonly TopicBatch[]
  /** Written to this task's partition of `changelog`. */
  readonly changelog: readonly Produced[]
}

/** Exclusive right to write one task's changelog; `close` gives it up. */
export interface TaskLog extends AsyncDisposable {
  readonly partition: number
  /**
   * Offset of the fence marker in the changelog: everything up to it is settled, nothing of a
   * predecessor comes after it.
   */
  readonly fence: bigint
  /**
   * Writes all or nothing; resolves with the end of the changelog partition (the next offset) after
   * it. Any failure, `UNKNOWN_OUTCOME` included: discard this task and open it again.
   */
  commit(commit: TaskCommit): Promise<bigint>
}

export interface Log extends AsyncDisposable {
  partitions(topic: Topic): number
  /** Resolves, once durable, with the offset of the first record. An empty list is refused. */
  append(topic: Topic, partition: number, records: readonly Appending[]): Promise<bigint>
  /**
   * At most `limit` entries from offset `from` on. Waits up to `waitMs` for the first one; none in
   * time gives an empty page. `from` below the start or above the end is `OUT_OF_RANGE`: never a
   * silent reset. A reader that is not a task of this process may not rely on anything after
   * `signal` aborts (then it rejects with the signal's reason).
   */
  read(
    topic: Topic,
    partition: number,
    from: bigint,
    options: { readonly limit: number; readonly waitMs: number },
    signal?: AbortSignal,
  ): Promise<Page>
  bounds(topic: Topic, partition: number): Promise<Bounds>
  /** That of `bounds`, for half of the requests where the log is on other machines. */
  end(topic: Topic, partition: number): Promise<bigint>
  /**
   * Of a compacted topic: from here on every null value is still there. A reader that stopped
   * before may have missed one, and holds a deleted value: it begins at the start, with nothing.
   */
  wholeFrom(topic: Topic, partition: number): Promise<bigint>
  /** Of a compacted topic: the last entry of each key that has a value, in offset order. */
  latest(topic: Topic, partition: number): Promise<readonly Entry[]>
  loadPosition(reader: string, topic: Topic, partition: number): Promise<SavedPosition | undefined>
  savePosition(
    reader: string,
    topic: Topic,
    partition: number,
    position: SavedPosition,
  ): Promise<void>
  /** Forgets entries before `before`; `start` moves there. Not on compacted topics. */
  trim(topic: Topic, partition: number, before: bigint): Promise<void>
  /** Fences every earlier owner of this partition and marks the changelog. */
  openTask(partition: number): Promise<TaskLog>
}

/**
 * - `retry`: nothing happened; the same call may be made again later.
 * - `take-over`: discard the task and open it again; the changelog shows whether it succeeded.
 * - `resign`: another process owns the task.
 * - `rebuild`: the requested records no longer exist: start from a snapshot or a relist.
 * - `stop`: only a person can help.
 */
export type LogRemedy = 'retry' | 'take-over' | 'resign' | 'rebuild' | 'stop'

export type LogErrorCode =
  | 'FENCED'
  | 'UNKNOWN_OUTCOME'
  | 'UNAVAILABLE'
  | 'OUT_OF_RANGE'
  | 'DAMAGED'
  | 'LOCKED'
  | 'FORMAT'
  | 'FULL'
  | 'IO'
  | 'INVALID'
  | 'CLOSED'

const REMEDIES: Readonly<Record<LogErrorCode, LogRemedy>> = {
  FENCED: 'resign',
  UNKNOWN_OUTCOME: 'take-over',
  UNAVAILABLE: 'retry',
  OUT_OF_RANGE: 'rebuild',
  DAMAGED: 'stop',
  LOCKED: 'stop',
  FORMAT: 'stop',
  FULL: 'stop',
  IO: 'stop',
  INVALID: 'stop',
  CLOSED: 'stop',
}

/** The message is one sentence that says what happened, where, and what to do. */
export class LogError extends Error {
  override readonly name = 'LogError'
  readonly code: LogErrorCode
  readonly remedy: LogRemedy

  constructor(code: LogErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.remedy = REMEDIES[code]
  }
}
