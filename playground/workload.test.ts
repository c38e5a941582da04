/**
 * The living workload on a clock that a test moves: cascades come about, and no controller works
 * against the collector.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { type ApiObject, ApiServer } from '../adapters/memory/api-server.ts'
import { ManualClock } from '../adapters/memory/clock.ts'
import { Client } from './client.ts'
import { Controllers } from './controllers.ts'
import { runWorkload } from './workload.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const REPLICA_SETS = '/apis/apps/v1/namespaces/default/replicasets'
const TEMPLATE = { metadata: { labels: { app: 'it' } }, spec: { containers: [{ name: 'c' }] } }

class World implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly api = new ApiServer({ clock: this.clock, random: { next: Math.random }, name: 'test' })
  readonly stop = new AbortController()
  readonly client = new Client(this.api, this.stop.signal, 'tester')
  #running: Promise<void> | undefined

  run(start: () => Promise<void>): void {
    this.#running = start()
  }

  all(group: string, resource: string): readonly ApiObject[] {
    return [...this.api.objects(group, resource)]
  }

  /** Objects with a reference to something that is not there. */
  dangling(group: string, resource: string): readonly ApiObject[] {
    const owners = ['deployments', 'replicasets'].flatMap((it) => this.all('apps', it))
    const uids = new Set([...owners, ...this.all('batch', 'jobs')].map((it) => it.metadata.uid))
    return this.all(group, resource).filter(({ metadata: { ownerReferences = [] } }) => {
      return ownerReferences.some(({ uid }) => !uids.has(uid))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop.abort()
    await this.#running
  }
}

async function withDeployment(): Promise<World> {
  const world = new World()
  world.run(() => new Controllers(world.api, world.clock).run(world.stop.signal))
  const selector = { matchLabels: { app: 'it' } }
  const spec = { replicas: 2, selector, template: TEMPLATE }
  await world.client.create(DEPLOYMENTS, { metadata: { name: 'it' }, spec })
  await world.clock.advance(2_000)
  return world
}

suite('the workload', () => {
  test('leaves dependents of every kind behind within 20 seconds', async () => {
    await using world = new World()
    world.run(() => runWorkload(world, world.stop.signal))
    await world.clock.advance(20_000)
    ok(world.dangling('', 'configmaps').length > 0, 'no ConfigMap lost its owner')
    ok(world.dangling('apps', 'replicasets').length > 0, 'no ReplicaSet lost its owner')
    ok(world.dangling('', 'pods').length > 0, 'no pod lost its owner')
  })

  test('keeps what is alive complete', async () => {
    await using world = new World()
    world.run(() => runWorkload(world, world.stop.signal))
    await world.clock.advance(60_000)
    const { status } = world.api.object('apps', 'deployments', 'shop', 'cart')!
    equal((status as { readyReplicas: number }).readyReplicas, 2)
  })
})

suite('what a user deletes of the workload', () => {
  const SHOP = '/apis/apps/v1/namespaces/shop/deployments'
  const MAPS = '/api/v1/namespaces/shop/configmaps'

  async function opened(): Promise<World> {
    const world = new World()
    world.run(() => runWorkload(world, world.stop.signal))
    await world.clock.advance(6_000)
    return world
  }

  function web(world: World): ApiObject | undefined {
    return world.api.object('apps', 'deployments', 'shop', 'web')
  }

  function settings(world: World): ApiObject | undefined {
    return world.api.object('', 'configmaps', 'shop', 'web-settings')
  }

  async function collected(world: World): Promise<void> {
    const lost = [...world.dangling('', 'configmaps'), ...world.dangling('apps', 'replicasets')]
    for (const { kind, metadata } of lost) {
      const path = kind === 'ConfigMap' ? MAPS : SHOP.replace('deployments', 'replicasets')
      await world.client.delete(`${path}/${metadata.name}`, metadata.uid)
    }
  }

  test('stays away for a minute, comes back whole, and can be deleted again', async () => {
    await using world = await opened()
    for (let time = 0; time < 2; time++) {
      const { uid } = web(world)!.metadata
      await world.client.delete(`${SHOP}/web`, uid)
      await collected(world)
      await world.clock.advance(55_000)
      equal(web(world), undefined)
      await world.clock.advance(15_000)
      const { metadata, status } = web(world)!
      ok(metadata.uid !== uid)
      equal((status as { readyReplicas: number }).readyReplicas, 3)
      equal(settings(world)!.metadata.ownerReferences![0]!.uid, metadata.uid)
    }
  })

  test('comes back with its namespace', async () => {
    await using world = await opened()
    const { uid } = world.api.object('', 'namespaces', '', 'shop')!.metadata
    await world.client.delete('/api/v1/namespaces/shop', uid)
    await world.clock.advance(130_000)
    ok(world.api.object('', 'namespaces', '', 'shop')!.metadata.uid !== uid)
    ok(web(world) !== undefined)
    ok(settings(world) !== undefined)
  })

  test('comes back as a part of what is still there, or was orphaned', async () => {
    await using world = await opened()
    await world.client.delete(`${MAPS}/web-settings`, settings(world)!.metadata.uid)
    await world.client.merge(`${MAPS}/web-theme`, { metadata: { ownerReferences: null } })
    await world.clock.advance(70_000)
    const { uid } = web(world)!.metadata
    for (const part of ['web-settings', 'web-theme']) {
      const { metadata } = world.api.object('', 'configmaps', 'shop', part)!
      equal(metadata.ownerReferences![0]!.uid, uid, part)
    }
  })

  test('does not get new dependents while it waits for its old ones', async () => {
    await using world = await opened()
    await world.client.merge(`${SHOP}/web`, { metadata: { finalizers: ['a/b'] } })
    await world.client.delete(`${SHOP}/web`, web(world)!.metadata.uid)
    await world.client.delete(`${MAPS}/web-settings`, settings(world)!.metadata.uid)
    await world.clock.advance(130_000)
    equal(settings(world), undefined)
  })

  test('leaves alone what a user created, under whichever name', async () => {
    await using world = await opened()
    await world.client.delete(`${SHOP}/web`, web(world)!.metadata.uid)
    const spec = { replicas: 0, template: TEMPLATE }
    for (const name of ['web', 'preview-2', 'preview-3', 'own']) {
      await world.client.create(SHOP, { metadata: { name }, spec })
    }
    await world.client.create(MAPS, { metadata: { name: 'web-spare' }, data: { a: 'b' } })
    const before = users(world)
    await world.clock.advance(130_000)
    deepEqual(users(world), before)
  })

  function users(world: World): readonly unknown[] {
    const deployments = ['web', 'preview-2', 'preview-3', 'own'].map((name) => {
      const { metadata, spec } = world.api.object('apps', 'deployments', 'shop', name)!
      return [name, metadata.uid, spec]
    })
    return [...deployments, world.api.object('', 'configmaps', 'shop', 'web-spare')]
  }
})

suite('the controllers', () => {
  test('give every dependent its controller, which it blocks', async () => {
    await using world = await withDeployment()
    const [set] = world.all('apps', 'replicasets')
    const pods = world.all('', 'pods')
    equal(pods.length, 2)
    for (const { metadata } of [set!, ...pods]) {
      equal(metadata.ownerReferences?.length, 1)
      const [reference] = metadata.ownerReferences!
      deepEqual([reference!.controller, reference!.blockOwnerDeletion], [true, true])
    }
  })

  test('replace a pod that somebody deletes', async () => {
    await using world = await withDeployment()
    const { name, uid } = world.all('', 'pods')[0]!.metadata
    await world.client.delete(`/api/v1/namespaces/default/pods/${name}`, uid)
    equal(world.all('', 'pods').length, 1)
    await world.clock.advance(1_000)
    equal(world.all('', 'pods').length, 2)
  })

  test('make nothing for what is being deleted, nor for what has lost its owner', async () => {
    await using world = await withDeployment()
    const [set] = world.all('apps', 'replicasets')
    const hold = { metadata: { finalizers: ['a/b'] } }
    await world.client.merge(`${REPLICA_SETS}/${set!.metadata.name}`, hold)
    await world.client.delete(`${REPLICA_SETS}/${set!.metadata.name}`, set!.metadata.uid)
    const { uid } = world.api.object('apps', 'deployments', 'default', 'it')!.metadata
    await world.client.delete(`${DEPLOYMENTS}/it`, uid)
    for (const { metadata } of world.all('', 'pods')) {
      await world.client.delete(`/api/v1/namespaces/default/pods/${metadata.name}`, metadata.uid)
    }
    await world.clock.advance(5_000)
    equal(world.all('', 'pods').length, 0)
    equal(world.all('apps', 'replicasets').length, 1)
  })

  test('leave a ReplicaSet alone that has lost its Deployment', async () => {
    await using world = await withDeployment()
    const { uid } = world.api.object('apps', 'deployments', 'default', 'it')!.metadata
    await world.client.delete(`${DEPLOYMENTS}/it`, uid)
    const { name, uid: pod } = world.all('', 'pods')[0]!.metadata
    await world.client.delete(`/api/v1/namespaces/default/pods/${name}`, pod)
    await world.clock.advance(2_000)
    equal(world.all('', 'pods').length, 1)
  })

  test('come back to a Deployment whose name is still taken by an earlier one', async () => {
    await using world = await withDeployment()
    const { metadata, ...rest } = world.api.object('apps', 'deployments', 'default', 'it')!
    await world.client.delete(`${DEPLOYMENTS}/it`, metadata.uid)
    await world.client.create(DEPLOYMENTS, { metadata: { name: 'it' }, spec: rest['spec'] })
    await world.clock.advance(2_000)
    const [left] = world.dangling('apps', 'replicasets')
    await world.client.delete(`${REPLICA_SETS}/${left!.metadata.name}`, left!.metadata.uid)
    await world.clock.advance(2_000)
    deepEqual(world.dangling('apps', 'replicasets'), [])
    equal(world.all('apps', 'replicasets').length, 1)
  })

  test('roll out: the old ReplicaSet goes when the new one is up', async () => {
    await using world = await withDeployment()
    const [old] = world.all('apps', 'replicasets')
    const template = { spec: { containers: [{ name: 'c', image: 'new' }] } }
    await world.client.merge(`${DEPLOYMENTS}/it`, { spec: { template } })
    await world.clock.advance(3_000)
    const sets = world.all('apps', 'replicasets')
    equal(sets.length, 1)
    ok(sets[0]!.metadata.uid !== old!.metadata.uid)
    equal(world.dangling('', 'pods').length, 2)
  })
})
