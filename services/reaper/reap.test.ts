/**
 * The life of one command, each verb end to end: over the Kubernetes adapter, on an API server in
 * memory.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { Command, DeleteObject, OwnerClaim } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import { verifyOwner, warnObject } from '../../testing/rig/reaper.ts'
import { configMap, GONE, GONE_CLAIM, type Running, World } from '../../testing/rig/reaper-world.ts'
import { answered } from '../../testing/rig/watcher-rig.ts'
import type { ReaperConfig } from './config.ts'
import { DEFAULT_REAPER_CONFIG } from './config.ts'
import type { Result } from './decide/result.ts'

/**
 * Carries the commands out and returns their results, and the requests it took besides the proof of
 * identity.
 */
async function reapAll(
  world: World,
  commands: readonly Command[],
  config: Partial<ReaperConfig> = {},
): Promise<{ results: readonly Result[]; calls: Readonly<Record<string, number>> }> {
  world.calls()
  const running = await begun(world, config)
  await world.command(...commands)
  const results = await world.settled(commands.length)
  await running.stop()
  return { results, calls: world.calls() }
}

/** It reads records that are appended from now on as new ones. */
async function begun(world: World, config: Partial<ReaperConfig> = {}): Promise<Running> {
  const running = world.start(config)
  await world.clock.advance(10)
  return running
}

function show(result: Result | undefined): string {
  if (result === undefined) return 'nothing'
  if (result.type === 'OwnerFound') return `found ${result.uid}`
  if (result.type === 'OwnerAbsent') return `absent ${result.how} ${result.otherUid}`
  const object = result.object === null ? '' : ' +object'
  const reason = result.reason === '' ? '' : ` ${result.reason}`
  return `${result.outcome} ${result.code}${reason}${object}`
}

test('deletes a dependent with one call', async () => {
  const world = await World.open(2)
  const pod = await world.dependent('pod')
  const running = await begun(world)
  world.calls()
  await world.command(world.deleteOf(pod, { partition: 1 }))
  const [result] = await world.settled(1, 1)
  await running.stop()

  equal(show(result), 'done 200')
  equal(world.exists('pod'), false)
  deepEqual(world.calls(), { DELETE: 1 })
  const { calls, uid, verb } = result as CommandSettled
  deepEqual([calls, uid, verb], [2, pod.uid, 'DeleteObject'], 'the identity was this one to ask')
  deepEqual(
    (await world.entries(1)).map(({ key }) => key),
    [`${world.id}/default`],
  )
})

test('asks for a dry run while the lock is wanting, settles as blocked, and acts once it is there', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  let wanting: string | undefined = 'the lock is required, and it is gone'
  let isAwaited = true
  const running = world.start({}, undefined, {
    lacking: () => wanting,
    isAwaited: () => isAwaited,
    status: () => [],
    run: async () => undefined,
  })
  await world.command(world.deleteOf(pod))
  world.calls()
  await world.clock.advance(20_000)
  deepEqual([await world.results(), world.calls()], [[], {}], 'it waits for the first try')
  isAwaited = false
  const [held] = await world.settled(1)
  equal(show(held), 'blocked 200 it would be carried out, but the lock is required, and it is gone')
  deepEqual([world.exists('pod'), world.calls()], [true, { DELETE: 1 }])
  wanting = undefined
  await world.command(world.deleteOf(pod))
  const [, done] = await world.settled(2)
  await running.stop()
  deepEqual([show(done), world.exists('pod')], ['done 200', false])
})

test('settles a delete that waits for finalizers as done, with the object', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod', ['example.com/keep'])
  const { results } = await reapAll(world, [world.deleteOf(pod)])
  equal(show(results[0]), 'done 200 +object')
  equal(typeof (results[0] as CommandSettled).object?.deletedAt, 'number')
})

test('takes the policy of the command', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  await reapAll(world, [world.deleteOf(pod, { propagationPolicy: 'Foreground' })])
  deepEqual((await world.read('pod')).finalizers, ['foregroundDeletion'])
})

test('drops the references named and no other', async () => {
  const world = await World.open()
  const solid = await world.create('solid')
  const owner = { apiVersion: 'v1', kind: 'ConfigMap', name: 'solid', uid: solid.uid }
  const other = { ...GONE, uid: 'u-2', name: 'gone-2', controller: false, blockOwnerDeletion: true }
  const pod = await world.create('pod', { owners: [GONE, owner, other] })
  const { results, calls } = await reapAll(world, [world.orphanOf(pod, [2, 0])])
  equal(show(results[0]), 'done 200 +object')
  deepEqual(
    (await world.read('pod')).ownerReferences.map(({ name }) => name),
    ['solid'],
  )
  equal(calls['PATCH'], 1)
})

test('removes one finalizer', async () => {
  const world = await World.open()
  const owner = await world.create('owner', { finalizers: ['example.com/keep', 'orphan'] })
  const { results } = await reapAll(world, [world.releaseOf(owner, 'orphan')])
  equal(show(results[0]), 'done 200 +object')
  deepEqual((await world.read('owner')).finalizers, ['example.com/keep'])
})

test('verifies owners: there, gone, and another one in the place', async () => {
  const world = await World.open()
  const { uid } = await world.create('here')
  const about = { cluster: world.id }
  const { results } = await reapAll(world, [
    verifyOwner({ ...about, id: '0-1-0', target: configMap('here', uid) }),
    verifyOwner({ ...about, id: '0-2-0', target: configMap('gone', 'u-gone') }),
    verifyOwner({ ...about, id: '0-3-0', target: configMap('here', 'u-before') }),
  ])
  deepEqual(results.map(show), [`found ${uid}`, 'absent NotFound null', `absent OtherUid ${uid}`])
})

test('does not take an address that is not served for an absent owner', async () => {
  const world = await World.open()
  const target = { ...configMap('gone'), resource: 'configmap' }
  const { results } = await reapAll(world, [verifyOwner({ cluster: world.id, target })])
  equal((results[0] as CommandSettled).outcome, 'blocked')
})

test('warns once, however often it is asked', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const target = configMap('pod', pod.uid)
  const warn = (id: string) => warnObject({ cluster: world.id, id, target })
  const { results } = await reapAll(world, [warn('0-1-0')])
  const again = world.start()
  await world.command(warn('0-2-0'))
  await world.settled(2)
  await again.stop()
  equal((results[0] as CommandSettled).outcome, 'done')
  equal((results[0] as CommandSettled).object, null)
  deepEqual([...world.server.objects('', 'events')].length, 1)
})

test('changes nothing in a dry run', async () => {
  // If an effect was requested and only this reaper may not carry it out, it is to be requested
  // again.
  for (const [own, here, told] of [
    ['dry-run', 'enforce', 'would-go 200'],
    [
      'enforce',
      'dry-run',
      'blocked 200 it would be carried out, but this reaper makes dry runs only (--mode)',
    ],
  ] as const) {
    const world = await World.open()
    const pod = await world.dependent('pod', ['orphan'])
    let effects = 0
    world.server.observe(() => effects++)
    const commands = [
      world.deleteOf(pod, { propagationPolicy: 'Orphan' }),
      world.orphanOf(await world.dependent('pod-2'), [0]),
      world.releaseOf(await world.dependent('pod-3', ['orphan']), 'orphan'),
      warnObject({ cluster: world.id, target: configMap('pod-4') }),
    ]
    effects = 0
    const { results } = await reapAll(
      world,
      commands.map((one) => ({ ...one, mode: own })),
      {
        mode: here,
      },
    )
    deepEqual(results.map(show).sort(), Array(4).fill(told))
    equal(effects, 0)
  }
})

// An action of another client after the verdict, the result of the DELETE, and how many calls that
// took.
const conflicts: readonly (readonly [string, (world: World) => Promise<void>, string, number])[] = [
  ['nothing', async () => {}, 'done 200', 1],
  ['a label', (world) => world.patch('pod', { labels: { a: 'b' } }), 'done 200', 3],
  [
    'a new owner',
    (world) => world.patch('pod', { ownerReferences: [GONE, { ...GONE, uid: 'u-2' }] }),
    'stale 200 changed since it was judged +object',
    2,
  ],
  [
    'a finalizer',
    (world) => world.patch('pod', { finalizers: ['example.com/keep'] }),
    'stale 200 changed since it was judged +object',
    2,
  ],
  ['a delete', (world) => world.delete('pod'), 'absent 404 not found', 1],
  [
    'a delete that waits',
    async (world) => {
      await world.delete('pod', { propagationPolicy: 'Foreground' })
    },
    'absent 200 already being deleted +object',
    2,
  ],
  [
    'another in its place',
    async (world) => {
      await world.delete('pod')
      await world.dependent('pod')
    },
    'absent 200 another object is there',
    2,
  ],
]

for (const [what, meanwhile, expected, calls] of conflicts) {
  test(`deletes what it was judged for, after ${what}`, async () => {
    const world = await World.open()
    const pod = await world.dependent('pod')
    await meanwhile(world)
    const { results } = await reapAll(world, [world.deleteOf(pod)])
    equal(show(results[0]), expected)
    equal((results[0] as CommandSettled).calls - 1, calls)
  })
}

test('gives an object up that is written again and again', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  let writes = 0
  world.server.inject(async (request) => {
    if (request.method === 'DELETE') await world.patch('pod', { labels: { n: String(writes++) } })
    return undefined
  })
  const { results, calls } = await reapAll(world, [world.deleteOf(pod)])
  equal(show(results[0]), 'stale 200 keeps being written +object')
  equal(calls['DELETE'], DEFAULT_REAPER_CONFIG.conflicts + 1)
})

// An action of another client after the verdict, and the result of dropping the second of two
// references.
const moved: readonly (readonly [string, (world: World) => Promise<void>, string])[] = [
  ['a label', (world) => world.patch('pod', { labels: { a: 'b' } }), 'done 200 +object'],
  [
    'the drop itself',
    (world) => world.patch('pod', { ownerReferences: [{ ...GONE, uid: 'u-1' }] }),
    'done 200 already so +object',
  ],
  [
    'a change of the other',
    (world) =>
      world.patch('pod', { ownerReferences: [{ ...GONE, uid: 'u-1', controller: true }, GONE] }),
    'done 200 +object',
  ],
  [
    'a change of their order',
    (world) => world.patch('pod', { ownerReferences: [GONE, { ...GONE, uid: 'u-1' }] }),
    'stale 200 changed since it was judged +object',
  ],
  ['a delete', (world) => world.delete('pod'), 'absent 404 not found'],
]

for (const [what, meanwhile, expected] of moved) {
  test(`drops the reference it was judged by, after ${what}`, async () => {
    const world = await World.open()
    const pod = await world.create('pod', { owners: [{ ...GONE, uid: 'u-1' }, GONE] })
    await meanwhile(world)
    const { results } = await reapAll(world, [world.orphanOf(pod, [1])])
    equal(show(results[0]), expected)
  })
}

test('proves an absent owner once for all that name it', async () => {
  const world = await World.open()
  const commands: Command[] = []
  for (let i = 0; i < 100; i++) {
    const pod = await world.dependent(`pod-${i}`)
    commands.push(
      world.deleteOf(pod, { evidence: 'missing', freshness: 'recheck', owners: [GONE_CLAIM] }),
    )
  }
  const { results, calls } = await reapAll(world, commands)
  deepEqual(new Set(results.map(show)), new Set(['done 200']))
  deepEqual(calls, { GET: 1, DELETE: 100 })
})

test('blocks when an owner that was never seen turns out to be there', async () => {
  const world = await World.open()
  const owner = await world.create('gone')
  const pod = await world.dependent('pod')
  const claim: OwnerClaim = { ...GONE_CLAIM, uid: owner.uid }
  const running = await begun(world)
  await world.command(
    world.deleteOf(pod, { evidence: 'not-found', freshness: 'recheck', owners: [claim] }),
  )
  const results = await world.settled(2)
  await running.stop()
  // It is published for the graph, too: otherwise the graph would hold the owner to be deleted, and
  // ask again and again.
  const told = [`found ${owner.uid}`, 'blocked null owner ConfigMap/gone exists']
  deepEqual(results.map(show), told)
  equal(world.exists('pod'), true)
})

test('tells the partition that asked of an owner that is there, once in five minutes for all that name it', async () => {
  const partition = 1
  const world = await World.open(3)
  const claim: OwnerClaim = {
    ...GONE_CLAIM,
    ...{ kind: 'Namespace', resource: 'namespaces', namespace: '', name: 'kube-system' },
    uid: world.id,
  }
  const running = await begun(world)
  let pods = 0
  const toldAfter = async (told: number): Promise<readonly string[]> => {
    const made = await Promise.all([1, 2].map((each) => world.dependent(`pod-${pods + each}`)))
    const more = {
      evidence: 'not-found',
      freshness: 'recheck',
      owners: [claim],
      partition,
    } as const
    await world.command(...made.map((pod) => world.deleteOf(pod, more)))
    pods += made.length
    return (await world.settled(told, partition)).map(show)
  }
  const foundIn = (told: readonly string[]): readonly string[] =>
    told.filter((result) => !result.startsWith('blocked'))
  const found = `found ${world.id}`
  deepEqual(foundIn(await toldAfter(3)), [found])
  await world.clock.advance(60_000)
  deepEqual(foundIn(await toldAfter(5)), [found])
  await world.clock.advance(5 * 60_000)
  deepEqual(foundIn(await toldAfter(8)), [found, found])
  await running.stop()
})

test('keeps what a person approved for as long as its owner cannot be looked at, and says what that may be for', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  // As after the deletion of its CustomResourceDefinition: no server answers for such a kind.
  const claim: OwnerClaim = { ...GONE_CLAIM, group: 'example.com', resource: 'widgets' }
  const approved = {
    evidence: 'bulk',
    freshness: 'recheck',
    approvedBy: 'anna',
    owners: [claim],
  } as const
  const { results } = await reapAll(world, [world.deleteOf(pod, approved)])
  match(
    show(results[0]),
    /^blocked null owner ConfigMap\/gone could not be looked up: 404 without a Status, as for a kind that is not served$/,
  )
  equal(world.exists('pod'), true)
})

/** A dependent of an owner that no longer waits: it orphans by now. */
async function turned(): Promise<{ world: World; of: (decidedAt: number) => Command }> {
  const world = await World.open()
  const owner = await world.create('gone', { finalizers: ['example.com/keep'] })
  await world.delete('gone', { propagationPolicy: 'Orphan' })
  const pod = await world.dependent('pod')
  const claim: OwnerClaim = { ...GONE_CLAIM, uid: owner.uid, claim: 'waiting' }
  const rest = { evidence: 'waiting', owners: [claim] } as const
  return { world, of: (decidedAt) => world.deleteOf(pod, { ...rest, decidedAt }) }
}

test('looks at a waiting owner again when the command is old', async () => {
  const { world, of } = await turned()
  await world.command(of(world.clock.now()))
  await world.clock.advance(2_001)
  const running = world.start()
  const [result] = await world.settled(1)
  await running.stop()
  equal(show(result), 'blocked null owner ConfigMap/gone does not wait for its dependents')
})

test('looks at a waiting owner again when a young command was decided by old news', async () => {
  const { world, of } = await turned()
  const running = world.start()
  const decidedAt = world.clock.now()
  await world.clock.advance(2_001)
  await world.command(of(decidedAt))
  const [result] = await world.settled(1)
  await running.stop()
  equal(show(result), 'blocked null owner ConfigMap/gone does not wait for its dependents')
})

test('looks at an owner that was seen to go when it was decided before this reaper ran', async () => {
  const world = await World.open()
  const owner = await world.create('gone')
  const pod = await world.dependent('pod')
  const claim: OwnerClaim = { ...GONE_CLAIM, uid: owner.uid, claim: 'absent' }
  const decidedAt = world.clock.now()
  await world.clock.advance(10)
  const running = world.start()
  await world.clock.advance(10)
  await world.command(world.deleteOf(pod, { evidence: 'deleted', owners: [claim], decidedAt }))
  const [, result] = await world.settled(2)
  await running.stop()
  equal(show(result), 'blocked null owner ConfigMap/gone exists')
})

/** A server that answers the first GETs of owner `name` with its state when they came, but late. */
function sleepOn(world: World, name: string, ms: number, times: number): void {
  let count = 0
  world.server.inject(({ method, path }, proceed) => {
    if (method !== 'GET' || !path.endsWith(`/configmaps/${name}`) || count++ >= times)
      return undefined
    return (async () => {
      const { body, ...head } = await proceed()
      const pieces = await Array.fromAsync(body)
      await world.clock.sleep(ms)
      return {
        ...head,
        body: (async function* () {
          yield* pieces
        })(),
      }
    })()
  })
}

test('looks at a waiting owner again when the answer to the first look came late', async () => {
  const world = await World.open()
  const { of } = await underWaiting(world)
  const running = await begun(world)
  const decidedAt = world.clock.now()
  await world.clock.advance(2_001)
  sleepOn(world, 'owner', 3_000, 1)
  await world.command(of({ decidedAt }))
  await world.clock.advance(1_000)
  // Its user changes his mind while the server sleeps on the answer.
  await world.delete('owner', { propagationPolicy: 'Orphan' })
  const [result] = await world.settled(1)
  await running.stop()
  equal(show(result), 'blocked null owner ConfigMap/owner does not wait for its dependents')
  equal(world.exists('pod'), true)
})

for (const [ms, times, outcome, gets] of [
  [5_000, 1, 'done 200', 1],
  [5_001, 1, 'done 200', 2],
  [
    5_001,
    4,
    'blocked null the cluster answers too late: what it reports of the owners is outdated',
    4,
  ],
] as const) {
  test(`looks ${gets} times at an owner that is gone when ${times} answers take ${ms} ms`, async () => {
    const world = await World.open()
    const pod = await world.dependent('pod')
    const running = await begun(world)
    sleepOn(world, 'gone', ms, times)
    world.calls()
    await world.command(
      world.deleteOf(pod, { evidence: 'missing', freshness: 'recheck', owners: [GONE_CLAIM] }),
    )
    const [result] = await world.settled(1)
    await running.stop()
    equal(show(result), outcome)
    equal(world.calls()['GET'], gets)
  })
}

test('looks before it deletes behind an aggregated server', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const command = world.deleteOf(pod)
  const target = { ...command.target, aggregated: true }
  const { results, calls } = await reapAll(world, [{ ...command, target }])
  equal(show(results[0]), 'done 200')
  deepEqual(calls, { GET: 1, DELETE: 1 })
})

/** The owner of `pod` is deleted in the foreground; the request for `pod` then. */
async function underWaiting(
  world: World,
): Promise<{ owner: string; of: (more?: object) => DeleteObject }> {
  const { uid } = await world.create('owner')
  const reference = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }
  const pod = await world.create('pod', { owners: [reference] })
  await world.delete('owner', { propagationPolicy: 'Foreground' })
  const owners: readonly OwnerClaim[] = [{ ...GONE_CLAIM, name: 'owner', uid, claim: 'waiting' }]
  return {
    owner: uid,
    of: (more = {}) => world.deleteOf(pod, { evidence: 'waiting', owners, ...more }),
  }
}

for (const what of ['behind an aggregated server', 'that a label may protect'] as const) {
  test(`looks at the owners once more after it read an object ${what}`, async () => {
    const world = await World.open()
    const { of } = await underWaiting(world)
    const command = of({ decidedAt: world.clock.now() })
    const aggregated = what === 'behind an aggregated server'
    if (!aggregated) await world.protectByPolicy({ labels: ['tier=gold'] })
    let busy = 0
    world.server.inject(({ method, path }) => {
      const isRead = method === 'GET' && path.includes('/configmaps/pod')
      return isRead && busy++ < 2 ? answered(429, {}, { 'retry-after': '3' }) : undefined
    })
    const running = await begun(world)
    await world.command({ ...command, target: { ...command.target, aggregated } })
    await world.clock.advance(4_000)
    // Its user changes his mind while the server is busy.
    await world.delete('owner', { propagationPolicy: 'Orphan' })
    const [result] = await world.settled(1)
    await running.stop()
    equal(show(result), 'blocked null owner ConfigMap/owner does not wait for its dependents')
    equal(world.exists('pod'), true)
  })
}

for (const before of ['tier=silver', 'team=a']) {
  test(`spares what a label protects that people chose after it was read, while ${before} was protected`, async () => {
    const world = await World.open()
    await world.dependent('pod')
    await world.patch('pod', { labels: { tier: 'gold' } })
    const pod = await world.read('pod')
    await world.protectByPolicy({ labels: [before] })
    let looks = 0
    world.server.inject(async ({ method, path }) => {
      if (method !== 'GET' || !path.includes('/configmaps/gone') || ++looks !== 2) return undefined
      await world.protect('label/tier=gold')
      await world.clock.sleep(1_000)
      return undefined
    })
    const running = await begun(world, { ownerProofMs: 0 })
    await world.command(
      world.deleteOf(pod, { evidence: 'missing', freshness: 'recheck', owners: [GONE_CLAIM] }),
    )
    const [result] = await world.settled(1)
    await running.stop()
    match(show(result), /^stale .*label\/tier=gold/)
    equal(world.exists('pod'), true)
  })
}

test('takes no old command for a young one where its clock is behind that of the log', async () => {
  const world = await World.open()
  const { of } = await underWaiting(world)
  const running = world.start({}, undefined, undefined, -600_000)
  await world.clock.advance(10)
  // A record gives it the time of the log; then it reads nothing for a while.
  await world.command(world.deleteOf(await world.dependent('other')))
  await world.settled(1)
  const command = of({ decidedAt: world.clock.now() })
  await world.clock.advance(3_000)
  await world.delete('owner', { propagationPolicy: 'Orphan' })
  await world.command(command)
  const results = await world.settled(2)
  await running.stop()
  equal(show(results[1]), 'blocked null owner ConfigMap/owner does not wait for its dependents')
})

test('looks at the owners of what was there before it began to read, whatever its clock says', async () => {
  const world = await World.open()
  const { of } = await underWaiting(world)
  await world.command(of({ decidedAt: world.clock.now() }))
  await world.clock.advance(300_000)
  await world.delete('owner', { propagationPolicy: 'Orphan' })
  const running = world.start({}, undefined, undefined, -600_000)
  const [result] = await world.settled(1)
  await running.stop()
  equal(show(result), 'blocked null owner ConfigMap/owner does not wait for its dependents')
})
