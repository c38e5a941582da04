/**
 * A value as it is stored in LevelDB: its bytes, then a CRC-32 over key and value.
 *
 * What must stay true: a value is only ever given out under the key it was stored with. LevelDB
 * under Node does not check its blocks when it reads them, so only this notices a flipped bit.
 */
import { crc32 } from 'node:zlib'
import { StoreError } from '../../ports/store.ts'

const CRC_BYTES = 4

/** Nearly all keys and values are smaller; larger ones get memory of their own. */
const LENT_BYTES = 4_096
/** UTF-8 makes no more of a character of JavaScript's. */
const MOST_BYTES_A_CHARACTER = 3

export function sealed(key: string, value: Uint8Array): Uint8Array {
  const stored = Buffer.allocUnsafe(value.length + CRC_BYTES)
  stored.set(value)
  stored.writeUInt32LE(checksum(key, value), value.length)
  return stored
}

/** Key and value in a row, for one sum over both; and the value as it is stored. */
const summing = Buffer.allocUnsafeSlow(LENT_BYTES)
const lending = Buffer.allocUnsafeSlow(LENT_BYTES)
/** By their length. */
const summingViews: Buffer[] = []
const lendingViews: Buffer[] = []

/**
 * As `sealed`, in memory that the next call overwrites: for a caller that copies it at once, since
 * objects of its own for each value cost more than its sum.
 */
export function sealedForNow(key: string, value: Uint8Array): Uint8Array {
  const { length } = value
  if (key.length * MOST_BYTES_A_CHARACTER + length + CRC_BYTES > LENT_BYTES) {
    return sealed(key, value)
  }
  const keyBytes = summing.write(key)
  summing.set(value, keyBytes)
  lending.set(value)
  lending.writeUInt32LE(crc32(viewOf(summing, summingViews, keyBytes + length)), length)
  return viewOf(lending, lendingViews, length + CRC_BYTES)
}

function viewOf(bytes: Buffer, views: Buffer[], length: number): Buffer {
  let view = views[length]
  if (view === undefined) {
    view = bytes.subarray(0, length)
    views[length] = view
  }
  return view
}

/** Throws `DAMAGED` when the value is not the one that was sealed under this key. */
export function unsealed(key: string, stored: Uint8Array): Uint8Array {
  const { buffer, byteOffset } = stored
  const length = stored.length - CRC_BYTES
  if (length < 0) throw damagedValue(key)
  const value = new Uint8Array(buffer, byteOffset, length)
  const crc =
    stored[length]! |
    (stored[length + 1]! << 8) |
    (stored[length + 2]! << 16) |
    (stored[length + 3]! << 24)
  if (crc >>> 0 !== checksum(key, value)) throw damagedValue(key)
  return value
}

function checksum(key: string, value: Uint8Array): number {
  return crc32(value, crc32(key))
}

function damagedValue(key: string): StoreError {
  return new StoreError(
    'DAMAGED',
    `the value of ${key} fails its checksum; wipe the store and replay the changelog`,
  )
}
