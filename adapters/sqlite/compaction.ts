/**
 * One scan of a compacted lane, from its newest record down, that removes records that newer ones
 * supersede.
 *
 * What must stay true: after every slice the lane is whole and gives every reader the same latest
 * values. A tombstone is removed only when a complete scan of this process left it at least a day
 * ago, so every reader that still holds the value it removes has had that day to read it, and no
 * older value of its key is left that could reappear.
 *
 * Not here: when a scan is due (maintenance.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { LogFile, Transaction } from './log-file.ts'
import { NewestKeys } from './newest-keys.ts'
import type { StoredRecord } from './record-table.ts'

const TOMBSTONE_MS = 24 * 3_600_000

export interface CompactionBounds {
  /** A slice is one transaction and blocks the process: some 5 ms. */
  readonly sliceRecords: number
  /** Of the table of keys, twelve bytes each: at most 48 MiB, for as long as a scan lasts. */
  readonly maxSlots: number
}

const BOUNDS: CompactionBounds = { sliceRecords: 400, maxSlots: 2 ** 22 }

/**
 * The position of the scan: everything from `offset` on is done, and the record there links to
 * `prev`.
 */
interface Place {
  readonly offset: number
  readonly prev: number
}

/** The last complete scan of a lane. */
interface Walk {
  readonly end: number
  readonly atMs: number
}

export class Compaction {
  readonly #file: LogFile
  readonly #clock: Clock
  readonly #walks = new Map<number, Walk>()
  readonly #bounds: CompactionBounds

  constructor(file: LogFile, clock: Clock, bounds: CompactionBounds = BOUNDS) {
    this.#file = file
    this.#clock = clock
    this.#bounds = bounds
  }

  /** Yields after every slice. */
  *walk(lane: number): Generator<void> {
    const { next } = this.#file.head(lane)
    const walk = this.#walks.get(lane)
    const old = walk !== undefined && this.#clock.monotonicMs() - walk.atMs >= TOMBSTONE_MS
    const tombstonesBefore = old ? walk.end : 0
    // With more keys than the table holds, each part knows the keys of its own newest records only.
    for (let top: number | undefined = next; top !== undefined; ) {
      top = yield* this.#part(lane, top, tombstonesBefore)
    }
    this.#settle(lane, next)
    if (old || walk === undefined)
      this.#walks.set(lane, { end: next, atMs: this.#clock.monotonicMs() })
  }

  /** Answers with the offset that the next part has to begin before, if one is needed. */
  *#part(lane: number, top: number, tombstonesBefore: number): Generator<void, number | undefined> {
    const keys = new NewestKeys(
      (offset) => this.#file.records.keyAt(lane, offset),
      this.#bounds.maxSlots,
    )
    let unknown: number | undefined
    // The topmost record always stays: each record above it links to it, or will.
    const goneBefore = Math.min(tombstonesBefore, top - 1)
    const isGarbage = ({ offset, key, value }: StoredRecord): boolean => {
      const met = keys.meet(key, offset)
      if (met === 'unknown') unknown ??= offset + 1
      if (met === 'newest') return value === null && offset < goneBefore
      return met === 'superseded'
    }
    const prev = this.#file.read(() => this.#file.records.sumBelow(this.#file.head(lane), top))
    for (let place: Place | undefined = { offset: top, prev }; place !== undefined; ) {
      const from: Place = place
      place = this.#file.write(this.#clock.now(), (tx) => this.#slice(tx, lane, from, isGarbage))
      yield
    }
    return unknown
  }

  #slice(
    transaction: Transaction,
    lane: number,
    from: Place,
    isGarbage: (record: StoredRecord) => boolean,
  ): Place | undefined {
    const head = transaction.head(lane)
    const { records, complete } = this.#file.records.downward(
      head,
      from.offset,
      from.prev,
      this.#bounds.sliceRecords,
    )
    let above = from
    let removed = 0
    let link = from.prev
    for (const record of records) {
      if (isGarbage(record)) {
        this.#file.records.remove(lane, record.offset)
        removed++
        link = record.prev
      } else {
        this.#relink(lane, above, link)
        above = { offset: record.offset, prev: record.prev }
        link = record.prev
      }
    }
    this.#relink(lane, above, link)
    if (removed > 0) transaction.replaceHead({ ...head, records: head.records - removed })
    return complete ? undefined : { offset: above.offset, prev: link }
  }

  #relink(lane: number, above: Place, prev: number): void {
    if (above.prev !== prev) this.#file.records.relink(lane, above.offset, prev)
  }

  /** Records appended during the scan are not among those that it left. */
  #settle(lane: number, end: number): void {
    this.#file.write(this.#clock.now(), (transaction) => {
      const head = transaction.head(lane)
      transaction.replaceHead({ ...head, kept: head.records - (head.next - end) })
    })
  }
}
