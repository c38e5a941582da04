/** Whose owners make room where there are too many, against a count of them. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { KnownOwners } from './known-owners.ts'

/** As many as are kept. */
const MOST = 100_000

test('a uid that is in another namespace by then counts there alone', () => {
  const owners = new KnownOwners<{ readonly namespace: string }>()
  for (let uid = 0; uid < 2_000; uid++) owners.set(`moved-${uid}`, { namespace: 'before' })
  for (let uid = 0; uid < 2_000; uid++) owners.set(`moved-${uid}`, { namespace: 'after' })
  for (let uid = 0; uid < 1_500; uid++) owners.set(`many-${uid}`, { namespace: 'many' })
  const rest = MOST - 3_500
  for (let uid = 0; uid < rest; uid++) owners.set(`u-${uid}`, { namespace: `n-${uid % 200}` })
  const forgotten = owners.set('one-more', { namespace: 'n-0' })
  deepEqual([...owners.leftOut], ['after'])
  equal(forgotten.length, 2_000)
  for (let uid = 0; uid < 2_000; uid++) owners.set(`v-${uid}`, { namespace: `n-${uid % 200}` })
  deepEqual([...owners.leftOut], ['after', 'many'])
  equal(owners.isFull, false)
})
