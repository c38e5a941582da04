/** Deletions of the last hour as bars, by namespace and by who deleted. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Deletion } from '../deletion-text.ts'
import { askedText, commandOf } from './deletions.ts'
import { endOf } from './end.ts'
import { barsOf, filtered, partText } from './record.ts'

function deletion(uid: string, namespace: string, more: object = {}): Deletion {
  const cluster = { id: 'c', name: 'test', scope: 'test' }
  const told = {
    by: 'others',
    isInferred: false,
    deletedBy: null,
    root: null,
    rootDeletedBy: null,
    ...more,
  }
  return { cluster, namespace, uid, ...told } as unknown as Deletion
}

/** Asked for by a user, as an audit log names it. */
function by(user: string, more: object = {}): Deletion['deletedBy'] {
  return { user, impersonated: null, match: 'uid', ...more } as unknown as Deletion['deletedBy']
}

const alice = { deletedBy: by('alice') }
const COLLECTOR = by('the collector', { isCollector: true })

test('bars are by namespace, the longest first, their parts by who deleted, the newest first', () => {
  const bars = barsOf([
    deletion('1', 'shop', alice),
    deletion('2', 'shop', { by: 'kinfold' }),
    deletion('3', 'other', { deletedBy: COLLECTOR }),
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
  const all = ['a', 'b', 'a', 'c', 'd', 'e'].map((user) => {
    return deletion(user, '', { deletedBy: by(user) })
  })
  equal(partText('a user', all), 'a user 6: a 2, b 1, c 1, 2 others')
})

test('a name that is a guess is called so, and kept apart from one that is known', () => {
  const guess = { deletedBy: by('bob', { match: 'name-and-time' }) }
  const all = [deletion('1', 'shop', guess), deletion('2', 'shop', guess)]
  const sure = deletion('3', 'shop', { deletedBy: by('bob') })
  equal(partText('a user', [...all, sure]), 'a user 3: probably bob 2, bob 1')
})

test('what a collector deleted is told with who deleted the owners, as inferred', () => {
  const after = (uid: string, user: string, more: object = {}): Deletion =>
    deletion(uid, 'shop', { deletedBy: COLLECTOR, rootDeletedBy: by(user, more) })
  const inferred = deletion('4', 'shop', { isInferred: true, rootDeletedBy: by('alice') })
  const plain = [after('1', 'alice'), after('2', 'bob', { match: 'name-and-time' })]
  const nobody = deletion('3', 'shop', { deletedBy: COLLECTOR })
  equal(
    partText('another collector', [...plain, nobody, inferred]),
    'another collector 4, because of deletions by alice 2, probably bob 1 (inferred)',
  )
  equal(partText('another collector', [nobody]), 'another collector 1')
  equal(
    partText('Kinfold', [deletion('5', 'shop', { by: 'kinfold', rootDeletedBy: by('alice') })]),
    'Kinfold 1, because of deletions by alice 1',
  )
})

test('a list is of who deleted, or of what is in no namespace', () => {
  const all = [deletion('1', 'shop', alice), deletion('2', '', alice), deletion('3', '')]
  const uidsOf = (who: string, isOutside: boolean): readonly string[] =>
    filtered(all, { who, isOutside }).map(({ uid }) => uid)
  deepEqual(uidsOf('', false), ['1', '2', '3'])
  deepEqual(uidsOf('a user', false), ['1', '2'])
  deepEqual(uidsOf('a user', true), ['2'])
})

test('a list of deletions has its command', () => {
  const words = { cluster: 'prod', namespace: 'shop', since: '1h' }
  equal(commandOf(words), 'kinfold deletions --cluster prod -n shop --since 1h')
  equal(askedText(words), 'in namespace shop, cluster prod, by anybody, from 1h ago')
  equal(commandOf({}), 'kinfold deletions -A --since 1h')
  equal(askedText({}), 'everywhere, by anybody, from 1h ago')
  equal(
    commandOf({ ...words, who: 'another collector', kind: 'pods' }),
    'kinfold deletions pods --cluster prod -n shop --since 1h --by others',
  )
  equal(commandOf({ by: 'eve x', who: 'a user' }), "kinfold deletions -A --since 1h --by 'eve x'")
  equal(commandOf({ by: 'eve\u202e' }), undefined)
})

test('a deletion begins where it is first recorded as under way, or at its end', () => {
  const entry = (position: number, change: 'created' | 'phase' | 'gone', phase?: 'waiting') => {
    return { change, phase: phase ?? null, partition: 0, position, at: `${position}` }
  }
  const made = entry(1, 'created')
  const gone = entry(5, 'gone')
  deepEqual(endOf([made, gone]), { at: '5', since: '5', isBegun: false, before: 'pos:0-5' })
  const begun = [made, entry(3, 'phase', 'waiting'), gone]
  deepEqual(endOf(begun), { at: '5', since: '3', isBegun: true, before: 'pos:0-3' })
  equal(endOf([made]), undefined)
})
