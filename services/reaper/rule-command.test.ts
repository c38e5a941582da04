/**
 * Commands of rules in a reaper: carried out while an order enforces the rule as it is, up to the
 * moment of the call, and for the version of the object that the rule decided by.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { DeleteObject, OwnerClaim } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { deleteByRule, RULE } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const CHANGED = ruleIn('old cm 90')

function byRule(world: World, object: ObjectMeta): DeleteObject {
  const { evidence, owners, rule } = deleteByRule()
  return world.deleteOf(object, { evidence, owners, rule })
}

async function outcomes(world: World, count: number): Promise<readonly string[]> {
  const results = (await world.settled(count)) as readonly CommandSettled[]
  return results.map(({ outcome, reason }) => `${outcome} ${reason}`.trim())
}

async function enforced(): Promise<World> {
  const world = await World.open()
  await world.rules(RULE)
  await world.enforceRule(RULE)
  return world
}

test('deletes by a rule that is enforced, an object without owners', async () => {
  const world = await enforced()
  await world.command(byRule(world, await world.create('pod')))
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['done'])
  equal(world.exists('pod'), false)
  await running.stop()
})

const stops: readonly (readonly [string, (world: World) => Promise<void>, RegExp])[] = [
  ['suspended', (world) => world.suspendRule(RULE), /^blocked rule old is suspended by ann/],
  ['changed', (world) => world.rules(CHANGED), /^blocked rule old is another by now/],
  ['removed', (world) => world.rules(), /^blocked the policy has no rule old by now/],
]

for (const [what, stop, reason] of stops) {
  test(`makes no call for a rule that was ${what} since`, async () => {
    const world = await enforced()
    const running = world.start()
    await world.command(byRule(world, await world.create('a')))
    deepEqual(await outcomes(world, 1), ['done'])
    const command = byRule(world, await world.create('b'))
    await stop(world)
    await world.clock.advance(1_000)
    world.calls()
    await world.command(command)
    match((await outcomes(world, 2))[1] ?? '', reason)
    deepEqual(world.calls(), {})
    await running.stop()
  })

  test(`does not go on by a rule that is ${what} while it reads the object`, async () => {
    const world = await enforced()
    // The object is read first.
    await world.protect('label/a=b')
    await world.command(byRule(world, await world.create('pod')))
    const handle = world.server.handle.bind(world.server)
    world.server.handle = async (request, signal) => {
      if (request.method === 'GET' && request.path.includes('/configmaps/')) {
        await stop(world)
        await world.clock.advance(1_000)
      }
      return await handle(request, signal)
    }
    const running = world.start()
    match((await outcomes(world, 1))[0] ?? '', reason)
    equal(world.exists('pod'), true)
    deepEqual(world.calls()['DELETE'], undefined)
    await running.stop()
  })
}

test('deletes nothing that was written since the rule decided, with the same owners', async () => {
  const world = await enforced()
  const command = byRule(world, await world.create('pod'))
  await world.patch('pod', { annotations: { other: 'yes' } })
  await world.command(command)
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['stale changed since it was judged'])
  equal(world.exists('pod'), true)
  await running.stop()
})

test('carries out all else while rules cannot be read', async () => {
  const world = await enforced()
  await world.log.append('orders', 0, [{ key: 'rule/old', value: new Uint8Array([1]) }])
  await world.command(world.deleteOf(await world.dependent('pod')))
  await world.command(byRule(world, await world.create('other')))
  const running = world.start()
  deepEqual([...(await outcomes(world, 2))].sort(), [
    'blocked the rules, or the orders to enforce them, cannot be read',
    'done',
  ])
  await running.stop()
})

test('deletes by no rule that orders lost the suspension of (F39)', async () => {
  const world = await enforced()
  const { end } = await world.log.bounds('orders', 0)
  await world.suspendRule(RULE)
  const running = world.start()
  await world.clock.advance(1_000)
  world.log.cutOff('orders', 0, end)
  await world.clock.advance(1_000)
  await world.command(byRule(world, await world.create('pod')))
  match((await outcomes(world, 1))[0] ?? '', /^blocked rule old is suspended/)
  await world.enforceRule(RULE)
  await world.clock.advance(1_000)
  await world.command(byRule(world, await world.read('pod')))
  equal((await outcomes(world, 2))[1], 'done')
  await running.stop()
})

test('deletes nothing that its rule does not decide about, as it is read, under the version that it names', async () => {
  const world = await World.open()
  const labelled = ruleIn('old cm 60 label:tier=preview')
  await world.rules(labelled)
  await world.enforceRule(labelled)
  // What an etcd restore may leave: the version that was judged, with another content.
  const object = await world.create('pod')
  const { evidence, owners, rule } = deleteByRule({}, labelled)
  await world.command(world.deleteOf(object, { evidence, owners, rule }))
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['stale the object, as it is now, is not due by rule old'])
  equal(world.exists('pod'), true)
  await running.stop()
})

test('deletes nothing that was not read with what its rule reads, as absent as that may look', async () => {
  const world = await World.open()
  const unlabelled = ruleIn('old cm 60 no-label:keep')
  await world.rules(unlabelled)
  await world.enforceRule(unlabelled)
  // As above; what is beyond the caps is read without its labels.
  await world.create('pod')
  const kind = 'K'.repeat(64)
  const owner = { apiVersion: 'v1', kind, name: 'x', uid: 'x' }
  await world.patch('pod', { labels: { keep: 'yes' }, ownerReferences: [owner] })
  const { evidence, owners, rule } = deleteByRule({}, unlabelled)
  const object = await world.read('pod')
  await world.command(world.deleteOf(object, { evidence, owners, rule }))
  const running = world.start()
  deepEqual(await outcomes(world, 1), [
    'stale the object was not read with all that rule old reads',
  ])
  equal(world.exists('pod'), true)
  await running.stop()
})

const STUCK = ruleIn('stuck pod 0 terminating grace:0')
const PODS = '/api/v1/namespaces/default/pods'
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

/** A pod on a node, which is to end within 30 s of the request to delete it. */
async function endingPod(world: World): Promise<ObjectMeta> {
  await world.request('POST', PODS, { metadata: { name: 'pod' }, spec: { nodeName: 'n1' } })
  await world.request('DELETE', `${PODS}/pod`, { gracePeriodSeconds: 30 })
  return await world.read('pod', { kind: 'Pod', resource: 'pods' })
}

async function forced(world: World): Promise<DeleteObject> {
  await world.rules(STUCK)
  await world.enforceRule(STUCK)
  const { evidence, owners, rule } = deleteByRule({}, STUCK)
  const more = { evidence, owners, rule, gracePeriodSeconds: 0 } as const
  return world.deleteOf(await endingPod(world), more)
}

test('deletes what is being deleted with no grace period, and reads it first', async () => {
  const world = await World.open()
  await world.command(await forced(world))
  const sent: string[] = []
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    if (request.path.includes('/pods/')) sent.push(request.method)
    return await handle(request, signal)
  }
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['done'])
  equal(world.server.object('', 'pods', 'default', 'pod'), undefined)
  deepEqual(sent, ['GET', 'DELETE'])
  await running.stop()
})

test('spares what is being deleted and is protected by then', async () => {
  const world = await World.open()
  await world.command(await forced(world))
  await world.request('PATCH', `${PODS}/pod`, { metadata: { labels: { keep: 'yes' } } })
  await world.protect('label/keep')
  const running = world.start()
  match((await outcomes(world, 1))[0] ?? '', /^\w+ protected by test; /)
  equal(world.server.object('', 'pods', 'default', 'pod') === undefined, false)
  await running.stop()
})

test('deletes nothing more of what was written since, though it is being deleted', async () => {
  const world = await World.open()
  await world.command(await forced(world))
  await world.request('PATCH', `${PODS}/pod`, { metadata: { labels: { other: 'yes' } } })
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['stale changed since it was judged'])
  equal(world.server.object('', 'pods', 'default', 'pod') === undefined, false)
  await running.stop()
})

const ORPHANED = ruleIn('orphaned cm 0 for:40 no-node:spec.nodeName')
const NODES = '/api/v1/nodes'
const NO_NODE: OwnerClaim = {
  ...{ group: '', kind: 'Node', namespace: '', name: 'n1', uid: '' },
  ...{
    version: 'v1',
    resource: 'nodes',
    claim: 'absent',
    cluster: '',
    clusterEpoch: 0,
    createdAt: null,
  },
}

/** What names a Node that the fold knows of none by that name. */
async function orphaned(world: World): Promise<DeleteObject> {
  await world.rules(ORPHANED)
  await world.enforceRule(ORPHANED)
  await world.request('POST', CONFIG_MAPS, {
    ...{ metadata: { name: 'pod' }, spec: { nodeName: 'n1' } },
  })
  const { evidence, rule } = deleteByRule({}, ORPHANED)
  const more = { evidence, rule, owners: [NO_NODE], freshness: 'recheck' } as const
  return world.deleteOf(await world.read('pod'), more)
}

test('deletes what names a Node that the cluster says is not there', async () => {
  const world = await World.open()
  await world.command(await orphaned(world))
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['done'])
  equal(world.exists('pod'), false)
  await running.stop()
})

test('deletes nothing that names a Node that is there after all, whatever its uid', async () => {
  const world = await World.open()
  await world.request('POST', NODES, { metadata: { name: 'n1' } })
  await world.command(await orphaned(world))
  world.calls()
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['blocked Node/n1 exists'])
  equal(world.exists('pod'), true)
  deepEqual(world.calls()['DELETE'], undefined)
  await running.stop()
})

test('deletes nothing while it cannot be said whether the Node is there', async () => {
  const world = await World.open()
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    if (!request.path.startsWith(NODES)) return await handle(request, signal)
    return await handle({ ...request, path: '/api/v1/nodes/%' }, signal)
  }
  await world.command(await orphaned(world))
  const running = world.start()
  match((await outcomes(world, 1))[0] ?? '', /^blocked owner Node\/n1 could not be looked up/)
  equal(world.exists('pod'), true)
  await running.stop()
})

const OUT = ruleIn(
  'out cm 0 node:spec.nodeName node-when:spec.taint=out node-unless:status.ready=yes',
)

/** What names a Node that is out of service, as the fold knows it. */
async function besideNode(world: World, node: object): Promise<DeleteObject> {
  await world.rules(OUT)
  await world.enforceRule(OUT)
  await world.request('POST', NODES, { metadata: { name: 'n1' }, ...node })
  await world.request('POST', CONFIG_MAPS, {
    ...{ metadata: { name: 'pod' }, spec: { nodeName: 'n1' } },
  })
  const known = await world.read('n1', { kind: 'Node', resource: 'nodes', namespace: '' })
  const { evidence, rule } = deleteByRule({}, OUT)
  const claim = { ...NO_NODE, uid: known.uid, claim: 'beside' } as const
  const more = { evidence, rule, owners: [claim], freshness: 'recheck' } as const
  return world.deleteOf(await world.read('pod'), more)
}

const OUT_OF_SERVICE = { spec: { taint: 'out' } }

test('deletes what is beside a Node that is as the rule says, by a GET just before', async () => {
  const world = await World.open()
  await world.command(await besideNode(world, OUT_OF_SERVICE))
  const running = world.start()
  deepEqual(await outcomes(world, 1), ['done'])
  equal(world.exists('pod'), false)
  await running.stop()
})

const others: readonly (readonly [string, (world: World) => Promise<void>, RegExp])[] = [
  [
    'has lost its taint',
    (world) => world.request('PATCH', `${NODES}/n1`, { spec: { taint: null } }),
    /^blocked Node\/n1 is not as rule out says/,
  ],
  [
    'is ready again',
    (world) => world.request('PATCH', `${NODES}/n1/status`, { status: { ready: 'yes' } }),
    /^blocked Node\/n1 is not as rule out says/,
  ],
  [
    'is gone',
    (world) => world.request('DELETE', `${NODES}/n1`, {}),
    /^blocked Node\/n1 is not there/,
  ],
  [
    'is another one',
    async (world) => {
      await world.request('DELETE', `${NODES}/n1`, {})
      await world.request('POST', NODES, { metadata: { name: 'n1' }, ...OUT_OF_SERVICE })
    },
    /^blocked Node\/n1 is another one by now/,
  ],
]

for (const [what, change, reason] of others) {
  test(`deletes nothing beside a Node that ${what}`, async () => {
    const world = await World.open()
    const command = await besideNode(world, OUT_OF_SERVICE)
    await change(world)
    await world.command(command)
    const running = world.start()
    match((await outcomes(world, 1))[0] ?? '', reason)
    equal(world.exists('pod'), true)
    await running.stop()
  })
}

test('deletes nothing by a rule about another object that its command does not name', async () => {
  const world = await World.open()
  const command = await besideNode(world, OUT_OF_SERVICE)
  await world.command({ ...command, owners: [] })
  const running = world.start()
  match((await outcomes(world, 1))[0] ?? '', /^blocked the command of rule out does not say which/)
  equal(world.exists('pod'), true)
  await running.stop()
})
