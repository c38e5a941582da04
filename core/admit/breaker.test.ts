/** Breakers: what opens one, a namespace's or the cluster's, and what does not. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { factsOf } from '../graph/facts.ts'
import type { CommandSettled } from '../model/event.ts'
import { openBreakerOf } from './breaker.ts'

const FAMILY = ['put rs/a', 'many 30 pod/p# <- rs/a', 'delete rs/a', 'beat 30']

/**
 * The reason of the namespace's breaker after `count` commands settled with this outcome and code;
 * empty while it is closed.
 */
function after(count: number, outcome: CommandSettled['outcome'], code: number | null): string {
  const world = new World()
  world.begin()
  world.step('policy enforce guarded')
  for (const line of FAMILY) world.step(line)
  for (let i = 0; i < count; i++) {
    const settled = world.settle(`pod/p${i}`, outcome, 'no') as CommandSettled
    world.tell({ ...settled, code })
  }
  equal(openBreakerOf(factsOf(world.folder.graph, 'c')), undefined)
  return openBreakerOf(factsOf(world.folder.graph, 'c'), 'ns')?.because ?? ''
}

test('opens in a namespace when most of twenty commands of a minute are refused there', () => {
  equal(after(19, 'blocked', 403), '')
  match(
    after(20, 'blocked', 403),
    /^20 of 20 commands of a minute were refused, the last one with 403: no$/,
  )
})

test('stays closed where our own gate holds back, and where servers take what is asked', () => {
  equal(after(30, 'blocked', null), '')
  // A dry run instead of an effect, where the cluster's lock is required and not enforced.
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
  equal(openBreakerOf(factsOf(world.folder.graph, 'c')), undefined)
})

/**
 * So many objects in each namespace ask to be deleted, since one relist missed their owners; 100
 * may on any day.
 */
function asked(...counts: readonly number[]): World {
  const world = new World()
  world.begin()
  world.step('budgets 1 1 1')
  askAgain(world, 'a', counts)
  return world
}

function askAgain(world: World, name: string, counts: readonly number[]): void {
  const all = counts.reduce((sum, count) => sum + count, 0)
  // So that the missing objects are no bulk deletion of their kind.
  world.step(`many ${3 * all} rs/${name}-left#`)
  for (const [n, count] of counts.entries()) {
    world.step(`many ${count} rs/${name}${n}-# in n${n}`)
    world.step(`many ${count} pod/${name}${n}-# in n${n} <- rs/${name}${n}-#`)
    world.step(`lose-many ${count} rs/${name}${n}-#`)
  }
  for (const step of ['relist rs', 'beat 600']) world.step(step)
}

/** The namespaces whose breaker is open; the cluster's is `all`. */
function open({ folder: { graph } }: World): readonly string[] {
  const namespaces = Array.from({ length: 6 }, (_, n) => `n${n}`)
  const opened = namespaces.filter((n) => openBreakerOf(factsOf(graph, 'c'), n) !== undefined)
  return [...(openBreakerOf(factsOf(graph, 'c')) === undefined ? [] : ['all']), ...opened]
}

for (const [what, counts, expected] of [
  ['what one namespace may ask for on any day', [100], []],
  ['what one namespace asks for beyond that', [101], ['n0']],
  ['what one asks for beside another', [101, 3], ['n0']],
  ['what a quarter of the cluster counts of each of four namespaces', [100, 100, 100, 100], []],
  ['what five namespaces ask for together', [21, 20, 20, 20, 20], ['all']],
  ['what would be one too few of that', [20, 20, 20, 20, 20], []],
] as const) {
  const opens = expected.length === 0 ? 'none' : expected.join()
  test(`opens ${opens} for ${what}`, () => deepEqual(open(asked(...counts)), expected))
}

test('of a namespace holds that namespace only', () => {
  const world = asked(101, 3)
  match(
    world.step('why pod/a0-1').join(),
    /delete missing: .*; held by breaker: the breaker of namespace n0 is open since/,
  )
  // The budget admits one at a time, and never one of n0.
  for (let minutes = 0; minutes < 40; minutes++) world.step('beat 60')
  const deleted = world.folder.commands.flatMap((command) =>
    command.type === 'DeleteObject' ? command.target.uid : [],
  )
  deepEqual([...new Set(deleted)].sort(), ['pod-a1-0', 'pod-a1-1', 'pod-a1-2'])
})

test('of what has no namespace is the one of the cluster', () => {
  for (const [count, expected] of [
    [100, []],
    [101, ['all']],
  ] as const) {
    const world = new World()
    world.begin()
    world.step('policy enforce guarded')
    world.step(`many ${count} node/x#`)
    world.step(`many ${count} pod/x# in n0 <- node/x#`)
    world.step(`delete-many ${count} node/x#`)
    deepEqual(open(world), expected)
  }
})

test('of the cluster counts what has no namespace as it is, beside a quarter of it in each namespace', () => {
  for (const [count, expected] of [
    [20, []],
    [21, ['all']],
  ] as const) {
    const world = new World()
    world.begin()
    world.step('budgets 1 1 1')
    world.step('many 80 node/x#')
    world.step('many 80 pod/x# in n0 <- node/x#')
    world.step(`many ${count} rs/x# in n1`)
    world.step(`many ${count} pod/y# in n1 <- rs/x#`)
    world.step('delete-many 80 node/x#')
    world.step(`delete-many ${count} rs/x#`)
    deepEqual(open(world), expected)
  }
})

test('of the cluster is closed with those of its namespaces, and what was counted before opens none again', () => {
  const world = asked(101, 3)
  deepEqual(open(world), ['n0'])
  world.step('close-breaker anna')
  deepEqual(open(world), [])
  world.step('put rs/more in n0')
  world.step('put pod/more in n0 <- rs/more')
  world.step('lose rs/more')
  for (const step of ['relist rs', 'beat 600']) world.step(step)
  deepEqual(open(world), [])
  askAgain(world, 'b', [101])
  deepEqual(open(world), ['n0'])
})
