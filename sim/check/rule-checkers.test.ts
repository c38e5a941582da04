/** Each checker of rules objects to what it checks for, and to no right deletion by a rule. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiObject } from '../../adapters/memory/api-server.ts'
import type { AnnotateObject, DeleteObject } from '../../core/model/command.ts'
import { policyFor } from '../../core/model/policy.ts'
import { ENFORCE_ANNOTATION } from '../../core/model/rule/policy-content.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest } from '../../core/model/rule/rule.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { seeded } from '../../testing/seeded.ts'
import { draw } from '../options.ts'
import { accountOf, type DrawnPolicy, drawnPolicy, refusedPolicy } from '../rule/drawn-policy.ts'
import { CLUSTER_RESOURCE, noteDrawn, policiesPath, RESOURCE } from '../rule/policy-history.ts'
import type { Site } from '../site.ts'
import { WholeWorld } from '../world.ts'
import { CHECKERS } from './checkers.ts'

const AT = '/api/v1/namespaces/blue/configmaps'
const RULE = ruleIn('old cm 60 label:tier=temp limit:2 namespace:blue')
const MINUTE = 60_000

const MARKING = ruleIn('mark cm 60 label:tier=temp annotate:example.com/stale=yes')
const STALE = { 'example.com/stale': 'yes' }

class Rig {
  readonly world: WholeWorld
  readonly site: Site
  readonly rule: Rule

  constructor(rule: Rule = RULE) {
    const policy = { ...policyFor('enforce', 'parity'), rules: [rule] }
    const options = { ...draw(1, []), clusters: 1, policy, archive: 'off' } as const
    this.world = new WholeWorld(options, CHECKERS)
    this.site = this.world.sites[0] as Site
    this.rule = rule
    this.site.user('POST', '/api/v1/namespaces', { metadata: { name: 'blue' } })
  }

  make(name: string, metadata: object = { labels: { tier: 'temp' } }): ApiObject {
    this.site.user('POST', AT, { metadata: { name, ...metadata } })
    return this.site.server.object('', 'configmaps', 'blue', name) as ApiObject
  }

  order(digest: string = ruleDigest(this.rule)): void {
    const { name } = this.rule
    const record = { type: 'RuleOrder', name, digest, who: 'ann', why: '' } as const
    this.#append('orders', this.world.codec.encode(record))
  }

  command({ metadata }: ApiObject, rule: object = this.#own()): void {
    const { uid, name, resourceVersion } = metadata
    const at = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' }
    const about = { cluster: this.site.id, clusterEpoch: 1, partition: 0, mode: 'enforce' }
    const command = {
      ...{ type: 'DeleteObject', id: '0-1-0', ...about, evidence: 'rule', because: '', basis: [] },
      target: { ...at, aggregated: false, namespace: 'blue', name, uid, resourceVersion },
      ...{ propagationPolicy: 'Background', references: [], listDigest: null, finalizers: [] },
      ...{ owners: [], freshness: 'live', approvedBy: '', decidedAt: 0, gracePeriodSeconds: null },
      rule,
    } as unknown as DeleteObject
    this.#append('commands', this.world.codec.encode(command))
  }

  #own(): object {
    return { name: this.rule.name, digest: ruleDigest(this.rule), policy: null }
  }

  /** As Kinfold does it, but for these. */
  delete({ metadata }: ApiObject, more: object = {}, account?: string): string {
    const { uid, resourceVersion, name } = metadata
    const body = {
      preconditions: { uid, resourceVersion },
      propagationPolicy: 'Background',
      ...more,
    }
    const request = {
      ...({ method: 'DELETE', path: `${AT}/${name}`, purpose: 'write' } as const),
      headers: {
        'content-type': 'application/json',
        ...(account !== undefined && { 'impersonate-user': account }),
      },
      body: JSON.stringify(body),
    }
    const sentMs = this.world.time.monotonicMs()
    const acting = { request, registration: this.site.name, by: 'a test', sentMs }
    void this.site.carryOut(acting, AbortSignal.abort())
    return this.world.wrongs.splice(0).join()
  }

  /** The command, and the patch as Kinfold sends it, but for these. */
  annotate({ metadata }: ApiObject, annotations: object = STALE, more: object = {}): string {
    const { uid, resourceVersion, name } = metadata
    const at = { group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' }
    const command = {
      ...{ type: 'AnnotateObject', id: '0-1-0', cluster: this.site.id, clusterEpoch: 1 },
      ...{ partition: 0, mode: 'enforce', evidence: 'rule', because: '', basis: [] },
      target: { ...at, aggregated: false, namespace: 'blue', name, uid, resourceVersion },
      ...{ annotation: MARKING.annotate, owners: [], freshness: 'live', decidedAt: 0 },
      rule: this.#own(),
    } as unknown as AnnotateObject
    this.#append('commands', this.world.codec.encode(command))
    const body = { metadata: { uid, resourceVersion, annotations, ...more } }
    const request = {
      ...({ method: 'PATCH', path: `${AT}/${name}`, purpose: 'write' } as const),
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify(body),
    }
    const sentMs = this.world.time.monotonicMs()
    const acting = { request, registration: this.site.name, by: 'a test', sentMs }
    void this.site.carryOut(acting, AbortSignal.abort())
    return this.world.wrongs.splice(0).join()
  }

  #append(topic: 'orders' | 'commands', value: Uint8Array): void {
    const told = { topic, partition: 0, by: 'a test', records: [{ key: '', value }] }
    for (const { appended } of CHECKERS) equal(appended?.(this.world, told) ?? '', '')
  }
}

async function due(rig: Rig, name = 'it', metadata?: object): Promise<ApiObject> {
  const object = rig.make(name, metadata)
  await rig.world.time.advance(3 * MINUTE)
  rig.command(object)
  return object
}

test('what is due by an enforced rule is deleted without an objection', async () => {
  const rig = new Rig()
  rig.order()
  equal(rig.delete(await due(rig)), '')
})

test('an annotation is right once it is due and ordered, and as the rule says', async () => {
  const rig = new Rig(MARKING)
  match(rig.annotate(await due(rig, 'a')), /no order enforces rule mark as it decided \(I41\)/)
  rig.order()
  equal(rig.annotate(await due(rig, 'b')), '')
  match(rig.annotate(rig.make('c')), /rule mark has it annotated in \d+ ms \(I41\)/)
  const other = { labels: { tier: 'other' } }
  match(rig.annotate(await due(rig, 'd', other)), /its rule is not about it \(I41\)/)
  const wrong = /no command sets that on this version of it \(I41\)/
  match(rig.annotate(await due(rig, 'e'), { ...STALE, other: 'x' }), wrong)
  match(rig.annotate(await due(rig, 'f'), STALE, { labels: {} }), wrong)
  match(rig.annotate(await due(rig, 'g'), STALE, { resourceVersion: undefined }), wrong)
})

test('what no rule and no owner has deleted is objected to', () => {
  const rig = new Rig()
  match(rig.delete(rig.make('it')), /it has no owner references \(I2\)/)
})

test('a deletion before the rule has waited is objected to', async () => {
  const rig = new Rig()
  rig.order()
  const object = rig.make('it')
  await rig.world.time.advance(MINUTE)
  rig.command(object)
  match(rig.delete(object), /rule old has it deleted in 60000 ms \(I39\)/)
})

test('an object that the rule is not about is objected to', async () => {
  const rig = new Rig()
  rig.order()
  const object = await due(rig, 'it', { labels: { tier: 'other' } })
  match(rig.delete(object), /rule old is not about it \(I39\)/)
})

test('a version that was not judged is objected to, and so is another propagation policy', async () => {
  const rig = new Rig()
  rig.order()
  const object = await due(rig)
  match(rig.delete(object, { propagationPolicy: 'Orphan' }), /propagation policy Orphan \(I39\)/)
  const other = await due(rig, 'other')
  match(rig.delete(other, { preconditions: { uid: other.metadata.uid } }), /no such version \(I4\)/)
})

test('without an order it is objected to, and two seconds after it was taken back', async () => {
  const rig = new Rig()
  match(rig.delete(await due(rig, 'a')), /no order enforces rule old as it decided \(I39\)/)
  rig.order('another digest')
  match(rig.delete(await due(rig, 'b')), /no order enforces rule old as it decided \(I39\)/)
  rig.order()
  const [c, d] = [await due(rig, 'c'), await due(rig, 'd')]
  rig.order('')
  await rig.world.time.advance(2_000)
  equal(rig.delete(c), '')
  await rig.world.time.advance(1)
  match(rig.delete(d), /no order enforces rule old as it decided \(I39\)/)
})

test('more than the limit is objected to, if it became due after the order', async () => {
  const rig = new Rig()
  rig.order()
  const all = ['a', 'b', 'c'].map((name) => rig.make(name))
  await rig.world.time.advance(3 * MINUTE)
  for (const each of all) rig.command(each)
  const [a, b, c] = all
  equal(rig.delete(a!) + rig.delete(b!), '')
  match(rig.delete(c!), /3 by rule old, whose limit is 2 \(I39\)/)
})

test('more than half of the limit in one namespace is objected to, if the rule is about others', async () => {
  const rig = new Rig(ruleIn('old cm 60 label:tier=temp limit:3'))
  rig.order()
  const all = ['a', 'b', 'c'].map((name) => rig.make(name))
  await rig.world.time.advance(3 * MINUTE)
  for (const each of all) rig.command(each)
  const [a, b, c] = all
  equal(rig.delete(a!) + rig.delete(b!), '')
  match(rig.delete(c!), /3 in namespace blue by rule old, whose limit is 3 \(I39\)/)
})

test('what was seen when the order was given counts for no limit', async () => {
  const rig = new Rig()
  const all = ['a', 'b', 'c'].map((name) => rig.make(name))
  await rig.world.time.advance(3 * MINUTE)
  rig.order()
  for (const each of all) rig.command(each)
  equal(all.map((each) => rig.delete(each)).join(''), '')
})

const TIDY = { namespace: 'blue', name: 'tidy' }
const ACCOUNT = accountOf('blue', 'cleaner')
const TIDY_PATH = `${policiesPath('blue')}/tidy`

/** One that has objects with that label deleted, after at most a quarter of an hour. */
function tidy(rig: Rig, isRefused = false): DrawnPolicy {
  const chance = seeded(3)
  for (;;) {
    const drawn = (isRefused ? refusedPolicy : drawnPolicy)(TIDY, chance)
    const { match } = drawn.rule
    const isIt = match.labels.some(({ operator }) => operator === 'in') && drawn.account === ACCOUNT
    if (!isIt || !match.kinds.some(({ kind }) => kind === 'ConfigMap')) continue
    noteDrawn(rig.world, TIDY, drawn)
    return drawn
  }
}

function define(rig: Rig, plural: string = RESOURCE): void {
  const isOfCluster = plural === CLUSTER_RESOURCE
  const kind = isOfCluster ? 'ClusterCleanupPolicy' : 'CleanupPolicy'
  const names = { plural, singular: kind.toLowerCase(), kind }
  const versions = [{ name: 'v1alpha1', served: true, storage: true }]
  rig.site.user('POST', '/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: `${plural}.kinfold.dev` },
    spec: {
      ...{ group: 'kinfold.dev', scope: isOfCluster ? 'Cluster' : 'Namespaced' },
      ...{ names, versions },
    },
  })
}

async function dueByPolicy(rig: Rig, drawn: DrawnPolicy, digest: string): Promise<ApiObject> {
  define(rig)
  const annotations = { [ENFORCE_ANNOTATION]: digest }
  rig.site.user('POST', policiesPath('blue'), {
    ...{ apiVersion: 'kinfold.dev/v1alpha1', kind: 'CleanupPolicy' },
    ...{ metadata: { name: 'tidy', annotations }, spec: drawn.spec },
  })
  const object = rig.make('it')
  await rig.world.time.advance(20 * MINUTE)
  const { uid = '' } =
    rig.site.server.object('kinfold.dev', RESOURCE, 'blue', 'tidy')?.metadata ?? {}
  const policy = { kind: 'CleanupPolicy', version: 'v1alpha1', ...TIDY, uid, account: ACCOUNT }
  rig.command(object, { name: 'blue/tidy', digest: ruleDigest(drawn.rule), policy })
  return object
}

function byPolicy(rig: Rig, object: ApiObject, drawn: DrawnPolicy, account?: string): string {
  const { propagationPolicy } = drawn.rule
  return rig.delete(object, { propagationPolicy }, account)
}

async function enforced(rig: Rig): Promise<readonly [ApiObject, DrawnPolicy]> {
  const drawn = tidy(rig)
  return [await dueByPolicy(rig, drawn, ruleDigest(drawn.rule)), drawn]
}

test('what is due by an enforced policy is deleted by its account without an objection', async () => {
  const rig = new Rig()
  equal(byPolicy(rig, ...(await enforced(rig)), ACCOUNT), '')
})

test('by no account, or by another one than the policy has, it is objected to', async () => {
  const none = new Rig()
  const without = byPolicy(none, ...(await enforced(none)))
  match(without, /it is sent without the account of its policy \(I40\)/)
  const other = new Rig()
  const account = accountOf('red', 'cleaner')
  match(
    byPolicy(other, ...(await enforced(other)), account),
    /deletes as .*, not .*:red:.* \(I40\)/,
  )
})

test('by a policy that is not enforced, or is to be refused, it is objected to', async () => {
  const rig = new Rig()
  const drawn = tidy(rig)
  const object = await dueByPolicy(rig, drawn, 'another')
  match(byPolicy(rig, object, drawn, ACCOUNT), /is not enforced by its annotation \(I40\)/)
  const other = new Rig()
  const refused = tidy(other, true)
  const it = await dueByPolicy(other, refused, ruleDigest(refused.rule))
  match(byPolicy(other, it, refused, ACCOUNT), /policy blue\/tidy is to be refused \(I40\)/)
})

test('after a policy was deleted it is objected to, once no reaper can remember it', async () => {
  const rig = new Rig()
  const [object, drawn] = await enforced(rig)
  rig.site.user('DELETE', TIDY_PATH, {})
  await rig.world.time.advance(7_001)
  match(byPolicy(rig, object, drawn, ACCOUNT), /policy blue\/tidy does not exist \(I40\)/)
  const soon = new Rig()
  const [other, same] = await enforced(soon)
  soon.site.user('DELETE', TIDY_PATH, {})
  await soon.world.time.advance(5_000)
  equal(byPolicy(soon, other, same, ACCOUNT), '')
})

test('what is due by a policy is left while that is enforced, and its account may delete', async () => {
  const left = async (drawn: DrawnPolicy, digest: string): Promise<readonly string[]> => {
    const rig = new Rig()
    noteDrawn(rig.world, TIDY, drawn)
    await dueByPolicy(rig, drawn, digest)
    return rig.world.leftovers().map(({ text }) => text)
  }
  const drawn = tidy(new Rig())
  const digest = ruleDigest(drawn.rule)
  deepEqual(await left(drawn, digest), ['ConfigMap/it is due by rule blue/tidy'])
  deepEqual(await left(drawn, 'another'), [])
  deepEqual(await left({ ...drawn, account: accountOf('blue', 'powerless') }, digest), [])
  deepEqual(await left({ ...drawn, isRefused: true }, digest), [])
})

test('by a policy of the cluster without an account the reaper deletes, and nobody else', async () => {
  for (const account of [undefined, ACCOUNT]) {
    const rig = new Rig()
    const drawn = { ...tidy(rig), account: '' }
    const place = { namespace: '', name: 'tidy' }
    noteDrawn(rig.world, place, drawn)
    define(rig, CLUSTER_RESOURCE)
    const annotations = { [ENFORCE_ANNOTATION]: ruleDigest(drawn.rule) }
    rig.site.user('POST', policiesPath(''), {
      ...{ apiVersion: 'kinfold.dev/v1alpha1', kind: 'ClusterCleanupPolicy' },
      ...{ metadata: { name: 'tidy', annotations }, spec: drawn.spec },
    })
    const object = rig.make('it')
    await rig.world.time.advance(20 * MINUTE)
    const made = rig.site.server.object('kinfold.dev', CLUSTER_RESOURCE, '', 'tidy')
    const uid = made?.metadata.uid ?? ''
    const policy = { kind: 'ClusterCleanupPolicy', version: 'v1alpha1', ...place, uid, account: '' }
    rig.command(object, { name: '*/tidy', digest: ruleDigest(drawn.rule), policy })
    const said = byPolicy(rig, object, drawn, account)
    if (account === undefined) equal(said, '')
    else match(said, /policy \*\/tidy deletes as the reaper, not .* \(I40\)/)
  }
})

const PODS = '/api/v1/namespaces/blue/pods'
const NODES = '/api/v1/nodes'

function usePod(rig: Rig, name: string, map: string): void {
  const spec = { volumes: [{ name: 'v', configMap: { name: map } }] }
  rig.site.user('POST', PODS, { metadata: { name }, spec })
}

test('what is used, or was within the time of the rule, is objected to; a use of just now is not', async () => {
  const rig = new Rig(ruleIn('idle cm 0 unused:600'))
  rig.order()
  const object = rig.make('it')
  usePod(rig, 'p', 'it')
  await rig.world.time.advance(20 * MINUTE)
  rig.command(object)
  match(rig.delete(object), /it was used since 1200000 ms ago, is still \(I39\)/)
  const other = rig.make('other')
  rig.command(other)
  match(rig.delete(other), /it is there for 0 ms, and not 600000 \(I39\)/)
  rig.site.user('DELETE', `${PODS}/p`)
  const again = rig.make('it')
  await rig.world.time.advance(9 * MINUTE)
  rig.command(again)
  match(rig.delete(again), /it is there for 540000 ms/)
  const unused = rig.make('it')
  await rig.world.time.advance(11 * MINUTE)
  usePod(rig, 'late', 'it')
  rig.command(unused)
  equal(rig.delete(unused), '')
})

test('what was used until just before the time of the rule is objected to', async () => {
  const rig = new Rig(ruleIn('idle cm 0 unused:600'))
  rig.order()
  const object = rig.make('it')
  usePod(rig, 'p', 'it')
  await rig.world.time.advance(20 * MINUTE)
  rig.site.user('DELETE', `${PODS}/p`)
  await rig.world.time.advance(9 * MINUTE)
  rig.command(object)
  match(rig.delete(object), /it was used since 1740000 ms ago, until 540000 ms ago \(I39\)/)
})

test('one of the newest that a rule keeps is objected to, and no other', async () => {
  const rig = new Rig(ruleIn('few cm 60 keep:2 by:namespace'))
  rig.order()
  const all: ApiObject[] = []
  for (const name of ['a', 'b', 'c']) {
    all.push(rig.make(name))
    await rig.world.time.advance(MINUTE)
  }
  // It is not due by then, and so none of those that are counted.
  rig.make('young')
  for (const each of all) rig.command(each)
  const told = all.toReversed().map((each) => rig.delete(each))
  match(told[0] ?? '', /it is one of the newest 2, 0 are newer \(I39\)/)
  // What was deleted just now may have been counted.
  match(told[1] ?? '', /it is one of the newest 2, 1 are newer \(I39\)/)
  equal(told[2], '')
})

test('what names a Node that is there, or none, is objected to', async () => {
  const rig = new Rig(ruleIn('nodeless cm 0 no-node:data.node'))
  rig.order()
  rig.site.user('POST', NODES, { metadata: { name: 'n' } })
  const make = (name: string, data: object): ApiObject => {
    rig.site.user('POST', AT, { metadata: { name }, data })
    return rig.site.server.object('', 'configmaps', 'blue', name) as ApiObject
  }
  const [there, gone, none] = [
    make('there', { node: 'n' }),
    make('gone', { node: 'm' }),
    make('none', {}),
  ]
  await rig.world.time.advance(10 * MINUTE)
  for (const each of [there, gone, none]) rig.command(each)
  match(rig.delete(there), /Node n is there \(I39\)/)
  equal(rig.delete(gone), '')
  match(rig.delete(none), /it names no Node \(I39\)/)
})
