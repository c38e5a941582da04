/** What judging one owner changes for another one is told as well: one record brings both about. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf } from '../testing/folders.ts'
import { kindNotation, object } from '../testing/notation.ts'
import { PARTITIONS, PartitionWorld } from '../testing/partition-world.ts'
import { show } from '../testing/story.ts'
import type { Event } from './event.ts'
import { EMPTY_SET, withMember } from './hash.ts'
import { partitionOfObject } from './partition.ts'
import { policyFor } from './policy.ts'

const BLOCKED = 'rs/a <- pv/b!, job/none'
const OTHER = 'pv/k <- pv/b! [deleting h.io/x]'
const LAST = 'pod/d <- rs/a! [h.io/x]'
/** More than a record's share of the agenda. */
const OTHERS = 700

test('an owner in another partition hears of a dependent that blocks it since its own owner was judged', () => {
  const world = new PartitionWorld()
  for (const text of ['pv/b', BLOCKED, LAST]) world.put(text)
  for (let each = 0; each < OTHERS; each++) world.put(`widget/w${each} <- pv/other`)
  world.put(OTHER)
  world.put('pv/b [deleting foreground]')
  world.beat(60)
  equal(world.why('pv/b'), 'waiting, wait: dependents block it')

  // From here on the partition of rs/a is told one record after the other, and does not come to the end of its agenda.
  const folders = world.folders.all
  const here = folders[partitionOfObject('c', 'ns', PARTITIONS)]!
  const tell = (event: Event): void => {
    for (const note of here.foldOne(event).notes) {
      if (note.event.type !== 'Continue') folders[note.partition]!.foldOne(note.event)
    }
  }
  // It is not judged before its kind is listed anew, and so blocks nobody yet.
  tell({ type: 'Unreadable', home: 'c/ns', reason: 'garbage' })
  tell({ type: 'Continue' })
  const waiting = `${BLOCKED} [deleting foreground]`
  world.put(waiting)
  world.relist('pv', ['pv/b [deleting foreground]', OTHER])
  world.relist('pod', [LAST])

  tell({ type: 'PolicyChanged', policy: policyFor('enforce', 'parity'), who: '', why: '' })
  const { group, kind } = kindNotation('rs')
  const about = { cluster: 'c', epoch: 1, group, kind, sync: 1_999_999 }
  const listed = Array.from({ length: PARTITIONS }, () => EMPTY_SET)
  const seen = object(waiting, '99999')
  listed[partitionOfObject('c', 'ns', PARTITIONS)] = withMember(EMPTY_SET, seen.uid)
  tell({ type: 'SyncStarted', ...about })
  tell({ type: 'ObjectUpdated', cluster: 'c', epoch: 1, sync: about.sync, object: seen })
  tell({ type: 'SyncFinished', ...about, resourceVersion: '99999', listed })
  tell({ type: 'ObjectDeleted', cluster: 'c', epoch: 1, object: object(LAST, '99999'), ageMs: 0 })
  for (let each = 0; each < 50; each++) tell({ type: 'Continue' })

  const before = commandsOf(world.folders).length
  world.remove(OTHER)
  deepEqual(commandsOf(world.folders).slice(before).map(show), [])
  equal(world.why('pv/b'), 'waiting, wait: dependents in other partitions have to go first')
})
