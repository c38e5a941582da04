/**
 * The records of all lanes in one table, read only with their sums and links checked.
 *
 * What must stay true: no record is returned that its lane does not prove: each record fits its
 * sum, each links to the one before it, the first one to the record before it and the last one to
 * the head. So a hole is as visible as a changed byte. Only a trace is under no sum: it may be
 * anything.
 *
 * Not here: transactions (log-file.ts).
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { Produced } from '../../ports/log.ts'
import { isTrace } from '../../ports/record/record-limit.ts'
import { recordSum } from './checksum.ts'
import { damagedAt } from './failure.ts'
import { type Head, idOf, OFFSET_END } from './head.ts'

export interface StoredRecord {
  readonly offset: number
  readonly timestamp: number
  readonly key: string
  readonly value: Uint8Array | null
  /** Sum of the record before it that is still there. */
  readonly prev: number
  readonly sum: number
  /** Under no sum. */
  readonly trace?: string
}

export interface Stretch {
  readonly records: readonly StoredRecord[]
  /** Nothing follows in that direction. */
  readonly complete: boolean
}

/**
 * A page is read in one turn and blocks the process meanwhile: some milliseconds at these bounds.
 */
const MAX_STRETCH_RECORDS = 5_000
const MAX_STRETCH_BYTES = 4 * 1024 * 1024

const COLUMNS = 'id & 17592186044415, timestamp, key, value, prev, sum'
const TRACED_COLUMNS = `${COLUMNS}, trace`
const RANGE = 'FROM record WHERE id >= ? AND id < ?'

export class RecordTable {
  readonly #path: string
  readonly #isTraced: boolean
  readonly #insert: StatementSync
  readonly #upward: StatementSync
  readonly #downward: StatementSync
  readonly #below: StatementSync
  readonly #key: StatementSync
  readonly #delete: StatementSync
  readonly #deleteRange: StatementSync
  readonly #relink: StatementSync

  /** `isTraced`: whether its table has the column for traces; else they are left out. */
  constructor(db: DatabaseSync, path: string, isTraced: boolean) {
    const prepare = (sql: string): StatementSync => {
      const statement = db.prepare(sql)
      statement.setReturnArrays(true)
      return statement
    }
    const columns = isTraced ? TRACED_COLUMNS : COLUMNS
    this.#path = path
    this.#isTraced = isTraced
    this.#insert = prepare(`INSERT INTO record VALUES (?, ?, ?, ?, ?, ?${isTraced ? ', ?' : ''})`)
    this.#upward = prepare(`SELECT ${columns} ${RANGE} ORDER BY id LIMIT ?`)
    this.#downward = prepare(`SELECT ${columns} ${RANGE} ORDER BY id DESC LIMIT ?`)
    this.#below = prepare(`SELECT sum ${RANGE} ORDER BY id DESC LIMIT 1`)
    this.#key = prepare('SELECT key FROM record WHERE id = ?')
    this.#delete = prepare('DELETE FROM record WHERE id = ?')
    this.#deleteRange = prepare(
      `DELETE FROM record WHERE id IN (SELECT id ${RANGE} ORDER BY id LIMIT ?)`,
    )
    this.#relink = prepare('UPDATE record SET prev = ? WHERE id = ?')
  }

  /** Answers with the head as it is then. */
  append(head: Head, produced: readonly Produced[], now: number): Head {
    const timestamp = Math.max(head.timestamp, now)
    let { next, last } = head
    for (const { key, value, trace } of produced) {
      const sum = recordSum(head.lane, next, timestamp, key, value)
      const row = [idOf(head.lane, next), timestamp, key, value, last, sum] as const
      if (this.#isTraced) this.#insert.run(...row, trace ?? null)
      else this.#insert.run(...row)
      last = sum
      next++
    }
    return { ...head, next, last, timestamp, records: head.records + produced.length }
  }

  /** From `from` on, upwards; at least one if there is any. */
  upward(head: Head, from: number, limit: number): Stretch {
    const most = Math.min(limit, MAX_STRETCH_RECORDS)
    const rows = this.#upward.iterate(idOf(head.lane, from), idOf(head.lane, head.next), most)
    const { records, cut } = take(rows)
    let prev = this.sumBelow(head, from)
    for (const record of records) {
      this.#check(head, record)
      if (record.prev !== prev) throw this.#broken(head, record.offset)
      prev = record.sum
    }
    const complete = !cut && records.length < most
    if (complete && prev !== head.last) throw this.#broken(head, head.next - 1)
    return { records, complete }
  }

  /** Before `before`, downwards. `above` is the link in the record above them. */
  downward(head: Head, before: number, above: number, limit: number): Stretch {
    const rows = this.#downward.iterate(idOf(head.lane, head.start), idOf(head.lane, before), limit)
    const { records, cut } = take(rows)
    let link = above
    for (const record of records) {
      this.#check(head, record)
      if (record.sum !== link) throw this.#broken(head, record.offset)
      link = record.prev
    }
    const complete = !cut && records.length < limit
    if (complete && link !== head.base) throw this.#broken(head, head.start)
    return { records, complete }
  }

  /** Sum that a record at `offset` has to link to. */
  sumBelow(head: Head, offset: number): number {
    if (offset <= head.start) return head.base
    const row = this.#below.get(idOf(head.lane, head.start), idOf(head.lane, offset))
    return row === undefined ? head.base : Number(columns(row)[0])
  }

  keyAt(lane: number, offset: number): string | undefined {
    const row = this.#key.get(idOf(lane, offset))
    return row === undefined ? undefined : String(columns(row)[0])
  }

  /** Is there anything from `from` to before `to`? */
  hasAny(lane: number, from: number, to: number = OFFSET_END): boolean {
    return this.#below.get(idOf(lane, from), idOf(lane, to)) !== undefined
  }

  remove(lane: number, offset: number): void {
    this.#delete.run(idOf(lane, offset))
  }

  relink(lane: number, offset: number, prev: number): void {
    this.#relink.run(prev, idOf(lane, offset))
  }

  /** Deletes at most `limit` records before the start; answers how many. */
  removeTrimmed(head: Head, limit: number): number {
    const range = [idOf(head.lane, 0), idOf(head.lane, head.start)] as const
    return Number(this.#deleteRange.run(...range, limit).changes)
  }

  #check(head: Head, record: StoredRecord): void {
    const { offset, timestamp, key, value, sum } = record
    if (recordSum(head.lane, offset, timestamp, key, value) === sum) return
    throw damagedAt(head, offset, this.#path, 'its content does not fit its checksum')
  }

  #broken(head: Head, offset: number): Error {
    const what = 'records before it are missing or are not those that were written'
    return damagedAt(head, offset, this.#path, what)
  }
}

/** Stops once the bytes exceed the bound. */
function take(rows: Iterable<unknown>): { records: StoredRecord[]; cut: boolean } {
  const records: StoredRecord[] = []
  let bytes = 0
  for (const row of rows) {
    const record = storedRecord(columns(row))
    records.push(record)
    bytes += record.key.length + (record.value?.length ?? 0)
    if (bytes > MAX_STRETCH_BYTES) return { records, cut: true }
  }
  return { records, cut: false }
}

/** A column of another type than the table's is damage; its sum will show it. */
function storedRecord(row: readonly SQLOutputValue[]): StoredRecord {
  const [offset, timestamp, key, value, prev, sum, trace] = row
  const record = {
    offset: Number(offset),
    timestamp: Number(timestamp),
    key: String(key),
    value: value instanceof Uint8Array ? value : null,
    prev: Number(prev),
    sum: Number(sum),
  }
  return typeof trace === 'string' && isTrace(trace) ? { ...record, trace } : record
}

function columns(row: unknown): readonly SQLOutputValue[] {
  return row as readonly SQLOutputValue[]
}
