/**
 * Running digests of what a partition's folds changed and issued, for audits.
 *
 * What must stay true: chained record by record, so the split into batches does not matter.
 */
import { hash } from 'node:crypto'

export const NO_DIGEST: string = '0'.repeat(64)

/** SHA-256, in hexadecimal, of the digest so far and the pieces, each with its length. */
export function chained(digest: string, pieces: readonly (string | Uint8Array)[]): string {
  const buffers: Buffer[] = [Buffer.from(digest, 'hex')]
  for (const piece of pieces) {
    const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
    const length = Buffer.allocUnsafe(4)
    length.writeUInt32LE(bytes.length)
    buffers.push(length, bytes as Buffer)
  }
  return hash('sha256', Buffer.concat(buffers), 'hex')
}
