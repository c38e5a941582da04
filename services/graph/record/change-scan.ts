/**
 * Reads the topic `history` of all partitions as one list, the oldest first, from places on and up
 * to ends that are fixed at the first page.
 *
 * What must stay true: one request reads a bounded number of entries, whatever it finds, and says
 * where each partition goes on; what was read and not taken is read again by the next one. The
 * changes of one cluster that is asked for alone come in the order of its log, since each partition
 * of `history` has them in that order. Several clusters are ordered by time; where one was folded
 * late, its own order holds on each page (`inOwnOrder`), and hardly ever not between two.
 *
 * Why the log, and no key in the index: the log is whole back to its retention, while the index
 * forgets an object with all that happened to it; and a second key would be one more write for each
 * change, of all clusters, for a question that is asked now and then.
 *
 * Not here: which changes are asked for (query/ask/record-filter.ts), where the first page begins
 * (change-page.ts).
 */
import type { History } from '../../../core/model/record.ts'
import type { Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { HistoryRecord } from '../../../ports/record/lineage.ts'
import type { RecordFilter } from '../query/ask/record-filter.ts'
import { changeIn } from '../query/index/history-key.ts'
import type { Turns } from '../turns.ts'

/** Entries that one request reads. */
const MOST_READ = 5_000
/**
 * Entries of a partition read at once, at most: of many partitions fewer, so that the first ones of
 * all are a quarter of the whole.
 */
const MOST_AT_ONCE = 500
const SHARE_OF_FIRSTS = 4
/** How long a read waits for what the log says it holds. */
const WAIT_MS = 1_000
/** By so much clocks of brokers may differ, so that times of the log are not quite in its order. */
export const SKEW_MS = 60_000

/** Of one partition: the next entry to read, and the end. */
export interface Place {
  readonly partition: number
  readonly next: bigint
  readonly end: bigint
}

/** In milliseconds; from `since` on, before `until`. */
export interface Span {
  readonly since: number
  readonly until: number
}

export interface Change {
  readonly record: History
  /** Of its entry. */
  readonly offset: bigint
}

interface ScanParts {
  readonly log: Log
  readonly codec: Codec
  readonly turns: Turns
  readonly filter: Pick<RecordFilter, 'isShown' | 'isOfClusters'>
  readonly span: Span
  /** Partitions of `events` that the clusters asked for are in. */
  readonly sources: ReadonlySet<number>
}

export class ChangeScan {
  readonly #parts: ScanParts
  readonly #readers: Reader[]
  readonly #atOnce: number
  #read = 0
  #isStalled = false

  constructor(parts: ScanParts, places: readonly Place[]) {
    this.#parts = parts
    this.#readers = places.map((place) => new Reader(place))
    const share = Math.floor(MOST_READ / (SHARE_OF_FIRSTS * Math.max(1, places.length)))
    this.#atOnce = Math.max(1, Math.min(MOST_AT_ONCE, share))
  }

  /**
   * The next one that is asked for; undefined when there is none, or this request has read enough,
   * or it may not be taken.
   */
  async next(mayTake: (change: Change) => boolean = () => true): Promise<Change | undefined> {
    for (const reader of this.#readers) {
      while (reader.isOpen && reader.head === undefined) {
        if (this.#read >= MOST_READ || this.#isStalled) return undefined
        await this.#fill(reader)
      }
    }
    const first = this.#readers.reduce<Reader | undefined>((a, b) => {
      if (b.head === undefined) return a
      return a?.head === undefined || isBefore(b.head, a.head) ? b : a
    }, undefined)
    return first?.head !== undefined && mayTake(first.head) ? first.take() : undefined
  }

  /** What comes next of each partition, as far as it was read already: so many of each. */
  waiting(limit: number): readonly Change[] {
    return this.#readers.flatMap((reader) => reader.waiting(limit))
  }

  /** Where the next request continues; empty when all is read. */
  places(): readonly Place[] {
    return this.#readers.flatMap((reader) => reader.place() ?? [])
  }

  async #fill(reader: Reader): Promise<void> {
    const { log, codec, turns, filter, span, sources } = this.#parts
    const { partition, next, end } = reader
    const options = { limit: this.#atOnce, waitMs: WAIT_MS }
    const page = await log.read('history', partition, next, options)
    this.#isStalled = page.next === next
    for (const { offset, key, value } of page.entries) {
      if (offset >= end) break
      this.#read += 1
      await turns.take()
      if (value === null || !filter.isOfClusters(key)) continue
      const record = codec.decode(value) as HistoryRecord
      const { at } = record
      // What follows of its cluster is later still.
      if (at >= span.until + SKEW_MS && reader.passed(record.partition, sources)) return
      if (at < span.since || at >= span.until) continue
      if (await filter.isShown(key, record)) reader.put({ record: changeIn(record), offset })
    }
    reader.next = page.next < end ? page.next : end
  }
}

/** One partition of `history`. */
class Reader {
  readonly partition: number
  readonly end: bigint
  next: bigint
  readonly #waiting: Change[] = []
  readonly #passed = new Set<number>()
  #isPast = false

  constructor({ partition, next, end }: Place) {
    this.partition = partition
    this.next = next
    this.end = end
  }

  get isOpen(): boolean {
    return !this.#isPast && this.next < this.end
  }

  get head(): Change | undefined {
    return this.#waiting[0]
  }

  waiting(limit: number): readonly Change[] {
    return this.#waiting.slice(0, limit)
  }

  put(change: Change): void {
    this.#waiting.push(change)
  }

  take(): Change | undefined {
    return this.#waiting.shift()
  }

  /** True: of no partition of `events` that is asked for more can come. */
  passed(source: number, sources: ReadonlySet<number>): boolean {
    this.#passed.add(source)
    this.#isPast = [...sources].every((each) => this.#passed.has(each))
    return this.#isPast
  }

  place(): Place | undefined {
    const { partition, end, head } = this
    if (head === undefined && !this.isOpen) return undefined
    return { partition, next: head?.offset ?? this.next, end }
  }
}

/**
 * The rows of each partition of `events` in the order of that log, in the places that they have.
 */
export function inOwnOrder<T extends Pick<History, 'partition' | 'position'>>(
  rows: readonly T[],
): readonly T[] {
  const sorted = new Map(
    [...Map.groupBy(rows, ({ partition }) => partition)].map(([partition, own]) => {
      return [partition, own.sort(byPosition).values()] as const
    }),
  )
  return rows.map((row) => sorted.get(row.partition)?.next().value ?? row)
}

function byPosition({ position: a }: { position: bigint }, { position: b }: { position: bigint }) {
  return a < b ? -1 : Number(a > b)
}

function isBefore({ record: a }: Change, { record: b }: Change): boolean {
  if (a.at !== b.at) return a.at < b.at
  if (a.partition !== b.partition) return a.partition < b.partition
  return a.position < b.position
}
