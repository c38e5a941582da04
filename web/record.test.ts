/** Deletions of the last hour as bars, by namespace and by who deleted. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Deletion } from './deletion-text.ts'
import { barsOf, namesIn } from './record.ts'

function deletion(uid: string, namespace: string, more: object = {}): Deletion {
  const cluster = { id: 'c', name: 'test', scope: 'test' }
  const told = { by: 'others', isInferred: false, deletedBy: null, root: null, ...more }
  return { cluster, namespace, uid, ...told } as unknown as Deletion
}

const alice = { deletedBy: { user: 'alice' } }

test('bars are by namespace, the longest first, their parts by who deleted, the newest first', () => {
  const bars = barsOf([
    deletion('1', 'shop', alice),
    deletion('2', 'shop', { by: 'kinfold' }),
    deletion('3', 'other', { deletedBy: { user: 'the collector', isCollector: true } }),
    deletion('6', 'other', { isInferred: true }),
    deletion('4', 'shop'),
    deletion('5', 'shop', alice),
  ])
  deepEqual(
    bars.map(({ namespace, total, parts }) => [
      ...[namespace, total],
      [...parts].map(([by, all]) => `${by} ${all.map(({ uid }) => uid)}`).toSorted(),
    ]),
    [
      ['shop', 4, ['Kinfold 2', 'a user 5,1', 'unknown 4']],
      ['other', 2, ['another collector 6,3']],
    ],
  )
})

test('three users are named, the others counted', () => {
  const by = (user: string): Deletion => deletion(user, '', { deletedBy: { user } })
  equal(namesIn(['a', 'b', 'a', 'c', 'd', 'e'].map(by)), 'a 2, b 1, c 1, 2 more')
})
