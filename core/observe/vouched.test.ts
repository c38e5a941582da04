/**
 * History records every phase of an object, also the one in which it is found again after it was
 * untrusted: the search for the begin of a deletion reads them.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'
import type { Event } from '../model/event.ts'

test('an object that was in doubt and is vouched for by its version has its phase told', () => {
  const world = new World()
  world.begin()
  const phases: (string | null)[] = []
  const tell = (events: readonly Event[]): void => {
    const told = events.flatMap((event) => world.folder.fold(event))
    for (const { change, phase } of told.flatMap(({ history }) => history)) {
      if (change === 'phase') phases.push(phase)
    }
  }
  for (const line of [
    'put deploy/a',
    'put deploy/a [deleting]',
    'put deploy/a',
    'touch deploy/a',
  ]) {
    tell(world.events(line))
  }
  deepEqual(phases, ['deleting', 'suspect', 'observed'])
})
