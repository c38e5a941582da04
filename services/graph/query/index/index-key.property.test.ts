/**
 * Parts of keys can be read back as they were written, and have no separator, whatever a cluster
 * calls its uids.
 */
import { equal, ok } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { part, uidPart } from './index-key.ts'

const UIDS = fc.oneof(
  fc.uuid(),
  fc.uuid().map((uid) => uid.toUpperCase()),
  fc.uuid().map((uid) => `=${uid}`),
  fc.uuid().map((uid) => uidPart(uid)),
  fc.uuid().map((uid) => uid.replaceAll('-', '')),
  fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
)

test('a uid is read back from its part, which is printable and has no separator', () => {
  fc.assert(
    fc.property(UIDS, (uid) => {
      for (const text of [uidPart(uid), part(uid)]) {
        equal(uidOfPart(text), uid)
        ok(/^[!-~]*$/.test(text) && !text.includes('/'), text)
      }
    }),
  )
})

test('a UUID takes 23 characters', () => {
  equal(uidPart(randomUUID()).length, 23)
})

/** Of a part that either of them wrote. */
function uidOfPart(text: string): string {
  if (!text.startsWith('=')) return decodeURIComponent(text)
  const hex = Buffer.from(text.slice(1), 'base64url').toString('hex')
  const [first, second, third, fourth] = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    hex.slice(12, 16),
    hex.slice(16, 20),
  ]
  return `${first}-${second}-${third}-${fourth}-${hex.slice(20)}`
}
