/** The breaker: what opens it, over all partitions, and what does not. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '../testing/folder.ts'
import { folders } from '../testing/folders.ts'
import { World } from '../testing/story.ts'
import { openBreakerOf } from './breaker.ts'
import type { CommandSettled, Event } from './event.ts'
import { partitionOfObject } from './partition.ts'
import { policyFor } from './policy.ts'

const FAMILY = ['put rs/a', 'many 30 pod/p# <- rs/a', 'delete rs/a', 'beat 30']

/** How often the breaker's reason is told after so many commands settled so. */
function after(count: number, outcome: CommandSettled['outcome'], code: number | null): string {
  const world = new World()
  world.begin()
  world.step('policy enforce guarded')
  for (const line of FAMILY) world.step(line)
  for (let i = 0; i < count; i++) {
    const settled = world.settle(`pod/p${i}`, outcome, 'no') as CommandSettled
    world.tell({ ...settled, code })
  }
  return openBreakerOf(world.folder.graph, 'c')?.because ?? ''
}

test('opens when most of twenty commands of a minute are refused', () => {
  equal(after(19, 'blocked', 403), '')
  match(
    after(20, 'blocked', 403),
    /^20 of 20 commands of a minute were refused, the last one with 403: no$/,
  )
})

test('stays closed where our own gate holds back, and where servers take what is asked', () => {
  equal(after(30, 'blocked', null), '')
  // A dry run in place of an effect, where the cluster's lock is required and not in force.
  equal(after(30, 'blocked', 200), '')
  equal(after(30, 'absent', 404), '')
})

test('lets a Deployment of 5,000 pods go that one person deletes, and the next one as well', () => {
  const world = new World()
  world.begin()
  const goneOf = (kind: string): number =>
    new Set(
      world.folder.commands
        .filter((each) => each.type === 'DeleteObject' && each.target.kind === kind)
        .map(({ target }) => target.uid),
    ).size
  for (const line of [
    'policy enforce guarded',
    ...['put deploy/web', 'put rs/a <- deploy/web', 'many 5000 pod/p# <- rs/a'],
    ...['put deploy/other', 'put rs/b <- deploy/other'],
    ...['delete deploy/web', 'beat 25'],
  ])
    world.step(line)
  equal(goneOf('ReplicaSet'), 0)
  for (const line of ['beat 5', 'settle rs/a absent', 'delete rs/a']) world.step(line)
  deepEqual([goneOf('ReplicaSet'), goneOf('Pod')], [1, 5000])
  for (const line of ['delete deploy/other', 'beat 30']) world.step(line)
  equal(goneOf('ReplicaSet'), 2)
  equal(openBreakerOf(world.folder.graph, 'c'), undefined)
})

test('is opened by a burst at the home of the cluster, and that tells all others', () => {
  const partitions = 4
  const home = partitionOfObject('c', '', partitions)
  const told = folder(1, home, partitions)
  told.fold({ type: 'WatcherStarted', cluster: 'c', name: 'test', epoch: 1, clusterEpoch: 1 })
  const policy = policyFor('enforce', 'guarded')
  told.fold({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  const asks = { type: 'TokensAsked', cluster: 'c', partition: 1, budget: 'E2', about: '' } as const
  const ordinary = told.foldOne({ ...asks, asked: 600 })
  equal(ordinary.notes.filter(({ event }) => event.type === 'BreakerOpened').length, 0)
  const burst = told.foldOne({ ...asks, asked: 601 })
  const opened = burst.notes.filter(({ event }) => event.type === 'BreakerOpened')
  deepEqual(
    opened.map(({ partition }) => partition),
    [0, 1, 2, 3].filter((each) => each !== home),
  )
})

test('is open in every partition, whoever saw the reason, and a note from before it was closed opens none', () => {
  const partitions = 4
  const all = folders(partitions, () => '')
  const foldAll = (): void => {
    while (all.waiting > 0) for (let each = 0; each < partitions; each++) all.foldNext(each)
  }
  const about = { cluster: 'c', epoch: 1 }
  all.append({ type: 'WatcherStarted', ...about, name: 'test', clusterEpoch: 1 }, 0)
  const policy = policyFor('enforce', 'guarded')
  all.append({ type: 'PolicyChanged', policy, who: 'test', why: 'test' }, 0)
  const opened: Event = { type: 'BreakerOpened', cluster: 'c', openedAt: 10, because: 'a test' }
  all.append(opened, 20)
  foldAll()
  const open = (): number =>
    all.all.filter(({ graph }) => openBreakerOf(graph, 'c') !== undefined).length
  equal(open(), partitions)
  const closing = {
    subject: '',
    digest: null,
    listed: [],
    who: 'anna',
    isProven: false,
    why: 'seen to',
  }
  all.append({ type: 'Directive', verb: 'close-breaker', cluster: '', ...closing }, 30)
  all.append(opened, 40)
  foldAll()
  equal(open(), 0)
  all.append({ ...opened, openedAt: 41 }, 50)
  foldAll()
  equal(open(), partitions)
})
