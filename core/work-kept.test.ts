/**
 * Waiting work is not lost because a record has judged its object already: work on the agenda,
 * tickets of a budget, a breaker that opens.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../testing/model/state-check.ts'
import { World } from '../testing/model/story.ts'
import { openBreakerOf } from './admit/breaker.ts'
import { hasWork } from './graph/agenda.ts'
import { factsOf } from './graph/facts.ts'
import { policyFor } from './model/policy.ts'

function commandsOf(world: World, since = 0): string[] {
  return world.folder.commands.slice(since).map(({ type, target }) => `${type} ${target.uid}`)
}

function steps(world: World, count: number, line: string): void {
  for (let i = 0; i < count; i++) world.step(line)
}

for (const isBusy of [false, true]) {
  test(`an owner of a kind that is now served is looked up, ${isBusy ? 'behind other work' : 'at once'}`, () => {
    const world = new World()
    world.begin()
    for (const line of ['many 600 cm/m# <- pv/other', 'put pv/other', 'put pod/x <- widget/w'])
      world.step(line)
    const { folder } = world
    // All 600 are judged again: the following work waits on the agenda.
    if (isBusy) folder.foldOne(world.policy('enforce', 'parity'))
    folder.foldOne(world.served('widget', true))
    while (hasWork(folder.graph)) folder.foldOne({ type: 'Continue' })
    steps(world, 10, 'beat 60')
    for (const event of world.relist('widget')) world.tell(event)
    steps(world, 10, 'beat 60')
    ok(commandsOf(world).includes('VerifyOwner widget-w'))
  })
}

test('whoever is called, finds no room and queues again is called again', () => {
  const world = new World()
  world.begin()
  world.step('budgets 1000 60 1000')
  const families: readonly [namespace: string, pods: number][] = [
    ['a', 30],
    ['b', 20],
    ...Array.from({ length: 14 }, (_, i): [string, number] => [`c${i + 10}`, 1]),
  ]
  const pods: string[] = []
  for (const [namespace, count] of families) {
    world.step(`put rs/r-${namespace} in ${namespace}`)
    for (let i = 0; i < count; i++) {
      pods.push(`DeleteObject pod-p-${namespace}-${i}`)
      world.step(`put pod/p-${namespace}-${i} in ${namespace} <- rs/r-${namespace}`)
    }
  }
  for (const [namespace] of families) world.step(`lose rs/r-${namespace} in ${namespace}`)
  for (const line of ['relist rs', 'beat 601']) world.step(line)
  steps(world, 24 * 60, 'beat 60')
  const commands = new Set(commandsOf(world))
  deepEqual(
    pods.filter((deletion) => !commands.has(deletion)),
    [],
  )
})

test('nothing begins in the record that opens the breaker', () => {
  const world = new World()
  world.begin()
  const holds = { deletedMs: 0, missingMs: 0, notFoundMs: 0 }
  const budgets = { deleted: 40, missing: 40, notFound: 40 }
  const policy = { ...policyFor('enforce', 'guarded'), holds, budgets }
  world.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  const roots: string[] = []
  for (const [namespace, count] of [
    ['a', 30],
    ['b', 30],
    ['c', 30],
    ['d', 30],
    ['e', 1],
  ] as const) {
    for (let i = 0; i < count; i++) {
      const root = `job/r-${namespace}-${i} in ${namespace}`
      roots.push(root)
      world.step(`put ${root}`)
      world.step(`put pod/p-${namespace}-${i} in ${namespace} <- job/r-${namespace}-${i}`)
    }
  }
  world.step('beat 60')
  let opened = 0
  for (const root of roots) {
    const isOpen = openBreakerOf(factsOf(world.folder.graph, 'c')) !== undefined
    const before = world.folder.commands.length
    world.step(`delete ${root}`)
    if (isOpen || openBreakerOf(factsOf(world.folder.graph, 'c')) === undefined) continue
    opened++
    deepEqual(commandsOf(world, before), [])
  }
  ok(opened > 0, 'the breaker opened')
})

test('what was in doubt while the kind of its owner was first served has its edges', () => {
  const world = new World()
  world.begin()
  for (const line of [
    'unreadable c/ns',
    'put cm/x <- widget/w',
    'unserve cm',
    'serve widget unmonitored',
    'serve cm',
    'relist cm',
  ]) {
    world.step(line)
  }
  steps(world, 5, 'beat 60')
  deepEqual(check(world.folder.state), [])
})
