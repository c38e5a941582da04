/**
 * A note between partitions that cannot be read where it goes: what hangs on it comes about all the same.
 *
 * What must stay true: nothing here is random; each test loses the first note of a type from then on, and all kinds are listed anew afterwards, as the fold asks.
 */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '../testing/folder.ts'
import { PARTITIONS, PartitionWorld } from '../testing/partition-world.ts'
import { ToldFolders } from '../testing/told-folders.ts'
import { openBreakerOf } from './breaker.ts'
import type { Event } from './event.ts'
import { partitionOfObject } from './partition.ts'
import { policyFor } from './policy.ts'

const LOST: readonly (readonly Event['type'][])[] = [
  ['OwnerState'],
  ['OwnerInterest'],
  // The request to tell it again is lost as well.
  ['OwnerState', 'NotesLost'],
  ['OwnerInterest', 'NotesLost'],
]

/** An hour and a half, in which every kind is listed. */
function heal(world: PartitionWorld, lists: Readonly<Record<string, readonly string[]>>): void {
  for (let beats = 0; beats < 10; beats++) {
    world.beat(600)
    if (beats > 0) continue
    for (const [short, texts] of Object.entries(lists)) world.relist(short, texts)
  }
}

function settle(world: PartitionWorld): void {
  for (let beats = 0; beats < 4; beats++) world.beat(600)
}

for (const lost of LOST) {
  const without = `where ${lost.join(' and ')} cannot be read`

  test(`an owner that waits for nobody is let go ${without}`, () => {
    const world = new PartitionWorld()
    world.put('pv/x')
    settle(world)
    world.folders.loseNext(...lost)
    world.put('pv/x [deleting foreground]')
    heal(world, { pv: ['pv/x [deleting foreground]'], pod: [], rs: [] })
    equal(world.why('pv/x'), 'waiting, finish O: no dependent blocks it')
  })

  test(`a dependent elsewhere hears that its owner went ${without}`, () => {
    const world = new PartitionWorld()
    world.put('pv/x')
    world.put('pod/a <- pv/x')
    settle(world)
    world.folders.loseNext(...lost)
    world.remove('pv/x')
    heal(world, { pv: [], pod: ['pod/a <- pv/x'], rs: [] })
    match(world.why('pod/a'), /^observed, reap/)
  })

  test(`a first dependent elsewhere is known when its owner goes ${without}`, () => {
    const world = new PartitionWorld()
    world.put('pv/x')
    settle(world)
    world.folders.loseNext(...lost)
    world.put('pod/a <- pv/x')
    settle(world)
    world.remove('pv/x')
    heal(world, { pv: [], pod: ['pod/a <- pv/x'], rs: [] })
    match(world.why('pod/a'), /^observed, reap/)
  })

  test(`an owner whose last dependent elsewhere goes is let go ${without}`, () => {
    const world = new PartitionWorld()
    world.put('pv/x')
    world.put('pod/a <- pv/x!')
    settle(world)
    world.put('pv/x [deleting foreground]')
    world.beat(1)
    world.folders.loseNext(...lost)
    world.remove('pod/a <- pv/x!')
    heal(world, { pv: ['pv/x [deleting foreground]'], pod: [], rs: [] })
    equal(world.why('pv/x'), 'waiting, finish O: no dependent blocks it')
  })
}

/** Names of namespaces whose homes are neither each other's nor that of what is in none. */
function namespacesApart(partitions: number): readonly [string, string] {
  const names = Array.from({ length: 20 }, (_, each) => `n${each}`)
  const homeOf = (name: string): number => partitionOfObject('c', name, partitions)
  const [one = ''] = names.filter((name) => homeOf(name) !== homeOf(''))
  const [other = ''] = names.filter((name) => ![homeOf(''), homeOf(one)].includes(homeOf(name)))
  return [one, other]
}

test('an owner is not let go while somebody names it who could not say so', () => {
  const world = new PartitionWorld([], 3)
  const [one, other] = namespacesApart(3)
  world.put('pv/x')
  world.put(`pod/a in ${one} <- pv/x!`)
  settle(world)
  world.put('pv/x [deleting foreground]')
  world.beat(30)
  world.folders.loseNext('OwnerInterest')
  world.put(`pod/b in ${other} <- pv/x!`)
  world.remove(`pod/a in ${one} <- pv/x!`)
  const lists = { pv: ['pv/x [deleting foreground]'], pod: [`pod/b in ${other} <- pv/x!`], rs: [] }
  heal(world, lists)
  equal(world.why('pv/x'), 'waiting, wait: dependents in other partitions have to go first')
})

test('a breaker that one partition opened is open in those that could not read that', () => {
  const told = new ToldFolders(PARTITIONS, policyFor('enforce', 'guarded'))
  const foldAll = (): void => {
    while (told.folders.waiting > 0)
      for (const each of told.folders.all.keys()) told.folders.foldNext(each)
  }
  const owners = Array.from({ length: 130 }, (_, each) => {
    const owner = told.put(`rs/r${each} in n${each % 24}`)
    told.put(`pod/p${each} in n${each % 24} <- rs/r${each}`)
    return owner
  })
  told.relist('rs', owners)
  foldAll()
  told.folders.loseNext('BreakerOpened')
  for (const owner of owners.slice(0, 120)) told.remove(owner)
  foldAll()
  told.beat(5_000)
  foldAll()
  told.beat(10_000)
  foldAll()
  for (const { graph } of told.folders.all)
    match(openBreakerOf(graph, 'c')?.because ?? '', /were deleted/)
})

test('a definition that is being deleted is known to those that could not read that', () => {
  const world = new PartitionWorld()
  world.tell({ type: 'PolicyChanged', policy: policyFor('enforce', 'guarded'), who: '', why: '' })
  world.serve('crd', true)
  world.relist('crd', [])
  world.put('crd/widgets.example.com')
  world.folders.loseNext('DefinitionDeleted')
  world.put('crd/widgets.example.com [deleting]')
  world.beat(10)
  equal(world.keysOf('widgets.example.com', ['Definition']).length, PARTITIONS)
})

test('however many records cannot be read, others are asked once in ten seconds', () => {
  const one = folder(1, 0, 3)
  const asked = (event: Event, at: number): number =>
    one.foldOne(event, at).notes.filter((note) => note.event.type === 'NotesLost').length
  const about = { cluster: 'c', epoch: 1 }
  one.foldOne({ type: 'WatcherStarted', ...about, name: 'test', clusterEpoch: 1 }, 0)
  let count = 0
  for (let each = 1; each <= 1_000; each++) {
    count += asked({ type: 'Unreadable', home: 'c/', reason: 'garbage' }, each)
  }
  count += asked({ type: 'Heartbeat', ...about, kinds: [] }, 10_000)
  count += asked({ type: 'Heartbeat', ...about, kinds: [] }, 30_000)
  equal(count, 2)
})
