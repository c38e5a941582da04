/**
 * Parts of keys are read back as they were written, and have no separator, whatever a cluster calls
 * its uids.
 */
import { equal, ok } from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { part, uidOfPart, uidPart } from './index-key.ts'

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
