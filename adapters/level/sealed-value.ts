/**
 * A value as it lies in LevelDB: its bytes, then a CRC-32 over key and value.
 *
 * What must stay true: a value is only ever given out under the key it was stored with. LevelDB under Node does not check its blocks when
 * it reads them, so this is what notices a flipped bit.
 */
import { crc32 } from 'node:zlib'
import { StoreError } from '../../ports/store.ts'

const CRC_BYTES = 4

export function sealed(key: string, value: Uint8Array): Uint8Array {
  const stored = Buffer.allocUnsafe(value.length + CRC_BYTES)
  stored.set(value)
  stored.writeUInt32LE(checksum(key, value), value.length)
  return stored
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
