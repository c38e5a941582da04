/** The watcher over a real API and a real log: what a live watch publishes. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { Touched } from '../../core/model/event.ts'
import { EMPTY_SET, withMember } from '../../core/model/hash.ts'
import { HOLD_REFERENCE } from '../../ports/record/cap.ts'
import { WatcherRig } from '../../testing/rig/watcher-rig.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(options: ConstructorParameters<typeof WatcherRig>[0] = {}): Promise<void> {
  rig = new WatcherRig(options)
  rig.start()
  await rig.synced()
}

test('a first start tells who watches, then each kind from its start to its finish', async () => {
  rig = new WatcherRig()
  await rig.create(CONFIG_MAPS, 'a')
  rig.start()
  await rig.synced()
  const [first] = await rig.events()
  equal(first?.type, 'WatcherStarted')
  deepEqual(await rig.told('ConfigMap'), [
    'KindServed',
    'SyncStarted',
    'ObjectAdded a',
    'SyncFinished',
  ])
  deepEqual(await rig.told('Event'), ['KindServed', 'KindServed'])
  ok(rig.watcher.status().connected)
})

test('a live watch tells what is added, changed and deleted', async () => {
  await started()
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(0)
  await rig.patch(`${CONFIG_MAPS}/a`, { metadata: { finalizers: ['x.io/y'] } })
  await rig.patch(`${CONFIG_MAPS}/a`, { metadata: { finalizers: null } })
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(0)
  deepEqual((await rig.told('ConfigMap')).slice(3), [
    'ObjectAdded a',
    'ObjectUpdated a',
    'ObjectUpdated a',
    'ObjectDeleted a',
  ])
  equal(rig.kind('ConfigMap')?.objects, 0)
})

test('a deletion says how old it may be: nothing while all goes well, and all the time that the log took nothing', async () => {
  await started()
  for (const name of ['a', 'b']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(300_000)
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(0)
  rig.stuck = 'events'
  await rig.remove(`${CONFIG_MAPS}/b`)
  await rig.clock.advance(90_000)
  rig.stuck = null
  await rig.clock.advance(10_000)
  const ages = (await rig.events()).flatMap((event) =>
    event.type === 'ObjectDeleted' ? [event.ageMs] : [],
  )
  const [atOnce, late = 0] = ages
  equal(atOnce, 0)
  ok(late >= 90_000 && late <= 100_000, `${late}`)
})

test('writes that change nothing we read are told as touched, once for many', async () => {
  await started()
  await rig.create(CONFIG_MAPS, 'a')
  await rig.create(CONFIG_MAPS, 'b')
  await rig.clock.advance(2_000)
  for (const value of ['1', '2', '3']) await rig.patch(`${CONFIG_MAPS}/a`, { data: { value } })
  await rig.patch(`${CONFIG_MAPS}/b`, { data: { value: '1' } })
  await rig.clock.advance(2_000)
  deepEqual((await rig.told('ConfigMap')).slice(3), ['ObjectAdded a', 'ObjectAdded b', 'Touched 2'])
  const touched = (await rig.events()).filter((event): event is Touched => event.type === 'Touched')
  const versions = touched[0]?.entries.map((entry) => entry.resourceVersion)
  deepEqual(versions, [String(Number(rig.server.resourceVersion) - 1), rig.server.resourceVersion])
})

test('what was gathered of an object is dropped when something later of it is told', async () => {
  await started()
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(2_000)
  await rig.patch(`${CONFIG_MAPS}/a`, { data: { value: '1' } })
  await rig.patch(`${CONFIG_MAPS}/a`, { metadata: { finalizers: ['x.io/y'] } })
  await rig.clock.advance(2_000)
  await rig.patch(`${CONFIG_MAPS}/a`, { data: { value: '2' } })
  await rig.patch(`${CONFIG_MAPS}/a`, { metadata: { finalizers: null } })
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(2_000)
  deepEqual((await rig.told('ConfigMap')).slice(3), [
    'ObjectAdded a',
    'ObjectUpdated a',
    'ObjectUpdated a',
    'ObjectDeleted a',
  ])
})

test('all of a cluster is in the partition that its assignment names, under the key of each home', async () => {
  rig = new WatcherRig({ partitions: 3 })
  await rig.assign('other', 0)
  for (const name of ['n0', 'n1', 'n2']) {
    await rig.create('/api/v1/namespaces', name)
    await rig.create(`/api/v1/namespaces/${name}/configmaps`, `in-${name}`)
  }
  rig.start()
  await rig.synced()
  const cluster = rig.watcher.status().clusterId ?? ''
  equal((await rig.assignments()).get(cluster)?.partition, 1)
  for (const partition of [0, 2]) deepEqual(await rig.events(partition), [])
  const events = await rig.events(1)
  for (const type of ['WatcherStarted', 'KindServed', 'SyncStarted', 'Heartbeat'] as const) {
    ok(
      events.some((event) => event.type === type),
      type,
    )
  }
  let listed = EMPTY_SET
  for (const { metadata } of rig.server.objects('', 'configmaps')) {
    listed = withMember(listed, metadata.uid)
  }
  const finished = events.find(
    (event) => event.type === 'SyncFinished' && event.kind === 'ConfigMap',
  )
  deepEqual(finished?.type === 'SyncFinished' && finished.listed, listed)
  const { entries } = await rig.log.read('events', 1, 0n, { limit: 10_000, waitMs: 0 })
  const homes = new Set(entries.map(({ key }) => key))
  for (const home of ['', 'n0', 'n1', 'n2']) ok(homes.has(`${cluster}/${home}`), home)
})

test('appends that do not get through are made again, in order', async () => {
  await started()
  for (const name of ['a', 'b', 'c']) {
    for (let refusals = 0; refusals < 3; refusals++) rig.log.refuseNextAppend()
    await rig.create(CONFIG_MAPS, name)
    await rig.clock.advance(5_000)
  }
  deepEqual((await rig.told('ConfigMap')).slice(3), [
    'ObjectAdded a',
    'ObjectAdded b',
    'ObjectAdded c',
  ])
})

test('an object with more references than any has is told by its identity, and marked (F27)', async () => {
  await started()
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
  const ownerReferences = Array.from({ length: 40_000 }, (_, i) => ({ ...owner, uid: `${i}` }))
  await rig.create(CONFIG_MAPS, 'a', { metadata: { ownerReferences } })
  await rig.clock.advance(0)
  const added = (await rig.events()).find(
    (event) => event.type === 'ObjectAdded' && event.object.name === 'a',
  )
  deepEqual(added?.type === 'ObjectAdded' && added.object.ownerReferences, [HOLD_REFERENCE])
})
