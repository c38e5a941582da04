/** What is remembered of the gone is forgotten after its time, and its lineage with it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../testing/story.ts'
import { policyFor } from './policy.ts'

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

/** A world whose policy remembers for so many days. */
function remembering(days: number): World {
  const world = new World()
  world.begin()
  const policy = { ...policyFor('enforce', 'parity'), rememberMs: days * DAY_MS }
  world.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  return world
}

test('what is remembered for a week only is forgotten after a week, a reference to it or not as before', () => {
  const world = remembering(7)
  world.step('put rs/web')
  world.step('put pod/a <- rs/web')
  world.step('delete rs/web')
  deepEqual(forgotten(world, 6), [])
  deepEqual(forgotten(world, 8), [])
  world.step('delete pod/a')
  equal(forgotten(world, 10).includes('c/rs-web'), true)
  deepEqual(forgotten(world, 14), [])
  deepEqual(forgotten(world, 16), ['c/pod-a'])
})

test('that an owner let its dependents go is remembered for thirty days, however short the rest', () => {
  const world = remembering(1)
  world.step('put rs/web')
  world.step('put rs/web [deleting orphan]')
  world.step('delete rs/web')
  deepEqual(forgotten(world, 29), [])
  deepEqual(forgotten(world, 31), ['c/rs-web'])
})

test('what is remembered for longer is, and so is a mark', () => {
  const world = remembering(60)
  world.step('put rs/web')
  world.step('put rs/web [deleting orphan]')
  world.step('delete rs/web')
  world.step('put cm/a')
  world.step('delete cm/a')
  deepEqual(forgotten(world, 59), [])
  deepEqual(forgotten(world, 61), ['c/cm-a', 'c/rs-web'])
})
