/**
 * Commands of rules about owners in other clusters: a live GET there comes before the call, and
 * only a 404, or another uid, lets it be made.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import type { OwnerClaim } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { Random } from '../../ports/random.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { deleteByRule } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const NAMESPACE = '/api/v1/namespaces/team'
const OWNERS = `${NAMESPACE}/secrets`

interface Two {
  readonly world: World
  readonly north: ApiServer
  readonly id: string
  /** Of the owner. */
  readonly uid: string
}

/** An object, its owner in another cluster, and the command of a rule that holds it to be gone. */
async function opened(isConnected = true): Promise<Two> {
  const world = await World.open()
  const north = new ApiServer({ clock: world.clock, random: counting(0.3), name: 'north' })
  const id = north.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
  if (isConnected) world.others.set(id, north)
  await world.control('cluster', { verb: 'epoch', number: 1 }, id)
  await asked(north, 'POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
  await asked(north, 'POST', OWNERS, { metadata: { name: 'owner' } })
  const owner = north.object('', 'secrets', 'team', 'owner')
  const uid = owner?.metadata.uid ?? ''
  const rule = ruleIn(
    `far cm 0 for:3600 elsewhere:${id} import:secret/team export:secret/team/${world.id}`,
  )
  await world.rules(rule)
  await world.enforceRule(rule)
  const annotations = { 'kinfold.io/owner': `${id}//Secret/team/owner/${uid}` }
  await world.request('POST', CONFIG_MAPS, { metadata: { name: 'a', annotations } })
  const claim: OwnerClaim = {
    ...{ group: '', kind: 'Secret', namespace: 'team', name: 'owner', uid },
    ...{ version: 'v1', resource: 'secrets', claim: 'gone-elsewhere', cluster: id },
    clusterEpoch: 1,
    createdAt: Date.parse(owner?.metadata.creationTimestamp ?? ''),
  }
  const { evidence, rule: named } = deleteByRule({}, rule)
  const more = { evidence, rule: named, owners: [claim], freshness: 'recheck' } as const
  await world.command(world.deleteOf(await world.read('a'), more))
  return { world, north, id, uid }
}

/** Another uid for each object, and other ones in each cluster. */
function counting(from: number): Random {
  let last = from
  return {
    next: () => {
      last = (last + 0.137) % 1
      return last
    },
  }
}

async function asked(
  server: ApiServer,
  method: string,
  path: string,
  body: object = {},
): Promise<void> {
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const request = { method, path, headers, body: JSON.stringify(body) }
  const { status } = await server.handle(request, new AbortController().signal)
  if (status >= 300) throw new Error(`${method} ${path} was answered ${status}`)
}

/** Of the command: what became of it, and why. */
async function outcomeIn(world: World): Promise<string> {
  const running = world.start()
  const found = async (): Promise<CommandSettled | undefined> =>
    (await world.results()).find((each) => each.type === 'CommandSettled')
  await world.until(async () => (await found()) !== undefined)
  await running.stop()
  const settled = await found()
  return `${settled?.outcome} ${settled?.reason}`.trim()
}

test('deletes what the other cluster says has no owner there', async () => {
  const { world, north } = await opened()
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  equal(await outcomeIn(world), 'done')
  equal(world.exists('a'), false)
})

test('deletes where another object has the name of the owner', async () => {
  const { world, north } = await opened()
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  await asked(north, 'POST', OWNERS, { metadata: { name: 'owner' } })
  equal(await outcomeIn(world), 'done')
})

test('deletes nothing whose owner is there', async () => {
  const { world } = await opened()
  equal(await outcomeIn(world), 'blocked owner Secret/owner is there')
  equal(world.exists('a'), true)
})

test('deletes nothing where the other cluster has no answer', async () => {
  const { world, north } = await opened()
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  const handle = north.handle.bind(north)
  north.handle = async (request, signal) => {
    if (!request.path.startsWith(OWNERS)) return await handle(request, signal)
    return await handle({ ...request, path: `${OWNERS}/%` }, signal)
  }
  match(await outcomeIn(world), /^blocked owner Secret\/owner could not be looked up/)
  equal(world.exists('a'), true)
})

test('deletes nothing where this reaper has no connection to the other cluster', async () => {
  const { world, id } = await opened(false)
  const what = `blocked this reaper has no connection to cluster ${id}, where the owner was`
  equal(await outcomeIn(world), what)
})

test('deletes nothing where another cluster answers in the place of the owner’s', async () => {
  const { world, north, id } = await opened()
  const other = new ApiServer({ clock: world.clock, random: counting(0.9), name: 'other' })
  world.others.set(id, other)
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  match(await outcomeIn(world), /^blocked cluster .*, where the owner was: /)
  equal(world.exists('a'), true)
})

test('deletes nothing once that cluster was restored', async () => {
  const { world, north, id } = await opened()
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  await world.control('cluster', { verb: 'epoch', number: 2 }, id)
  equal(await outcomeIn(world), `blocked the epoch of cluster ${id} is 2, the command's 1`)
  deepEqual(world.exists('a'), true)
})

test('deletes nothing whose owner left with its namespace, be that made again', async () => {
  const { world, north } = await opened()
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  await asked(north, 'DELETE', NAMESPACE)
  await world.clock.advance(60_000)
  await asked(north, 'POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
  match(await outcomeIn(world), /^blocked cluster \S+, where the owner was: Namespace team /)
  equal(world.exists('a'), true)
})

test('deletes nothing while the namespace of its owner is being deleted', async () => {
  const { world, north } = await opened()
  const body = { metadata: { name: 'stays', finalizers: ['example.com/slow'] } }
  await asked(north, 'POST', `${NAMESPACE}/configmaps`, body)
  await asked(north, 'DELETE', `${OWNERS}/owner`)
  await asked(north, 'DELETE', NAMESPACE)
  const what = /^blocked cluster \S+, where the owner was: Namespace team of the owner is being/
  match(await outcomeIn(world), what)
  equal(world.exists('a'), true)
})
