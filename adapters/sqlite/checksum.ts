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

const header = new DataView(new ArrayBuffer(28))
const headerBytes = new Uint8Array(header.buffer)

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
  header.setUint32(0, lane, true)
  header.setUint32(4, key.length, true)
  header.setUint32(8, value === null ? 0 : value.length + 1, true)
  header.setUint32(12, offset >>> 0, true)
  header.setUint32(16, Math.floor(offset / 2 ** 32), true)
  header.setUint32(20, timestamp >>> 0, true)
  header.setUint32(24, Math.floor(timestamp / 2 ** 32), true)
  const sum = crc32(key, crc32(headerBytes))
  return value === null ? sum : crc32(value, sum)
}

/**
 * CRC-32 of the columns before `sum`, as a JSON array: for the few small rows that are no records.
 */
export function columnsSum(columns: readonly (string | number)[]): number {
  return crc32(JSON.stringify(columns))
}
