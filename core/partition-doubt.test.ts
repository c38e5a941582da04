/**
 * Cluster-scoped owners told of between two partitions, step by step: what a restore makes of what was told, and what is left when an owner has gone.
 *
 * What must stay true: nothing here is random; each test names the one order of events that matters.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { commandsOf } from '../testing/folders.ts'
import { PartitionWorld } from '../testing/partition-world.ts'
import { show } from '../testing/story.ts'
import { type Mode, policyFor } from './policy.ts'

test('what another partition told before a restore drops nothing after it', () => {
  const world = new PartitionWorld()
  world.put('pv/x')
  world.put('pod/a <- pv/x')
  world.put('pv/x [deleting orphan]')
  const before = commandsOf(world.folders).length
  world.start(2)
  world.relist('pod', ['pod/a <- pv/x'])
  deepEqual(commandsOf(world.folders).slice(before).map(show), [])
  world.relist('pv', ['pv/x'])
  deepEqual(commandsOf(world.folders).slice(before).map(show), [])
})

test('an answer that comes when the owner has gone is not kept', () => {
  const world = new PartitionWorld()
  world.put('pv/x')
  world.put('pv/x [deleting foreground]')
  // Somebody else takes the finalizer off before the others are fit to answer.
  world.remove('pv/x')
  deepEqual(world.keysOf('pv-x', ['Interest']), [])
  for (let beats = 0; beats < 20; beats++) world.beat(30)
  deepEqual(world.keysOf('pv-x', ['Interest']), [])
})

test('a dependent that comes after its waiting owner went does not believe for ever that it waits', () => {
  const world = new PartitionWorld()
  world.put('pv/x')
  world.put('pv/x [deleting foreground]')
  // Its home forgets it, and tells those who have dependents at that time.
  world.serve('pv', false)
  world.put('pod/a <- pv/x')
  world.serve('pv', true)
  world.relist('pv', [])
  for (let beats = 0; beats < 20; beats++) world.beat(30)
  deepEqual(commandsOf(world.folders).slice(-1).map(show), ['VerifyOwner pv/x'])
})

test('nothing is kept of the dependents of an unwatched owner that waited, when there are none any more', () => {
  const world = new PartitionWorld(['pv'])
  world.put('pod/a <- pv/x')
  world.found('pv/x [deleting foreground]')
  world.beat(60)
  world.remove('pod/a <- pv/x')
  for (let beats = 0; beats < 400; beats++) world.beat(3_600)
  deepEqual(world.keysOf('pv-x', ['Interest', 'Owner', 'Count']), [])
})

test('a mass of owners missing from one relist is a mass cause', () => {
  const world = new PartitionWorld([], 1)
  for (let each = 0; each < 200; each++) {
    const where = `in ns${each % 20}`
    world.put(`rs/r${each} ${where}`)
    world.put(`pod/p${each} ${where} <- rs/r${each}`)
  }
  world.relist('rs', [])
  deepEqual(commandsOf(world.folders).map(show), [])
})

test('an unwatched owner that waited once, and is named again, is told of as soon as it is found', () => {
  const world = new PartitionWorld(['pv'])
  world.put('pod/a <- pv/x')
  world.found('pv/x [deleting foreground]')
  world.remove('pod/a <- pv/x')
  for (let beats = 0; beats < 40; beats++) world.beat(60)
  world.put('pod/b <- pv/x')
  world.found('pv/x [deleting foreground]')
  const shown = commandsOf(world.folders).map(show)
  deepEqual(
    shown.filter((command) => command.startsWith('DeleteObject pod/b')),
    [
      'DeleteObject pod/b Background W recheck: PersistentVolume "x" is being deleted in the foreground',
    ],
  )
})

test('what is told once more is as old as it was: what went before enforce was entered is held for as long as before', () => {
  const world = new PartitionWorld()
  const enter = (mode: Mode): void =>
    world.tell({ type: 'PolicyChanged', policy: policyFor(mode, 'guarded'), who: '', why: '' })
  enter('dry-run')
  world.put('pv/x')
  world.put('pod/a <- pv/x')
  world.remove('pv/x')
  enter('enforce')
  // One more of them has the home say it again.
  world.put('pod/b <- pv/x!')
  world.put('pod/c <- pv/x')
  // Half as long as what nobody saw go is held.
  for (let beats = 0; beats < 60; beats++) world.beat(5)
  const deleted = commandsOf(world.folders).filter(
    (command) => command.type === 'DeleteObject' && command.mode === 'enforce',
  )
  deepEqual(deleted.map(show), [])
})
