/**
 * Running digests of the changes and commands of a partition's folds, for audits.
 *
 * What must stay true: chained record by record, so the split into batches does not matter.
 */
import { hash } from 'node:crypto'
import type { Entry } from '../../../../ports/log.ts'

export const NO_DIGEST: string = '0'.repeat(64)

const DIGEST_BYTES = 32
const LENGTH_BYTES = 4
/** No character of a string takes more in UTF-8. */
const CHARACTER_BYTES = 3
/** Nearly every record's pieces fit in here; more get a buffer of their own. */
const scratch = Buffer.alloc(64 * 1024)

/** SHA-256, in hexadecimal, of the digest so far and the pieces, each with its length. */
export function chained(digest: string, pieces: readonly (string | Uint8Array)[]): string {
  const most = mostBytes(pieces)
  const buffer = most <= scratch.length ? scratch : Buffer.allocUnsafe(most)
  let at = buffer.write(digest, 'hex')
  for (const piece of pieces) {
    const begin = at + LENGTH_BYTES
    let length: number
    if (typeof piece === 'string') length = buffer.write(piece, begin)
    else {
      buffer.set(piece, begin)
      length = piece.length
    }
    buffer.writeUInt32LE(length, at)
    at = begin + length
  }
  return hash('sha256', buffer.subarray(0, at), 'hex')
}

/** Of one entry: another one at its offset has another. */
export function digestOf({ timestamp, key, value }: Entry): string {
  return chained(NO_DIGEST, [String(timestamp), key, value ?? ''])
}

function mostBytes(pieces: readonly (string | Uint8Array)[]): number {
  let bytes = DIGEST_BYTES
  for (const piece of pieces) {
    bytes += LENGTH_BYTES + piece.length * (typeof piece === 'string' ? CHARACTER_BYTES : 1)
  }
  return bytes
}
