/** What is remembered of the gone is forgotten after its time, and its lineage with it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/story.ts'

const DAY_MS = 24 * 3_600_000

/** What a heartbeat, so many days after the story began, brings to be forgotten. */
function forgotten(world: World, days: number): string[] {
  return world.folder.fold(world.beat(0), days * DAY_MS).flatMap((outcome) => outcome.forgotten)
}

test('an owner that went is forgotten after thirty days, once no reference names it', () => {
  const world = new World()
  world.begin()
  world.step('put rs/web')
  world.step('put pod/a <- rs/web')
  world.step('delete rs/web')
  deepEqual(forgotten(world, 31), [])
  world.step('delete pod/a')
  equal(forgotten(world, 70).includes('c/rs-web'), true)
})
