/**
 * A command says up to when it is decided: the reaper asks again about what may have changed since.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import type { Event } from '../model/event.ts'

test('a command is as old as the deletion that it rests on, whenever it is decided', () => {
  const world = new World()
  world.begin()
  const start = 1_000_000
  const at = (seconds: number, event: Event): number[] =>
    world.folder
      .fold(event, start + seconds * 1_000)
      .flatMap(({ commands }) => commands)
      .flatMap((command) => ('decidedAt' in command ? [command.decidedAt - start] : []))
  at(1, world.put('rs/a'))
  at(2, world.put('rs/b'))
  at(3, world.put('pod/d <- rs/a'))
  at(4, world.put('pod/e <- rs/a, rs/b'))
  deepEqual(at(5, world.remove('rs/a')), [5_000, 5_000], 'a delete, and a reference dropped')
  deepEqual(at(60, world.put('pod/late <- rs/a')), [5_000], 'of one that comes late')
})

test('what is decided again after an outage is as old as before it: the cluster may have been restored', () => {
  const world = new World()
  world.begin()
  for (const line of ['put rs/a', 'put pod/d <- rs/a', 'delete rs/a', 'settle pod/d blocked'])
    world.step(line)
  const [first] = world.folder.commands
  world.step('beat 60')
  const again = world.folder.commands.at(-1)
  if (first?.type !== 'DeleteObject' || again?.type !== 'DeleteObject') throw new Error('no DELETE')
  notEqual(again.id, first.id)
  equal(again.decidedAt, first.decidedAt)
})

/**
 * When the command for the dependent of an owner that waits or orphans is decided, if the event
 * about the owner comes five seconds after the world's start.
 */
function decidedOf(
  deletedAt: number,
  graceSeconds: number | null,
  how = 'foreground',
): number | undefined {
  const world = new World()
  world.begin()
  world.folder.fold(world.put('rs/a'), 1_000_000)
  world.folder.fold(world.put('pod/d <- rs/a!'), 1_000_000)
  const told = world.put(`rs/a [deleting ${how}]`)
  if (told.type !== 'ObjectUpdated') throw new Error(`a ${told.type} tells of it`)
  const object = { ...told.object, deletedAt, graceSeconds }
  const [command] = world.folder
    .fold({ ...told, object }, 1_005_000)
    .flatMap(({ commands }) => commands)
  return command !== undefined && 'decidedAt' in command ? command.decidedAt : undefined
}

test('what a watcher tells late of an owner that waits is as old as its deletion', () => {
  equal(decidedOf(1_004_000, null), 1_004_000)
  equal(decidedOf(1_034_000, 30), 1_004_000, 'of which the time is when its grace is over')
  equal(decidedOf(1_060_000, null), 1_005_000, 'by a clock that is ahead: as old as the record')
  equal(
    decidedOf(1_004_000, Number.MAX_SAFE_INTEGER),
    0,
    'of a grace beyond all measure nothing is known',
  )
})

test('what a watcher tells late of an owner that orphans is as old as its deletion, too', () => {
  equal(decidedOf(1_004_000, null, 'orphan'), 1_004_000)
})

test('a deletion that waited for the log, or for its watcher to wake, is as old as it may have been seen', () => {
  const world = new World()
  world.begin()
  world.folder.fold(world.put('rs/a'), 1_000_000)
  world.folder.fold(world.put('pod/d <- rs/a'), 1_000_000)
  const told = world.remove('rs/a')
  if (told.type !== 'ObjectDeleted') throw new Error(`a ${told.type} tells of it`)
  const ages = world.folder
    .fold({ ...told, ageMs: 90_000 }, 1_200_000)
    .flatMap(({ commands }) => commands)
    .map((command) => ('decidedAt' in command ? 1_200_000 - command.decidedAt : undefined))
  deepEqual(ages, [90_000])
})

test('an owner that went before another asked to orphan went before, whichever is told first', () => {
  const deletes = [0, 90_000].map((ageMs) => {
    const world = new World()
    world.begin()
    const fold = (ms: number, event: Event) =>
      world.folder.fold(event, 1_000_000 + ms).flatMap(({ commands }) => commands)
    for (const line of ['rs/a', 'rs/b', 'pod/d <- rs/a, rs/b']) fold(0, world.put(line))
    const orphaning = world.put('rs/b [deleting orphan]')
    if (orphaning.type !== 'ObjectUpdated') throw new Error(`a ${orphaning.type} tells of it`)
    // The deletion was requested after a minute; its watcher slept, and publishes it a while later.
    fold(100_000, { ...orphaning, object: { ...orphaning.object, deletedAt: 1_060_000 } })
    const gone = world.remove('rs/a')
    if (gone.type !== 'ObjectDeleted') throw new Error(`a ${gone.type} tells of it`)
    const commands = [
      ...fold(100_010, { ...gone, ageMs }),
      ...fold(100_500, world.put('pod/d <- rs/a')),
    ]
    return commands.some(({ type }) => type === 'DeleteObject')
  })
  deepEqual(deletes, [true, false])
})
