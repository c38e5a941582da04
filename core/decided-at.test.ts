/** A command says up to when it is decided: the reaper asks again about what may have changed since. */
import { deepEqual } from 'node:assert/strict'
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
