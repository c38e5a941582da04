/** An approval over several partitions: each compares its own set, and only that. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Folders } from '../testing/folders.ts'
import { commandsOf, folders } from '../testing/folders.ts'
import { object } from '../testing/notation.ts'
import { World } from '../testing/story.ts'
import { check } from './check.ts'
import type { Event } from './event.ts'
import type { SetHash } from './hash.ts'
import { EMPTY_SET, withMember } from './hash.ts'
import { planOf } from './held-plan.ts'
import type { ObjectMeta } from './object.ts'
import { partitionOfObject } from './partition.ts'
import { policyFor } from './policy.ts'

const PARTITIONS = 4
const NAMESPACES = ['a', 'b', 'c', 'd', 'e', 'f']

/** A restored cluster: in each namespace the owner of two objects is missing. */
function restored(): Folders {
  const all = folders(PARTITIONS, () => '')
  const world = new World()
  const tell = (event: Event): void => all.append(event, 0)
  const sighted = NAMESPACES.flatMap((ns) => [
    object(`pod/1${ns} in ${ns} <- rs/${ns}`, '1'),
    object(`pod/2${ns} in ${ns} <- rs/${ns}`, '1'),
  ])
  const owners = NAMESPACES.map((ns) => object(`rs/${ns} in ${ns}`, '1'))
  tell({ type: 'WatcherStarted', cluster: 'c', name: 'test', epoch: 1, clusterEpoch: 1 })
  const policy = policyFor('enforce', 'parity')
  tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  for (const short of ['rs', 'pod']) tell(world.served(short, true))
  list(tell, 'rs', owners, 1, 1)
  list(tell, 'pod', sighted, 1, 2)
  tell({ type: 'WatcherStarted', cluster: 'c', name: 'test', epoch: 2, clusterEpoch: 2 })
  list(tell, 'rs', [], 2, 3)
  list(tell, 'pod', sighted, 2, 4)
  foldAll(all)
  return all
}

function list(
  tell: (event: Event) => void,
  short: string,
  objects: readonly ObjectMeta[],
  epoch: number,
  sync: number,
): void {
  const { group, kind } = object(`${short}/x`, '0')
  const about = { cluster: 'c', epoch, sync }
  tell({ type: 'SyncStarted', ...about, group, kind })
  for (const each of objects) tell({ type: 'ObjectUpdated', ...about, object: each })
  const listed = Array.from({ length: PARTITIONS }, (_, partition) =>
    objects
      .filter(({ namespace }) => partitionOfObject('c', namespace, PARTITIONS) === partition)
      .reduce((set, { uid }) => withMember(set, uid), EMPTY_SET),
  )
  tell({ type: 'SyncFinished', ...about, group, kind, resourceVersion: '9', listed })
}

function foldAll(all: Folders): void {
  while (all.waiting > 0) for (let each = 0; each < PARTITIONS; each++) all.foldNext(each)
}

function setsOf({ all }: Folders): SetHash[] {
  return all.map(({ graph }) => planOf(graph, 'c'))
}

function approved(all: Folders, listed: readonly SetHash[]): readonly string[] {
  const about = {
    cluster: 'c',
    subject: '',
    digest: null,
    who: 'anna',
    isProven: false,
    why: 'meant',
  }
  all.append({ type: 'Directive', verb: 'approve', ...about, listed }, 1)
  foldAll(all)
  for (const each of all.all) {
    each.commit()
    deepEqual(check(each.state), [])
  }
  const deletes = commandsOf(all).filter((command) => command.type === 'DeleteObject')
  for (const { evidence, approvedBy } of deletes) deepEqual([evidence, approvedBy], ['E4', 'anna'])
  return deletes.map(({ target }) => target.uid)
}

test('lets go what all partitions showed', () => {
  const all = restored()
  const sets = setsOf(all)
  equal(
    sets.reduce((sum, { count }) => sum + count, 0),
    2 * NAMESPACES.length,
  )
  equal(approved(all, sets).length, 2 * NAMESPACES.length)
})

test('does nothing in a partition whose set is another one', () => {
  const all = restored()
  const sets = setsOf(all)
  const other = sets.findIndex(({ count }) => count > 0)
  const wrong = sets.map((set, each) => (each === other ? { ...set, low: set.low ^ 1 } : set))
  const left = sets[other]?.count ?? 0
  equal(approved(all, wrong).length, 2 * NAMESPACES.length - left)
})

test('does nothing where it names no sets', () => {
  deepEqual(approved(restored(), []), [])
})
