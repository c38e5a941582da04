/**
 * The sums that make damage visible: SQLite reads a flipped or cut file back without an error.
 *
 * What must stay true: every column of a record but `prev` and `trace` is under its `sum`, and
 * `prev` is the sum of the record before it in its lane, so a changed, missing, foreign or repeated
 * record breaks a sum or a link. The layout never changes: files contain it.
 *
 * Not here: the comparison (record-table.ts, verify.ts).
 */
import { crc32 } from 'node:zlib'

const HEADER_BYTES = 28
/** Nearly all keys and values are smaller together; larger ones are summed one after the other. */
const ROW_BYTES = 4_096
/** UTF-8 makes no more of a UTF-16 unit. */
const BYTES_A_UNIT = 3

/** Header, key and value in a row, for one sum over all three. */
const row = Buffer.allocUnsafeSlow(ROW_BYTES)
const header = new DataView(row.buffer, 0, HEADER_BYTES)
/** By their length. */
const views: Buffer[] = []

/**
 * CRC-32 (as in zlib) of, in little-endian 32-bit words: lane, UTF-16 units of the key, bytes of
 * the value plus one (0 for a tombstone), offset low and high, timestamp low and high; then the key
 * in UTF-8; then the value.
 */
export function recordSum(
  lane: number,
  offset: number,
  timestamp: number,
  key: string,
  value: Uint8Array | null,
): number {
  writeHeader({ lane, offset, timestamp, units: key.length, value })
  const length = value?.length ?? 0
  if (HEADER_BYTES + key.length * BYTES_A_UNIT + length > ROW_BYTES) return longSum(key, value)
  return rowSum(HEADER_BYTES + row.write(key, HEADER_BYTES), value)
}

/** As it is in the file. */
export interface RawRecord {
  readonly lane: number
  readonly offset: number
  readonly timestamp: number
  /** UTF-16 units of the key. */
  readonly units: number
  /** In UTF-8. */
  readonly key: Uint8Array
  readonly value: Uint8Array | null
}

/** The same. */
export function rawRecordSum(record: RawRecord): number {
  const { key, value } = record
  writeHeader(record)
  if (HEADER_BYTES + key.length + (value?.length ?? 0) > ROW_BYTES) return longSum(key, value)
  row.set(key, HEADER_BYTES)
  return rowSum(HEADER_BYTES + key.length, value)
}

function writeHeader({ lane, offset, timestamp, units, value }: Omit<RawRecord, 'key'>): void {
  header.setUint32(0, lane, true)
  header.setUint32(4, units, true)
  header.setUint32(8, value === null ? 0 : value.length + 1, true)
  header.setUint32(12, offset >>> 0, true)
  header.setUint32(16, Math.floor(offset / 2 ** 32), true)
  header.setUint32(20, timestamp >>> 0, true)
  header.setUint32(24, Math.floor(timestamp / 2 ** 32), true)
}

function longSum(key: string | Uint8Array, value: Uint8Array | null): number {
  const sum = crc32(key, crc32(viewOf(HEADER_BYTES)))
  return value === null ? sum : crc32(value, sum)
}

function rowSum(valueAt: number, value: Uint8Array | null): number {
  if (value === null) return crc32(viewOf(valueAt))
  row.set(value, valueAt)
  return crc32(viewOf(valueAt + value.length))
}

function viewOf(length: number): Buffer {
  let view = views[length]
  if (view === undefined) {
    view = row.subarray(0, length)
    views[length] = view
  }
  return view
}

/**
 * CRC-32 of the columns before `sum`, as a JSON array: for the few small rows that are no records.
 */
export function columnsSum(columns: readonly (string | number)[]): number {
  return crc32(JSON.stringify(columns))
}
