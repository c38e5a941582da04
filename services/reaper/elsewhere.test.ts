/**
 * Commands of rules about owners in other clusters: a live GET there comes before the call, and
 * only a 404, or another uid, lets it be made.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import type { OwnerClaim } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { GroupKind } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Random } from '../../ports/random.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { deleteByRule } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const WIDGETS = '/apis/example.com/v1/namespaces/team/widgets'
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const DEFINITION = {
  metadata: { name: 'widgets.example.com' },
  spec: {
    ...{ group: 'example.com', scope: 'Namespaced', names: { plural: 'widgets', kind: 'Widget' } },
    versions: [{ name: 'v1', served: true, storage: true }],
  },
}
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const NAMESPACE = '/api/v1/namespaces/team'
const OWNERS = `${NAMESPACE}/secrets`

/** Of owners. */
interface OwnerKind {
  readonly group: string
  readonly kind: string
  readonly resource: string
  readonly path: string
}

const SECRET: OwnerKind = {
  ...{ group: '', kind: 'Secret', resource: 'secrets' },
  path: OWNERS,
}
const WIDGET: OwnerKind = {
  ...{ group: 'example.com', kind: 'Widget', resource: 'widgets' },
  path: WIDGETS,
}
const ROLE: OwnerKind = {
  ...{ group: 'rbac.authorization.k8s.io', kind: 'Role', resource: 'roles' },
  path: '/apis/rbac.authorization.k8s.io/v1/namespaces/team/roles',
}

interface Two {
  readonly world: World
  readonly north: ApiServer
  readonly id: string
  /** Of the owner. */
  readonly uid: string
}

/** An object, its owner in another cluster, and the command of a rule that holds it to be gone. */
async function opened(isConnected = true, owned: OwnerKind = SECRET): Promise<Two> {
  const { group, kind, resource } = owned
  const world = await World.open()
  const north = new ApiServer({ clock: world.clock, random: counting(0.3), name: 'north' })
  const id = north.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
  if (isConnected) world.others.set(id, north)
  await world.control('cluster', { verb: 'epoch', number: 1 }, id)
  await asked(north, 'POST', '/api/v1/namespaces', { metadata: { name: 'team' } })
  if (owned === WIDGET) await asked(north, 'POST', DEFINITIONS, DEFINITION)
  const type = owned === WIDGET ? { apiVersion: 'example.com/v1', kind } : {}
  await asked(north, 'POST', owned.path, { ...type, metadata: { name: 'owner' } })
  const owner = north.object(group, resource, 'team', 'owner')
  const uid = owner?.metadata.uid ?? ''
  const secrets = `import:secret/team export:secret/team/${world.id}`
  const rule = aboutKind(ruleIn(`far cm 0 for:3600 elsewhere:${id} ${secrets}`), { group, kind })
  await world.rules(rule)
  await world.enforceRule(rule)
  const annotations = { 'kinfold.io/owner': `${id}/${group}/${kind}/team/owner/${uid}` }
  await world.request('POST', CONFIG_MAPS, { metadata: { name: 'a', annotations } })
  const claim: OwnerClaim = {
    ...{ group, kind, namespace: 'team', name: 'owner', uid },
    ...{ version: 'v1', resource, claim: 'gone-elsewhere', cluster: id },
    clusterEpoch: 1,
    createdAt: Date.parse(owner?.metadata.creationTimestamp ?? ''),
  }
  const { evidence, rule: named } = deleteByRule({}, rule)
  const more = { evidence, rule: named, owners: [claim], freshness: 'recheck' } as const
  await world.command(world.deleteOf(await world.read('a'), more))
  return { world, north, id, uid }
}

/** The rule, of owners of this kind. */
function aboutKind(rule: Rule, kind: GroupKind): Rule {
  const { elsewhere } = rule
  if (elsewhere === null) return rule
  const exports = elsewhere.exports.map((each) => ({ ...each, kinds: [kind] }))
  return { ...rule, elsewhere: { ...elsewhere, kinds: [kind], exports } }
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

test('deletes nothing whose owner left with its namespace, which is not there', async () => {
  const { world, north } = await opened()
  await asked(north, 'DELETE', NAMESPACE)
  match(await outcomeIn(world), /^blocked cluster .*: Namespace team of the owner is not there$/)
  equal(world.exists('a'), true)
})

test('deletes what had an owner of a kind whose definition is there, or that needs none', async () => {
  for (const owned of [WIDGET, ROLE]) {
    const { world, north } = await opened(true, owned)
    await asked(north, 'DELETE', `${owned.path}/owner`)
    equal(await outcomeIn(world), 'done', owned.kind)
  }
})

const definitions: readonly (readonly [string, (north: ApiServer) => Promise<void>, RegExp])[] = [
  [
    'left with the definition of its kind',
    async (north) => await asked(north, 'DELETE', `${DEFINITIONS}/widgets.example.com`),
    /^blocked .*CustomResourceDefinition widgets.example.com of the owner is not there$/,
  ],
  [
    'was deleted before that definition was, which is made again',
    async (north) => {
      await asked(north, 'DELETE', `${WIDGETS}/owner`)
      await asked(north, 'DELETE', `${DEFINITIONS}/widgets.example.com`)
      await asked(north, 'POST', DEFINITIONS, DEFINITION)
    },
    /^blocked .*CustomResourceDefinition widgets.example.com of the owner was made after the owner/,
  ],
  [
    'left with a definition that is still being deleted',
    async (north) => {
      const metadata = { name: 'stays', finalizers: ['example.com/slow'] }
      const widget = { apiVersion: 'example.com/v1', kind: 'Widget', metadata }
      await asked(north, 'POST', WIDGETS, widget)
      await asked(north, 'DELETE', `${DEFINITIONS}/widgets.example.com`)
    },
    /^blocked .*CustomResourceDefinition widgets.example.com of the owner is being deleted$/,
  ],
]

for (const [what, happens, outcome] of definitions) {
  test(`deletes nothing whose owner ${what}`, async () => {
    const { world, north } = await opened(true, WIDGET)
    await world.clock.advance(60_000)
    await happens(north)
    match(await outcomeIn(world), outcome)
    equal(world.exists('a'), true)
  })
}
