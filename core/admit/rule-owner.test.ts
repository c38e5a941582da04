/** What is remembered of a controller whose objects a rule deletes, and for how long. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'

/** The controllers that have a value in the state. */
function rememberedAfter(steps: readonly string[]): readonly string[] {
  const world = new World()
  world.begin()
  for (const step of steps) world.step(step)
  world.folder.commit()
  const keys = [...world.folder.state.keys()].filter((key) => key.startsWith('ruleowner/'))
  return keys.map((key) => key.slice(key.lastIndexOf('/') + 1))
}

const DELETED = [
  ...['rule old pod 60', 'enforce-rule old', 'put rs/web', 'put pod/a <- rs/web*', 'beat 60'],
  ...['settle pod/a done', 'delete pod/a'],
]

test('a controller is remembered once a rule deletes an object of it', () => {
  deepEqual(rememberedAfter(DELETED), ['rs-web'])
})

test('it is forgotten when it leaves, so each Job leaves nothing behind', () => {
  deepEqual(rememberedAfter([...DELETED, 'delete rs/web']), [])
})

test('an object without a controller leaves nothing', () => {
  deepEqual(rememberedAfter(DELETED.map((step) => step.replace('*', ''))), [])
})
