/**
 * What rules read of objects is published as soon as there are such rules, of their own kinds
 * alone; and of Secrets nothing but what may be.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { ObjectMeta } from '../../core/model/object.ts'
import { type Rule, rulesOfKind } from '../../core/model/rule/rule.ts'
import { USE_TABLE } from '../../core/model/use/use-table.ts'
import { TOPICS, type Topic } from '../../ports/log.ts'
import { RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { WatcherRig } from '../../testing/rig/watcher-rig.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const JOBS = '/apis/batch/v1/namespaces/default/jobs'
const SECRETS = '/api/v1/namespaces/default/secrets'
const COMPLETED = 'status.conditions[type=Complete].lastTransitionTime'
const TTL = 'spec.ttlSecondsAfterFinished'
const FINISHED = {
  spec: { ttlSecondsAfterFinished: 100 },
  status: { conditions: [{ type: 'Complete', lastTransitionTime: '2026-01-01T00:00:00Z' }] },
}

let rig: WatcherRig
afterEach(() => rig.stop())

/** By request, such as `LIST jobs`: as what objects were asked for. */
let accepts: Map<string, Set<string>>

async function started(options: ConstructorParameters<typeof WatcherRig>[0] = {}): Promise<void> {
  rig = new WatcherRig(options)
  forget()
  rig.broken = ({ headers }) => {
    const request = rig.requests.at(-1) ?? ''
    const accept = headers['accept']?.includes('PartialObjectMetadata') ? 'metadata' : 'whole'
    accepts.set(request, new Set([...(accepts.get(request) ?? []), accept]))
    return undefined
  }
  await rig.create(CONFIG_MAPS, 'a')
  await rig.create(JOBS, 'j', FINISHED)
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
}

async function restarted(): Promise<void> {
  await rig.stop()
  forget()
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
}

function forget(): void {
  accepts = new Map()
  rig.forget()
}

function lists(): readonly string[] {
  return rig.requests.filter((request) => /^LIST (?!apiservices)/.test(request))
}

function rule(of: Partial<Rule['match']>, ...fields: readonly string[]): Rule {
  return {
    ...ruleIn('one cm 0'),
    match: {
      kinds: [{ group: 'batch', kind: 'Job' }],
      ...{ namespaces: [], exceptNamespaces: [], labels: [], annotations: [] },
      ...{ expression: null, owner: null, terminating: false },
      ...of,
    },
    cases: fields.map((key) => ({
      fields: [{ key, operator: 'exists', values: [] }],
      since: { type: 'created' },
      after: { type: 'fixed', ms: 0 },
    })),
  }
}

async function write(value: Uint8Array): Promise<void> {
  await rig.log.append('orders', 0, [{ key: RULE_BOOK_KEY, value }])
}

async function rules(...all: readonly Rule[]): Promise<void> {
  await write(rig.codec.encode({ type: 'RuleBook', rules: all, who: 'ann' }))
}

async function published(kind: string, name: string): Promise<ObjectMeta | undefined> {
  const events = await rig.events()
  const last = events.findLast(
    (event) => 'object' in event && event.object?.kind === kind && event.object.name === name,
  )
  return last !== undefined && 'object' in last ? (last.object ?? undefined) : undefined
}

/** Until the objects of that kind are published with what these rules read. */
async function reads(kind: { group: string; kind: string; name: string }, ...all: readonly Rule[]) {
  const digest = rulesOfKind(all, kind)?.reads.digest
  ok(digest !== undefined)
  const isRead = async (): Promise<boolean> =>
    (await published(kind.kind, kind.name))?.projected?.reads === digest
  await rig.until(isRead, `${kind.name} is read with what rules read`)
  await rig.synced()
  await rig.clock.advance(10_000)
}

const JOB = { group: 'batch', kind: 'Job', name: 'j' }
const FIELDS = [
  { key: TTL, value: '100' },
  { key: COMPLETED, value: '2026-01-01T00:00:00Z' },
]

test('without rules everything is asked for as metadata alone', async () => {
  await started()
  deepEqual(accepts.get('LIST jobs'), new Set(['metadata']))
  deepEqual(accepts.get('WATCH jobs'), new Set(['metadata']))
  equal((await published('Job', 'j'))?.projected, null)
})

test('a rule that is added has its kind listed and watched whole, and no other one listed', async () => {
  await started()
  forget()
  const added = rule({}, TTL, COMPLETED)
  await rules(added)
  await reads(JOB, added)
  deepEqual((await published('Job', 'j'))?.projected?.fields, FIELDS)
  deepEqual(lists(), ['LIST jobs'])
  deepEqual(accepts.get('LIST jobs'), new Set(['whole']))
  ok(accepts.get('WATCH jobs')?.has('whole'))
  deepEqual(accepts.get('WATCH configmaps'), new Set(['metadata']))
  // Without a version, as any list; and a check of the version reads no object.
  deepEqual(accepts.get('CHECK jobs') ?? new Set(['metadata']), new Set(['metadata']))
})

test('a rule about what nothing uses has names read of users, and of Secrets no body', async () => {
  await started()
  await rig.create(SECRETS, 's', { data: { password: 'cGFzc3dvcmQ=' } })
  const volumes = [{ name: 'v', configMap: { name: 'a' } }]
  const template = { spec: { serviceAccountName: 'robot', volumes, containers: [] } }
  await rig.create(JOBS, 'user', { spec: { template } })
  forget()
  const added = ruleIn('free cm 0 unused:100')
  const accounts = { ...added, name: 'accounts', match: ACCOUNTS, unused: ruleOfAccounts() }
  await rules(added, accounts)
  const isRead = async (): Promise<boolean> =>
    (await published('Job', 'user'))?.projected?.fields.length === 2
  await rig.until(isRead, 'what the Job uses is read')
  await rig.synced()
  const { projected } = (await published('Job', 'user')) ?? {}
  deepEqual(
    projected?.fields.map(({ key, value }) => [key.replace(/\/\w{8}$/, ''), value]),
    [
      ['uses/ConfigMap', 'a'],
      ['uses/ServiceAccount', 'robot'],
    ],
  )
  deepEqual(accepts.get('LIST jobs'), new Set(['whole']))
  deepEqual(accepts.get('LIST secrets') ?? new Set(['metadata']), new Set(['metadata']))
  deepEqual(accepts.get('WATCH secrets'), new Set(['metadata']))
})

const ACCOUNTS: Rule['match'] = {
  ...ruleIn('one cm 0').match,
  kinds: [{ group: '', kind: 'ServiceAccount' }],
}

function ruleOfAccounts(): Rule['unused'] {
  const uses = USE_TABLE.filter(({ used }) => used.kind === 'ServiceAccount')
  return { forMs: 1_000, uses, except: [] }
}

test('a field that changes is published, and a change of anything else is not', async () => {
  await started()
  const added = rule({}, TTL)
  await rules(added)
  await reads(JOB, added)
  const before = (await rig.told('Job')).length
  await rig.patch(`${JOBS}/j`, { spec: { ttlSecondsAfterFinished: 200 } })
  await rig.clock.advance(10_000)
  const last = await published('Job', 'j')
  deepEqual(last?.projected?.fields, [{ key: TTL, value: '200' }])
  await rig.patch(`${JOBS}/j`, { metadata: { labels: { a: 'b' } } })
  await rig.clock.advance(10_000)
  deepEqual((await rig.told('Job')).slice(before), ['ObjectUpdated j', 'Touched 1'])
})

test('a rule that reads labels alone leaves its kind to be asked for as metadata', async () => {
  await started()
  await rig.patch(`${JOBS}/j`, { metadata: { labels: { tier: 'gold', other: 'x' } } })
  forget()
  const added = rule({ labels: [{ key: 'tier', operator: 'exists', values: [] }] })
  await rules(added)
  await reads(JOB, added)
  const last = await published('Job', 'j')
  deepEqual([last?.labels, last?.projected?.fields], [[{ key: 'tier', value: 'gold' }], []])
  deepEqual(lists(), ['LIST jobs'])
  deepEqual(accepts.get('LIST jobs'), new Set(['metadata']))
  deepEqual(accepts.get('WATCH jobs'), new Set(['metadata']))
})

test('a rule that changes without reading anything else has nothing listed', async () => {
  await started()
  const added = rule({}, TTL)
  await rules(added)
  await reads(JOB, added)
  forget()
  await rules({ ...added, forMs: 1_000 })
  await rig.clock.advance(10_000)
  deepEqual(
    rig.requests.filter((request) => /^(LIST|WATCH)/.test(request)),
    [],
  )
})

test('a rule that is taken away has its kind read without, and no other one listed', async () => {
  await started()
  const added = rule({}, TTL)
  await rules(added)
  await reads(JOB, added)
  forget()
  await rules()
  await rig.until(async () => (await published('Job', 'j'))?.projected === null, 'it is null')
  await rig.synced()
  deepEqual(lists(), ['LIST jobs'])
  deepEqual(accepts.get('LIST jobs'), new Set(['metadata']))
})

test('a watcher that starts under other rules resumes no kind that they concern', async () => {
  await started()
  const added = rule({}, TTL, COMPLETED)
  await rig.stop()
  await rules(added)
  await restarted()
  deepEqual(lists(), ['LIST jobs'])
  deepEqual((await published('Job', 'j'))?.projected?.fields, FIELDS)
  await restarted()
  deepEqual(lists(), [])
  ok(accepts.get('WATCH jobs')?.has('whole'))
})

test('rules that cannot be read are none', async () => {
  await started()
  forget()
  await write(Buffer.from('no record'))
  await rig.clock.advance(10_000)
  equal(rig.failure, undefined)
  deepEqual(lists(), [])
  await restarted()
  deepEqual(lists(), [])
})

const CANARY = 'do-not-publish'
const base64 = (text: string): string => Buffer.from(text).toString('base64')

async function onLog(text: string): Promise<readonly Topic[]> {
  const found: Topic[] = []
  for (const topic of TOPICS) {
    const { entries } = await rig.log.read(topic, 0, 0n, { limit: 1_000_000, waitMs: 0 })
    if (entries.some(({ value }) => value !== null && Buffer.from(value).includes(text))) {
      found.push(topic)
    }
  }
  return found
}

test('of Secrets the log gets the expiration of bootstrap tokens alone, whatever rules say (I31)', async () => {
  await started()
  const data = {
    expiration: base64('2026-01-01T00:00:00Z'),
    password: base64(CANARY),
  }
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': CANARY }
  const body = { data, metadata: { annotations } }
  await rig.create(SECRETS, 'token', { ...body, type: 'bootstrap.kubernetes.io/token' })
  await rig.create(SECRETS, 'opaque', { ...body, type: 'Opaque' })
  const kinds = [{ group: '', kind: 'Secret' }]
  const allowed = rule({ kinds }, 'type', 'data.expiration:base64')
  await rules(allowed)
  await reads({ group: '', kind: 'Secret', name: 'token' }, allowed)
  deepEqual((await published('Secret', 'token'))?.projected?.fields, [
    { key: 'data.expiration:base64', value: '2026-01-01T00:00:00Z' },
    { key: 'type', value: 'bootstrap.kubernetes.io/token' },
  ])
  deepEqual((await published('Secret', 'opaque'))?.projected?.fields, [
    { key: 'type', value: 'Opaque' },
  ])
  forget()
  const term = (key: string) => ({ key, operator: 'exists', values: [] }) as const
  const refused = rule(
    { kinds, annotations: Object.keys(annotations).map(term) },
    ...['type', 'data.password', 'data.password:base64', 'data'],
  )
  await rules(refused)
  const isRefused = async (): Promise<boolean> =>
    (await published('Secret', 'opaque'))?.projected?.reads === 'beyond-caps'
  await rig.until(isRefused, 'nothing more is read')
  await rig.synced()
  deepEqual(accepts.get('LIST secrets'), new Set(['metadata']))
  for (const text of [CANARY, base64(CANARY)]) deepEqual(await onLog(text), [])
  deepEqual(await onLog('2026-01-01T00:00:00Z'), ['events'])
})
