/**
 * A note between partitions that cannot be read where it goes: what hangs on it comes about all the same.
 *
 * What must stay true: nothing here is random; each test loses the first note of a type from then on, and all kinds are listed anew afterwards, as the fold asks.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { folder } from '../testing/folder.ts'
import { commandsOf } from '../testing/folders.ts'
import { object } from '../testing/notation.ts'
import { PARTITIONS, PartitionWorld } from '../testing/partition-world.ts'
import { show, World } from '../testing/story.ts'
import { ToldFolders } from '../testing/told-folders.ts'
import { openBreakerOf } from './breaker.ts'
import type { Event } from './event.ts'
import type { ObjectMeta } from './object.ts'
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

for (const how of ['foreground', 'orphan']) {
  test(`an owner is not let go while somebody names it who could not say so, however soon all is listed anew: ${how}`, () => {
    const world = new PartitionWorld([], 3)
    const [one, other] = namespacesApart(3)
    world.put('pv/x')
    world.put(`pod/a in ${one} <- pv/x!`)
    settle(world)
    world.put(`pv/x [deleting ${how}]`)
    world.beat(30)
    world.folders.loseNext('OwnerInterest')
    world.put(`pod/b in ${other} <- pv/x!`)
    world.remove(`pod/a in ${one} <- pv/x!`)
    world.beat(1)
    world.relist('pv', [`pv/x [deleting ${how}]`])
    world.relist('pod', [`pod/b in ${other} <- pv/x!`])
    world.relist('rs', [])
    world.relist('widget', [])
    world.beat(30)
    const shown = commandsOf(world.folders).map(show)
    deepEqual(
      shown.filter((each) => each.startsWith('RemoveFinalizer')),
      [],
    )
    // It is heard of now, and told what to do.
    match(shown.join(), /(DeleteObject|OrphanDependent) pod\/b/)
  })
}

test('nothing is kept of an owner whose last dependent could not say that it went', () => {
  const world = new PartitionWorld()
  world.put('pv/x')
  world.put('pod/a <- pv/x')
  settle(world)
  world.folders.loseNext('OwnerInterest')
  world.remove('pod/a <- pv/x')
  heal(world, { pv: ['pv/x'], pod: [], rs: [] })
  world.remove('pv/x')
  for (let beats = 0; beats < 40; beats++) world.beat(4 * 24 * 3_600)
  deepEqual(world.keysOf('pv-x', ['Interest', 'Owner']), [])
})

/** Owners with a dependent each, in many namespaces. */
function families(told: ToldFolders, count: number): ObjectMeta[] {
  return Array.from({ length: count }, (_, each) => {
    const owner = told.put(`rs/r${each} in n${each % 24}`)
    told.put(`pod/p${each} in n${each % 24} <- rs/r${each}`)
    return owner
  })
}

test('a breaker that one partition opened is open in those that could not read that', () => {
  const told = new ToldFolders(PARTITIONS, policyFor('enforce', 'guarded'))
  const owners = families(told, 130)
  told.relist('rs', owners)
  told.foldAll()
  told.folders.loseNext('BreakerOpened')
  for (const owner of owners.slice(0, 120)) told.remove(owner)
  told.foldAll()
  told.beat(5_000)
  told.foldAll()
  told.beat(10_000)
  told.foldAll()
  for (const { graph } of told.folders.all)
    match(openBreakerOf(graph, 'c')?.because ?? '', /were deleted/)
})

test('a share of a kind that its home could not read, its own or not, opens the breaker all the same', () => {
  const told = new ToldFolders(3, policyFor('enforce', 'guarded'))
  const owners = families(told, 180)
  told.relist('rs', owners)
  told.foldAll()
  told.folders.loseNext('KindShare')
  for (const owner of owners.slice(0, 130)) told.remove(owner)
  for (let beats = 0; beats < 5; beats++) {
    told.beat(5_000)
    told.foldAll()
  }
  for (const { graph } of told.folders.all) {
    match(openBreakerOf(graph, 'c')?.because ?? '', /were deleted/)
  }
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

/** One of three partitions, that in which what is in no namespace has its home. */
const HOME = partitionOfObject('c', '', 3)

/** What it asks of others, and tells them, at each event. */
function notesOf(events: readonly (readonly [Event, number])[], batchSize = 1): Event[][] {
  const one = folder(batchSize, HOME, 3)
  return events.map(([event, at]) => one.foldOne(event, at).notes.map((note) => note.event))
}

function countOf(notes: Event[][], type: Event['type']): number {
  return notes.flat().filter((event) => event.type === type).length
}

const ABOUT = { cluster: 'c', epoch: 1 } as const
const STARTED: Event = { type: 'WatcherStarted', ...ABOUT, name: 'test', clusterEpoch: 1 }
const BEAT: Event = { type: 'Heartbeat', ...ABOUT, kinds: [] }
const GARBAGE: Event = { type: 'Unreadable', home: 'c/', reason: 'garbage' }

test('however many records cannot be read, others are asked once for all of them', () => {
  const garbage = Array.from({ length: 1_000 }, (_, each) => [GARBAGE, each] as const)
  const notes = notesOf([[STARTED, 0], ...garbage, [BEAT, 20_000], [BEAT, 40_000]])
  equal(countOf(notes, 'NotesLost'), 2)
})

test('what can never be read is asked for less and less often', () => {
  const day = Array.from({ length: 8_640 }, (_, each) => each * 10_000)
  const events = day.flatMap((at) => [[GARBAGE, at] as const, [BEAT, at] as const])
  const asked = countOf(notesOf([[STARTED, 0], ...events]), 'NotesLost') / 2
  // Nine times until it is an hour, and then each hour.
  ok(asked <= 9 + 24, `${asked} times`)
  ok(asked >= 24, `${asked} times`)
})

test('what is told again does not depend on what was committed together', () => {
  const { uid } = object('pv/x', '1')
  const owner = { group: '', kind: 'PersistentVolume', namespace: '', name: 'x' }
  const partition = (HOME + 1) % 3
  const counts = { dependents: 1, blocking: 0, answers: null, asks: false }
  const events: Event[] = [
    STARTED,
    { ...new World().served('pv', true), ...ABOUT },
    { type: 'ObjectAdded', ...ABOUT, sync: null, object: object('pv/x', '1') },
    { type: 'OwnerInterest', cluster: 'c', owner, uid, partition, ...counts },
    { type: 'NotesLost', cluster: 'c', partition },
    { type: 'Continue' },
  ]
  const timed = events.map((event) => [event, 0] as const)
  equal(countOf(notesOf(timed), 'OwnerState'), 2)
  deepEqual(notesOf(timed, 100), notesOf(timed))
})
