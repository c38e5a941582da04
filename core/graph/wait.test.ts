/** A node's waits are removed when it leaves, or names other kinds. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { check } from '../../testing/model/state-check.ts'
import { World } from '../../testing/model/story.ts'

test('an owner that waits for a relist of what blocks its kind leaves no wait behind', () => {
  const world = new World()
  world.begin()
  for (const line of ['put rs/web', 'put pod/a <- rs/web!', 'unreadable c/ns']) world.step(line)
  world.step('put rs/web [deleting foreground]')
  const waits = (): string[] =>
    [...world.folder.state.keys()].filter((key) => key.startsWith('waits/'))
  ok(waits().length > 0)
  world.step('delete rs/web')
  deepEqual(check(world.folder.state), [])
})

test('an object waits no longer for a kind that it no longer names', () => {
  const world = new World()
  world.begin()
  const waits = (): string[] =>
    [...world.folder.state.keys()].filter((key) => key.startsWith('waits/'))
  const counts = ['widget/x', 'widget/x!', 'widget/y, rs/b', 'rs/b', 'widget/z'].map((owners) => {
    world.step(`put pod/a <- ${owners}`)
    return waits().filter((key) => key.includes('widget')).length
  })
  deepEqual(counts, [1, 1, 1, 0, 1])
})
