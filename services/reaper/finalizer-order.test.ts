/**
 * An order that removes a finalizer of others, as a reaper carries it out: over the Kubernetes
 * adapter, on an API server in memory.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { RemoveFinalizer } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { World } from '../../testing/rig/reaper-world.ts'
import type { ReaperConfig } from './config.ts'

const STUCK = 'example.com/cleanup'
const ARCHIVE = { secrets: false, key: undefined }

/** Being deleted, and held by these finalizers. */
async function held(world: World, finalizers: readonly string[]): Promise<ObjectMeta> {
  await world.create('stuck', { finalizers })
  await world.delete('stuck')
  return await world.read('stuck')
}

async function carriedOut(
  world: World,
  command: RemoveFinalizer,
  config: Partial<ReaperConfig> = { mayRemove: [command.finalizer] },
): Promise<string> {
  await world.command(command)
  const running = world.start(config, ARCHIVE)
  const [result] = await world.settled(1)
  await running.stop()
  const { outcome, reason } = result as CommandSettled
  return reason === '' ? outcome : `${outcome}: ${reason}`
}

test('removes it, and the object ends with the last one, archived before', async () => {
  const world = await World.open()
  const object = await held(world, [STUCK])
  world.calls()
  equal(await carriedOut(world, world.releaseOf(object, STUCK)), 'done')
  deepEqual(world.calls(), { GET: 1, PATCH: 1 })
  equal(world.exists('stuck'), false)
  const { entries } = await world.log.read('archive', 0, 0n, { limit: 10, waitMs: 0 })
  equal(entries.length, 1)
})

const HOSTILE = [
  `${'a'.repeat(240)}.example.com/${'b'.repeat(60)}`,
  'example.com/a_b.c-d',
  'example.com/~1~0',
  `example.com/"quoted' \\ name`,
  'finalizers/0',
]

for (const finalizer of HOSTILE) {
  test(`removes ${finalizer.slice(0, 40)} and no other`, async () => {
    const world = await World.open()
    const object = await held(world, ['example.com/first', finalizer, 'example.com/last'])
    equal(await carriedOut(world, world.releaseOf(object, finalizer)), 'done')
    const { finalizers } = await world.read('stuck')
    deepEqual(finalizers, ['example.com/first', 'example.com/last'])
  })
}

test('removes nothing that the config does not list, for whoever wrote the command', async () => {
  const world = await World.open()
  const object = await held(world, [STUCK])
  const order = world.releaseOf(object, STUCK)
  equal(
    await carriedOut(world, order, {}),
    'blocked: this reaper may not remove the finalizer example.com/cleanup (finalizers.mayRemove)',
  )
  equal(world.exists('stuck'), true)
})

test('removes nothing from another version, though nothing but a label differs', async () => {
  const world = await World.open()
  const object = await held(world, [STUCK])
  await world.patch('stuck', { labels: { seen: 'later' } })
  const order = world.releaseOf(object, STUCK)
  equal(await carriedOut(world, order), 'stale: changed since it was judged')
  equal(world.exists('stuck'), true)
})

test('removes nothing from what a user protected meanwhile', async () => {
  const world = await World.open()
  const object = await held(world, [STUCK])
  await world.protect('namespace/default')
  const order = world.releaseOf(object, STUCK)
  equal(
    await carriedOut(world, order),
    'blocked: protected by test; "kinfold unprotect namespace/default" releases it',
  )
})

test('only asks in mode dry-run', async () => {
  const world = await World.open()
  const object = await held(world, [STUCK])
  const order: RemoveFinalizer = { ...world.releaseOf(object, STUCK), mode: 'dry-run' }
  equal(await carriedOut(world, order), 'would-go')
  equal(world.exists('stuck'), true)
})
