/**
 * Proves a stretch of records at once, for the full check at open: keys and values come out of
 * SQLite as one blob each, since an object for every value costs more than its sum.
 *
 * What must stay true: it proves no less than `RecordTable.upward`: each record fits its sum and
 * links to the one before it, the last one to the head. What it does not prove is no damage yet:
 * the table is asked then, and says what is wrong.
 */
import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { rawRecordSum } from './checksum.ts'
import { type Head, idOf } from './head.ts'

export interface Proved {
  readonly count: number
  /** Where the next stretch begins. */
  readonly next: number
  /** Nothing follows. */
  readonly complete: boolean
}

/** Read at once, besides the first record. */
const MAX_BYTES = 1024 * 1024

const RANGE = 'FROM record WHERE id >= ? AND id < ?'

/** Offset, timestamp, characters and bytes of the key, bytes of the value, link and sum. */
type Row = readonly [number, number, number, number, number | null, number, number]

export class Proof {
  readonly #rows: StatementSync
  readonly #bytes: StatementSync

  constructor(db: DatabaseSync) {
    this.#rows = db.prepare(
      `SELECT id & 17592186044415, timestamp, length(key), octet_length(key), octet_length(value), prev, sum ${RANGE} ORDER BY id LIMIT ?`,
    )
    // Both take the bytes as they are, one after the other; in another order they prove nothing.
    this.#bytes = db.prepare(
      `SELECT CAST(group_concat(key, '') AS BLOB), CAST(group_concat(value, '') AS BLOB) ${RANGE}`,
    )
    for (const statement of [this.#rows, this.#bytes]) statement.setReturnArrays(true)
  }

  /** From `from` on, upwards; `prev` is what the record there has to link to. */
  upward(head: Head, from: number, prev: number, limit: number): Proved | undefined {
    const begin = idOf(head.lane, from)
    const all = this.#rows.all(
      begin,
      idOf(head.lane, head.next),
      limit,
    ) as unknown as readonly Row[]
    const rows = all.slice(0, countWithin(all))
    const last = rows.at(-1)
    const next = (last?.[0] ?? from) + 1
    const bytes = this.#bytes.get(begin, idOf(head.lane, next))
    if (!this.#isProved(head, rows, prev, bytes)) return undefined
    const complete = rows.length === all.length && all.length < limit
    if (complete && (last?.[6] ?? prev) !== head.last) return undefined
    return { count: rows.length, next, complete }
  }

  #isProved(head: Head, rows: readonly Row[], prev: number, read: unknown): boolean {
    const [keys, values] = (read as readonly SQLOutputValue[]).map(bufferOf)
    if (keys === undefined || values === undefined) return false
    let [keyAt, valueAt, link] = [0, 0, prev]
    for (const [offset, timestamp, units, keyBytes, valueBytes, linked, sum] of rows) {
      // Only of ASCII the characters are UTF-16 units and bytes alike.
      if (units !== keyBytes || linked !== link) return false
      const key = keys.subarray(keyAt, keyAt + keyBytes)
      const value = valueBytes === null ? null : values.subarray(valueAt, valueAt + valueBytes)
      if (rawRecordSum({ lane: head.lane, offset, timestamp, units, key, value }) !== sum)
        return false
      keyAt += keyBytes
      valueAt += valueBytes ?? 0
      link = sum
    }
    return keyAt === keys.length && valueAt === values.length
  }
}

/** How many of them fit, but at least one. */
function countWithin(rows: readonly Row[]): number {
  let bytes = 0
  for (const [at, [, , , keyBytes, valueBytes]] of rows.entries()) {
    bytes += keyBytes + (valueBytes ?? 0)
    if (bytes > MAX_BYTES && at > 0) return at
  }
  return rows.length
}

/** Nothing where there is none, as of tombstones alone. */
function bufferOf(value: SQLOutputValue): Buffer {
  if (!(value instanceof Uint8Array)) return Buffer.alloc(0)
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}
