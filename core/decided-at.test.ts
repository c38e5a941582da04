/** A command says up to when it is decided: the reaper asks again about what may have changed since. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/story.ts'
import type { Event } from './event.ts'

test('a command is decided up to the time of the record that decided it', () => {
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
})

/** When the command for the dependent of an owner that waits is decided, if what tells of the owner comes five seconds after the world's start. */
function decidedOf(deletedAt: number, graceSeconds: number | null): number | undefined {
  const world = new World()
  world.begin()
  world.folder.fold(world.put('rs/a'), 1_000_000)
  world.folder.fold(world.put('pod/d <- rs/a!'), 1_000_000)
  const told = world.put('rs/a [deleting foreground]')
  if (told.type !== 'ObjectUpdated') throw new Error(`a ${told.type} tells of it`)
  const object = { ...told.object, deletedAt, graceSeconds }
  const [command] = world.folder
    .fold({ ...told, object }, 1_005_000)
    .flatMap(({ commands }) => commands)
  return command?.type === 'DeleteObject' ? command.decidedAt : undefined
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
