/**
 * What stands for a long list of owner references on the log.
 *
 * What must stay true: lists that differ in anything a server holds have different digests,
 * whichever client wrote them; commands on the log are compared by them, so the text is never
 * changed.
 */
import { createHash } from 'node:crypto'
import type { Archived } from '../ports/record/service-record.ts'

/** SHA-256, in hexadecimal digits. */
export function listDigest(references: Archived['ownerReferences']): string {
  const hash = createHash('sha256')
  for (const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } of references) {
    const entry = [apiVersion, kind, name, uid, controller, blockOwnerDeletion]
    hash.update(`${JSON.stringify(entry)}\n`)
  }
  return hash.digest('hex')
}
