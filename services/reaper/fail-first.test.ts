/**
 * Pods that a rule has Failed before they are deleted: by one patch of the version that was read,
 * never twice, and with nothing deleted that changed in between.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { DeleteObject, OwnerClaim } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { deleteByRule } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const STUCK = ruleIn('stuck pod 0 terminating grace:0 fail-first')
const LOST = ruleIn('lost pod 0 for:40 grace:0 fail-first no-node:spec.nodeName')
const PODS = '/api/v1/namespaces/default/pods'
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
const AT = '2026-01-01T00:00:00Z'
const READY = { type: 'Ready', status: 'False', lastTransitionTime: AT }

interface Sent {
  readonly method: string
  readonly path: string
  readonly body: { readonly status?: ApiObject['status'] }
}

type Step = (sent: Sent) => Promise<void>

/** What is sent about the pod; what a test does `before` or `after` is not. */
function spy(world: World, before: Step = nothing, after: Step = nothing): Sent[] {
  const sent: Sent[] = []
  let isOurs = false
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    const { method, path } = request
    if (isOurs || !path.includes('/pods/')) return await handle(request, signal)
    const one = { method, path, body: JSON.parse(request.body ?? '{}') }
    sent.push(one)
    isOurs = true
    await before(one)
    const answer = await handle(request, signal)
    await after(one)
    isOurs = false
    return answer
  }
  return sent
}

async function nothing(): Promise<void> {}

async function ready(rule: Rule, status: object): Promise<World> {
  const world = await World.open()
  await world.rules(rule)
  await world.enforceRule(rule)
  await world.request('POST', PODS, { metadata: { name: 'pod' }, spec: { nodeName: 'n1' } })
  await world.request('PATCH', `${PODS}/pod/status`, { status })
  if (rule === STUCK) await world.request('DELETE', `${PODS}/pod`, { gracePeriodSeconds: 30 })
  return world
}

async function podOf(world: World): Promise<ObjectMeta> {
  return await world.read('pod', { kind: 'Pod', resource: 'pods' })
}

async function commanded(world: World, rule: Rule): Promise<void> {
  const { evidence, rule: named } = deleteByRule({}, rule)
  const isLost = rule === LOST
  const owners = isLost ? [NO_NODE] : []
  const freshness = isLost ? 'recheck' : 'live'
  const more = { evidence, owners, freshness, rule: named, gracePeriodSeconds: 0 } as const
  const command: DeleteObject = world.deleteOf(await podOf(world), more)
  await world.command(command)
}

async function ended(world: World, count = 1): Promise<string> {
  const { outcome, reason, calls } = (await world.settled(count))[count - 1] as CommandSettled
  return `${outcome} ${reason}, ${calls} calls`
}

function pod(world: World): ApiObject | undefined {
  return world.server.object('', 'pods', 'default', 'pod')
}

test('sets a Pod that runs to Failed, and deletes it in the version that this gave', async () => {
  const world = await ready(STUCK, { phase: 'Running', conditions: [READY] })
  await commanded(world, STUCK)
  const phases: unknown[] = []
  const sent = spy(world, async ({ method }) => {
    if (method === 'DELETE') phases.push(pod(world)?.['status'])
  })
  const running = world.start()
  equal(await ended(world), 'done , 4 calls')
  deepEqual(
    sent.map(({ method, path }) => `${method} ${path.replace(/\?.*/, '')}`),
    [`GET ${PODS}/pod`, `PATCH ${PODS}/pod/status`, `DELETE ${PODS}/pod`],
  )
  deepEqual(phases, [{ phase: 'Failed', conditions: [READY] }])
  equal(pod(world), undefined)
  await running.stop()
})

test('says of a Pod whose Node is gone that it was disrupted, as upstream does', async () => {
  const world = await ready(LOST, { phase: 'Running', conditions: [READY] })
  await commanded(world, LOST)
  const sent = spy(world)
  const running = world.start()
  match(await ended(world), /^done/)
  const patch = sent.find(({ method }) => method === 'PATCH')
  const { conditions } = (patch?.body.status ?? {}) as { conditions?: readonly object[] }
  const [first, second, ...rest] = conditions ?? []
  deepEqual([first, rest], [READY, []])
  const { lastTransitionTime, ...disruption } = second as { readonly lastTransitionTime: string }
  deepEqual(disruption, {
    ...{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByPodGC' },
    message: 'kinfold: node no longer exists',
  })
  match(lastTransitionTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
  await running.stop()
})

for (const phase of ['Succeeded', 'Failed']) {
  test(`patches no Pod that has ${phase}`, async () => {
    const world = await ready(LOST, { phase })
    await commanded(world, LOST)
    const sent = spy(world)
    const running = world.start()
    match(await ended(world), /^done/)
    deepEqual(
      sent.map(({ method }) => method),
      ['GET', 'DELETE'],
    )
    await running.stop()
  })
}

test('goes on after a crash between both calls, and patches no second time', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  await commanded(world, STUCK)
  const sent = spy(world, nothing, async ({ method }) => {
    if (method === 'PATCH') world.kill()
  })
  world.start()
  await world.until(() => sent.some(({ method }) => method === 'PATCH'))
  deepEqual(pod(world)?.['status'], { phase: 'Failed' })
  await commanded(world, STUCK)
  const running = world.start()
  await world.until(() => pod(world) === undefined)
  equal(sent.filter(({ method }) => method === 'PATCH').length, 1)
  await running.stop()
})

test('deletes nothing that was written since it was read', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  await commanded(world, STUCK)
  spy(world, async ({ method }) => {
    if (method !== 'PATCH') return
    await world.request('PATCH', `${PODS}/pod`, { metadata: { labels: { other: 'yes' } } })
  })
  const running = world.start()
  match(await ended(world), /^stale changed since it was judged/)
  deepEqual(pod(world)?.['status'], { phase: 'Running' })
  await running.stop()
})

test('deletes nothing that was written since it was set to Failed', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  await commanded(world, STUCK)
  spy(world, async ({ method }) => {
    if (method !== 'DELETE') return
    await world.request('PATCH', `${PODS}/pod`, { metadata: { labels: { other: 'yes' } } })
  })
  const running = world.start()
  match(await ended(world), /^stale changed since it was judged/)
  deepEqual(pod(world)?.['status'], { phase: 'Failed' })
  await running.stop()
})

test('deletes nothing where it may not be set to Failed, and says so', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  await commanded(world, STUCK)
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    if (request.method !== 'PATCH') return await handle(request, signal)
    const status = { kind: 'Status', apiVersion: 'v1', reason: 'Forbidden', message: 'pods/status' }
    const headers = { 'content-type': 'application/json' }
    return { status: 403, headers, body: bytes(JSON.stringify(status)) }
  }
  const running = world.start()
  match(await ended(world), /^blocked 403 Forbidden: pods\/status/)
  equal(pod(world) === undefined, false)
  await running.stop()
})

test('does nothing in a dry run but try both calls', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  const before = pod(world)
  await commanded(world, STUCK)
  const sent = spy(world)
  const running = world.start({ mode: 'dry-run' })
  match(await ended(world), /^blocked it would be carried out/)
  deepEqual(
    sent.map(({ method }) => method),
    ['GET', 'PATCH', 'DELETE'],
  )
  deepEqual(pod(world), before)
  await running.stop()
})

test('deletes nothing after a pause that was pressed while it was set to Failed', async () => {
  const world = await ready(STUCK, { phase: 'Running' })
  await commanded(world, STUCK)
  const sent = spy(world, async ({ method }) => {
    if (method !== 'PATCH') return
    await world.control('pause', { verb: 'pause' })
    await world.clock.advance(1_000)
  })
  const running = world.start()
  match(await ended(world), /^blocked/)
  equal(
    sent.some(({ method }) => method === 'DELETE'),
    false,
  )
  await running.stop()
})

async function* bytes(text: string): AsyncGenerator<Uint8Array> {
  yield new TextEncoder().encode(text)
}
