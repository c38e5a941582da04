/**
 * A deletion is initiated by Kinfold if we requested it and were not refused: deletions by any
 * other actor are held, counted and braked like all others.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import { brokenBecause } from '../admit/breaker.ts'
import { factsOf } from '../graph/facts.ts'
import type { Command } from '../model/command.ts'

const COUNT = 300

type Asked = 'not' | 'and not answered' | 'blocked' | 'stale'

/** So many ConfigMaps, each the owner of a pod, and the results of our own DELETEs of them. */
function families(policy: string, asked: Asked): World {
  const world = new World()
  world.begin()
  world.step(policy)
  world.step('put rs/top')
  for (let each = 0; each < COUNT; each++) {
    world.step(`put cm/m${each} ${asked === 'not' ? '' : '<- rs/top'}`)
    world.step(`put pod/p${each} <- cm/m${each}`)
  }
  world.step('delete rs/top')
  world.step('beat 35')
  if (asked === 'blocked' || asked === 'stale') {
    for (let each = 0; each < COUNT; each++) world.step(`settle cm/m${each} ${asked}`)
  }
  return world
}

function deletesOf(world: World, from: number): readonly Command[] {
  return world.folder.commands.slice(from).filter(({ type }) => type === 'DeleteObject')
}

for (const asked of ['not', 'blocked', 'stale'] as const) {
  const owners = asked === 'not' ? 'that nobody asked for' : `whose DELETE was ${asked}`

  test(`owners ${owners} and a person deletes are held and open the breaker`, () => {
    const world = families('policy enforce guarded', asked)
    const { length } = world.folder.commands
    for (let each = 0; each < COUNT; each++) world.step(`delete cm/m${each}`)
    deepEqual(deletesOf(world, length), [])
    ok(brokenBecause(factsOf(world.folder.graph, 'c'), 'ns') !== '')
  })

  test(`owners ${owners} and one relist misses wait for a person in parity too`, () => {
    const world = families('policy enforce parity', asked)
    const { length } = world.folder.commands
    world.step(`lose-many ${COUNT} cm/m#`)
    world.step('relist cm')
    deepEqual(deletesOf(world, length), [])
  })
}

test('owners whose DELETE was only tried cost their budget when a person deletes them', () => {
  const world = new World()
  world.begin()
  world.step('policy dry-run guarded')
  world.step('put rs/top')
  world.step('many 5 cm/m# <- rs/top')
  world.step('many 5 pod/p# <- cm/m#')
  world.step('delete rs/top')
  world.step('beat 35')
  world.step('delete-many 5 cm/m#')
  world.step('budgets 1 1 1')
  world.step('beat 700')
  equal(deletesOf(world, 0).filter(({ mode }) => mode === 'enforce').length, 1)
})

test('owners whose DELETE is under way are no mass, however much of them a relist misses', () => {
  const world = families('policy enforce parity', 'and not answered')
  const { length } = world.folder.commands
  world.step(`lose-many ${COUNT} cm/m#`)
  world.step('relist cm')
  equal(deletesOf(world, length).length, COUNT)
})

test('what a person deletes beside them is no mass either', () => {
  const world = families('policy enforce parity', 'and not answered')
  world.step('put cm/other')
  world.step('put pod/theirs <- cm/other')
  const { length } = world.folder.commands
  world.step(`lose-many ${COUNT} cm/m#`)
  world.step('lose cm/other')
  world.step('relist cm')
  world.step('beat 35')
  equal(deletesOf(world, length).length, COUNT + 1)
})

test('what others delete beside them is a mass for what it is without them', () => {
  const world = families('policy enforce parity', 'and not answered')
  const others = 130
  for (let each = 0; each < others; each++) {
    world.step(`put cm/o${each}`)
    world.step(`put pod/theirs${each} <- cm/o${each}`)
  }
  const { length } = world.folder.commands
  world.step(`lose-many ${COUNT} cm/m#`)
  world.step(`lose-many ${others} cm/o#`)
  world.step('relist cm')
  world.step('beat 35')
  equal(deletesOf(world, length).length, COUNT)
})

test('nobody loses a reference beside one to an owner that the same relist misses', () => {
  const world = new World()
  world.begin()
  world.step('policy enforce parity')
  world.step('put job/once')
  world.step('put rs/ours <- job/once')
  world.step('many 300 rs/r#')
  world.step('put pod/both <- rs/ours, rs/r1')
  world.step('delete job/once')
  const { length } = world.folder.commands
  world.step('lose-many 150 rs/r#')
  world.step('lose rs/ours')
  world.step('relist rs')
  deepEqual(world.folder.commands.slice(length), [])
})
