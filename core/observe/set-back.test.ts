/**
 * An object that a relist holds at an older version than was seen: a restore of the cluster that no
 * version shows brought it back so.
 *
 * What must stay true: only a relist that began after the object was last seen counts; late events
 * from before change nothing.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { show, World } from '../../testing/model/story.ts'
import type { Event, ObjectUpdated } from '../model/event.ts'

interface Told {
  readonly world: World
  /** Commands of the record, as stories show them. */
  tell(event: Event): readonly string[]
}

function told(): Told {
  const world = new World()
  world.begin()
  const tell = (event: Event): readonly string[] =>
    world.folder.fold(event).flatMap(({ commands }) => commands.map((command) => show(command)))
  return { world, tell }
}

/**
 * A pod that named a ReplicaSet, and then did not; what it was before, and the owner, which was
 * deleted.
 */
function letGo({ world, tell }: Told): ObjectUpdated {
  tell(world.put('rs/a'))
  const before = world.put('pod/d <- rs/a') as ObjectUpdated
  tell(before)
  tell(world.put('pod/d'))
  tell(world.remove('rs/a'))
  return before
}

/** The relist of pods, with the pod as it was. */
function setBack({ world }: Told, { object }: ObjectUpdated): readonly Event[] {
  return world
    .relist('pod')
    .map((event) =>
      'object' in event && event.type !== 'ObjectDeleted' ? { ...event, object } : event,
    )
}

test('what a relist that began later holds at an older version is as it is listed', () => {
  const those = told()
  const before = letGo(those)
  const commands = setBack(those, before).flatMap(those.tell)
  those.world.folder.commit()
  deepEqual(commands, [
    'DeleteObject pod/d Background deleted recheck: ReplicaSet "a" no longer exists',
  ])
  deepEqual(check(those.world.folder.state), [])
})

test('what a relist tells at an older version of what was seen since it began is late', () => {
  const those = told()
  const { world, tell } = those
  tell(world.put('rs/a'))
  const before = world.put('pod/d <- rs/a') as ObjectUpdated
  tell(before)
  const [started, listed, ...rest] = setBack(those, before)
  tell(started!)
  tell(world.put('pod/d'))
  tell(world.remove('rs/a'))
  deepEqual([listed!, ...rest].flatMap(tell), [])
})

test('what a watch tells at an older version is late', () => {
  const those = told()
  const before = letGo(those)
  deepEqual(those.tell(before), [])
})
