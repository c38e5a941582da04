/**
 * Commands of rules that are policies of the cluster: carried out while the object there is as the
 * command has it, by the rights of the account that it names.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { DeleteObject, RulePolicy } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { policyContent } from '../../ports/rule/policy-content.ts'
import { deleteByRule } from '../../testing/rig/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'

const POLICIES = '/apis/kinfold.dev/v1alpha1/namespaces/default/cleanuppolicies'
const PATH = `${POLICIES}/old`
const SPEC = {
  serviceAccountName: 'cleaner',
  match: { kinds: ['ConfigMap'], labels: 'temporary' },
  after: 0,
}
const ACCOUNT = 'system:serviceaccount:default:cleaner'

let world: World
let uid: string
/** Of each DELETE of a ConfigMap, as which account. */
let deletedAs: (string | undefined)[]
let gets: number

beforeEach(async () => {
  world = await World.open()
  deletedAs = []
  gets = 0
  await world.request('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'cleanuppolicies.kinfold.dev' },
    spec: {
      group: 'kinfold.dev',
      scope: 'Namespaced',
      names: { plural: 'cleanuppolicies', singular: 'cleanuppolicy', kind: 'CleanupPolicy' },
      versions: [{ name: 'v1alpha1', served: true, storage: true }],
    },
  })
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    if (request.method === 'GET' && request.path.startsWith(PATH)) gets += 1
    if (request.method !== 'DELETE' || !request.path.includes('/configmaps/')) {
      return await handle(request, signal)
    }
    deletedAs.push(request.headers['impersonate-user'])
    return await handle(request, signal)
  }
  await policy(SPEC)
})

async function policy(spec: object, digest = digestOf(spec)): Promise<void> {
  const metadata = { name: 'old', annotations: { [ENFORCE_ANNOTATION]: digest } }
  const type = { apiVersion: 'kinfold.dev/v1alpha1', kind: 'CleanupPolicy' }
  await world.request('POST', POLICIES, { ...type, metadata, spec })
  const object = world.server.object('kinfold.dev', 'cleanuppolicies', 'default', 'old')
  uid = object!.metadata.uid!
}

function digestOf(spec: object): string {
  const body = { metadata: { namespace: 'default', name: 'old' }, spec }
  const { rule } = policyContent(body, () => ({ type: 'Refused', reason: 'none' }))
  return rule === null ? '' : ruleDigest(rule)
}

function byPolicy(
  object: ObjectMeta,
  more: Partial<RulePolicy> = {},
  spec: object = SPEC,
): DeleteObject {
  const { evidence, owners } = deleteByRule()
  const named = { kind: 'CleanupPolicy', version: 'v1alpha1', namespace: 'default', name: 'old' }
  const of: RulePolicy = { ...named, uid, account: ACCOUNT, ...more }
  const rule = { name: 'default/old', digest: digestOf(spec), policy: of }
  return world.deleteOf(object, { evidence, owners, rule })
}

async function outcomes(count: number): Promise<readonly string[]> {
  const results = (await world.settled(count)) as readonly CommandSettled[]
  return results.map(({ outcome, reason }) => `${outcome} ${reason}`.trim())
}

test('deletes by the account of a policy that is enforced; one GET of it for several', async () => {
  for (const name of ['a', 'b', 'c']) await world.command(byPolicy(await temporary(name)))
  const running = world.start()
  deepEqual(await outcomes(3), ['done', 'done', 'done'])
  deepEqual(deletedAs, [ACCOUNT, ACCOUNT, ACCOUNT])
  equal(gets, 1)
  await running.stop()
})

test('deletes nothing by a policy whose GET is answered late', async () => {
  await world.command(byPolicy(await temporary('a')))
  const handle = world.server.handle.bind(world.server)
  world.server.handle = async (request, signal) => {
    const answer = await handle(request, signal)
    const isPolicy = request.method === 'GET' && request.path.startsWith(PATH)
    if (isPolicy) await world.clock.advance(6_000)
    return answer
  }
  const running = world.start()
  match(
    (await outcomes(1))[0] ?? '',
    /^blocked .*old cannot be read: the cluster answers too late$/,
  )
  deepEqual(deletedAs, [])
  await running.stop()
})

const STOPS: readonly (readonly [string, () => Promise<void>, RegExp])[] = [
  ['is deleted', () => world.request('DELETE', PATH, {}), /old does not exist any more$/],
  [
    'was made again',
    async () => {
      await world.request('DELETE', PATH, {})
      await policyAgain()
    },
    /old is another object by now$/,
  ],
  ['was edited', () => edit({ spec: { after: '1h' } }), /old was changed since$/],
  [
    'names another account',
    () => edit({ spec: { serviceAccountName: 'other' } }),
    /old names another account by now$/,
  ],
  [
    'is enforced no more',
    () => edit({ metadata: { annotations: { [ENFORCE_ANNOTATION]: null } } }),
    /old is not enforced: its annotation kinfold\.dev\/enforce is not [0-9a-f]+$/,
  ],
  [
    'is refused',
    () => edit({ spec: { match: { namespaces: ['other'] } } }),
    /old is refused: spec\.match\.namespaces/,
  ],
  [
    'is being deleted',
    async () => {
      await edit({ metadata: { finalizers: ['example.com/x'] } })
      await world.request('DELETE', PATH, {})
    },
    /old is being deleted$/,
  ],
]

async function policyAgain(): Promise<void> {
  const known = uid
  await policy(SPEC)
  uid = known
}

async function edit(body: object): Promise<void> {
  await world.request('PATCH', PATH, body)
}

for (const [what, stop, reason] of STOPS) {
  test(`makes no call for a policy that ${what}`, async () => {
    const command = byPolicy(await temporary('a'))
    await stop()
    await world.command(command)
    const running = world.start()
    match((await outcomes(1))[0] ?? '', reason)
    deepEqual(deletedAs, [])
    await running.stop()
  })

  test(`makes no call for a policy that ${what}, soon after it was read`, async () => {
    await world.command(byPolicy(await temporary('a')))
    const running = world.start()
    deepEqual(await outcomes(1), ['done'])
    const command = byPolicy(await temporary('b'))
    await stop()
    await world.clock.advance(5_000)
    await world.command(command)
    match((await outcomes(2))[1] ?? '', reason)
    equal(deletedAs.length, 1)
    await running.stop()
  })
}

const FORGED: readonly (readonly [string, Partial<RulePolicy>, RegExp])[] = [
  ['of another namespace', { namespace: 'other' }, /^blocked the policy is of namespace other/],
  ['with no account', { account: '' }, /names no account of the namespace of its policy$/],
  [
    'with an account of another namespace',
    { account: 'system:serviceaccount:kube-system:admin' },
    /names no account of the namespace of its policy$/,
  ],
  [
    'of the whole cluster that is not there',
    { kind: 'ClusterCleanupPolicy', namespace: '' },
    /^bl/,
  ],
]

for (const [what, more, reason] of FORGED) {
  test(`makes no call by a policy ${what}`, async () => {
    await world.command(byPolicy(await temporary('a'), more))
    const running = world.start()
    match((await outcomes(1))[0] ?? '', reason)
    deepEqual(deletedAs, [])
    await running.stop()
  })
}

test('reads an object with what the policy reads before it deletes by it', async () => {
  // Then each object is read first.
  await world.protect('label/keep=yes')
  const [labelled, other] = [await temporary('a'), await world.create('b')]
  await world.command(byPolicy(labelled), byPolicy(other))
  const running = world.start()
  deepEqual([...(await outcomes(2))].sort(), [
    'done',
    'stale the object, as it is now, is not due by rule default/old',
  ])
  equal(world.exists('b'), true)
  await running.stop()
})

test('deletes what is beyond the newest only while it was counted just now', async () => {
  const spec = { ...SPEC, keep: { newest: 1, by: 'namespace' } }
  const annotations = { [ENFORCE_ANNOTATION]: digestOf(spec) }
  await edit({ metadata: { annotations }, spec })
  const [a, b] = [await temporary('a'), await temporary('b')]
  // From before the start: what was counted may be gone since.
  await world.command(byPolicy(a, {}, spec))
  const running = world.start()
  deepEqual(await outcomes(1), ['blocked what rule default/old keeps was counted too long ago'])
  await world.clock.advance(1_000)
  await world.command(byPolicy(b, {}, spec))
  equal((await outcomes(2))[1], 'done')
  deepEqual([world.exists('a'), deletedAs], [true, [ACCOUNT]])
  await running.stop()
})

async function temporary(name: string): Promise<ObjectMeta> {
  await world.create(name)
  await world.patch(name, { labels: { temporary: 'yes' } })
  return await world.read(name)
}
