/**
 * Commands that annotate: one merge patch of the version that was judged, with one key of the
 * command's own rule; nothing else of the object, and nothing that was written since.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { AnnotateObject } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import { MARKING } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

async function ready(): Promise<World> {
  const world = await World.open()
  await world.rules(MARKING)
  await world.enforceRule(MARKING)
  return world
}

async function outcomes(world: World, count: number): Promise<readonly string[]> {
  const results = (await world.settled(count)) as readonly CommandSettled[]
  return results.map(({ outcome, reason }) => `${outcome} ${reason}`.trim())
}

function bodies(world: World): unknown[] {
  const sent: unknown[] = []
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    if (request.method === 'PATCH') sent.push([request.path, JSON.parse(request.body ?? '')])
    return await handle(request, signal)
  }
  return sent
}

function annotationsOf(world: World, name: string): unknown {
  return world.server.object('', 'configmaps', 'default', name)?.metadata.annotations
}

async function markingOf(world: World, name: string): Promise<AnnotateObject> {
  return world.annotateOf(await world.create(name))
}

test('sets one annotation, with both preconditions, and changes nothing else', async () => {
  const world = await ready()
  const object = await world.create('a')
  await world.command(world.annotateOf(object))
  const sent = bodies(world)
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['done'])
  const { uid, resourceVersion } = object
  const annotations = { 'example.com/stale': 'yes' }
  deepEqual(sent, [
    [
      '/api/v1/namespaces/default/configmaps/a?fieldManager=kinfold',
      { metadata: { uid, resourceVersion, annotations } },
    ],
  ])
  deepEqual(annotationsOf(world, 'a'), annotations)
  const [result] = (await world.results()) as readonly CommandSettled[]
  deepEqual(
    result?.object?.annotations.find(({ key }) => key === 'example.com/stale'),
    { key: 'example.com/stale', value: 'yes' },
  )
  await running.stop()
})

test('a dry run changes nothing', async () => {
  const world = await ready()
  await world.command({ ...(await markingOf(world, 'a')), mode: 'dry-run' })
  const sent = bodies(world)
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['would-go'])
  match(JSON.stringify(sent), /dryRun=All/)
  equal(annotationsOf(world, 'a'), undefined)
  await running.stop()
})

test('what was written since is judged anew; what has it by then is done', async () => {
  const world = await ready()
  const [moved, marked] = [await markingOf(world, 'a'), await markingOf(world, 'b')]
  await world.patch('a', { annotations: { other: 'yes' } })
  await world.patch('b', { annotations: { 'example.com/stale': 'yes' } })
  await world.command(moved, marked)
  const running = world.start()
  deepEqual((await outcomes(world, 2)).toSorted(), [
    'done already so',
    'stale changed since it was judged',
  ])
  deepEqual(annotationsOf(world, 'a'), { other: 'yes' })
  await running.stop()
})

test('sets none on another object of that name', async () => {
  const world = await ready()
  const command = await markingOf(world, 'a')
  await world.delete('a')
  await world.create('a')
  await world.command(command)
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['absent not found'])
  equal(annotationsOf(world, 'a'), undefined)
  await running.stop()
})

test('makes no call once its rule is suspended', async () => {
  const world = await ready()
  const command = await markingOf(world, 'a')
  await world.suspendRule(MARKING)
  await world.command(command)
  const sent = bodies(world)
  const running = world.start()
  match((await outcomes(world, 1))[0] ?? '', /^blocked rule mark is suspended by ann/)
  deepEqual(sent, [])
  await running.stop()
})

test('reads an object first that a label may protect, and leaves it alone then', async () => {
  const world = await ready()
  await world.protect('label/a=b')
  const spared = await world.create('a')
  await world.patch('a', { labels: { a: 'b' } })
  await world.command(world.annotateOf({ ...spared, ...(await world.read('a')) }))
  const running = world.start()
  match((await outcomes(world, 1))[0] ?? '', /^stale protected/)
  equal(annotationsOf(world, 'a'), undefined)
  await running.stop()
})
