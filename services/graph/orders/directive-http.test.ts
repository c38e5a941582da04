/**
 * Orders over HTTP: what they append and in which order, how far they are effective, and what is
 * refused.
 */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { finalizerSubject } from '../../../core/admit/finalizer-order.ts'
import { factsOf } from '../../../core/graph/facts.ts'
import type { Directive } from '../../../core/model/event.ts'
import { ruleDigest } from '../../../core/model/rule/rule.ts'
import { AppendTime } from '../../../ports/append-time.ts'
import {
  pauseKey,
  protectKey,
  RULE_BOOK_KEY,
  ruleOrderKey,
} from '../../../ports/record/control-key.ts'
import type { Control, RuleOrder } from '../../../ports/record/service-record.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { serveEndpoint } from '../../../runtime/http/endpoint.ts'
import { setPrincipal } from '../../../runtime/http/principal.ts'
import { checked } from '../../../testing/answer-check.ts'
import { ruleIn } from '../../../testing/model/rule-notation.ts'
import { indexOver } from '../../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  BREAKER_STORY,
  codec,
  emptyStore,
  eventsOf,
  runTask,
  viewOf,
} from '../../../testing/rig/task-rig.ts'
import { type HeldPlan, heldPlanOf } from '../query/answer/held.ts'
import { finalizerDigest } from '../query/plan/finalizer-plan.ts'
import { readerOf } from '../query/view/view.ts'
import { createQuestions } from '../questions.ts'
import { addDirectives, type DirectiveAnswer } from './directive-http.ts'

const DIGEST = 'ab'.repeat(32)
const STORY = ['put rs/web', 'put pod/a <- rs/web']

interface Rig {
  order(body: object, headers?: Record<string, string>): Promise<Response>
  tell(lines: readonly string[]): Promise<void>
  /** Why, what holds it, and who ruled on it. */
  verdict(uid: string): string
  /** Topic and the beginning of the key. */
  readonly appended: string[]
  held(): Promise<HeldPlan>
  directives(): Promise<readonly Directive[]>
  commands(): ReturnType<MemoryLog['read']>
  versionOf(uid: string): string
  control(key: string): Promise<Control | undefined>
  /** The digest of the order of that rule, as reapers read it. */
  ruleOrder(name: string): Promise<string | undefined>
  say(key: string, value: Uint8Array): Promise<void>
}

/** The header that names the user of a request. */
const USER = 'x-user'

async function rigFor(
  t: TestContext,
  logTime?: Pick<AppendTime, 'confirmWall' | 'wallAheadMs'>,
  isRestoring = false,
): Promise<Rig> {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const events = eventsOf(STORY)
  await assign(log)
  await appendAll(log, events)
  const read = log.read.bind(log)
  const restored = Promise.withResolvers<void>()
  if (isRestoring) {
    log.read = async (topic, ...asked) => {
      if (topic === 'events') await restored.promise
      return await read(topic, ...asked)
    }
  }
  t.after(() => restored.resolve())
  const running = runTask(log, emptyStore())
  if (!isRestoring) await running.caughtUp()
  const appended: string[] = []
  const append = log.append.bind(log)
  log.append = async (topic, partition, records) => {
    appended.push(...records.map(({ key }) => `${topic} ${key.replace(/\/.*/, '')}`))
    return await append(topic, partition, records)
  }
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const index = indexOver(log, clock)
  await index.clusters.read()
  const questions = createQuestions({ log, codec, clock, graph, index })
  // Who may order what is another test's.
  const access = Object.assign(questions.access, { order: async () => undefined })
  const parts = { ...questions, access, logTime }
  const { url, server } = await serveEndpoint(
    {
      add: (routes) => {
        routes.addHook('onRequest', async (request) => {
          const name = request.headers[USER]
          if (typeof name === 'string') {
            setPrincipal(request, { by: 'user', user: { name, uid: '', groups: [], extra: {} } })
          }
        })
        addDirectives(routes, parts)
      },
      version: 'test',
      checks: () => [],
      scrape: async () => '',
    },
    { address: '127.0.0.1:0' },
  )
  t.after(async () => {
    await server.close()
    await running[Symbol.asyncDispose]()
  })
  let told = events.length
  const lines: string[] = [...STORY]
  return {
    held: async () => (await heldPlanOf(viewOf(running.task), 10, questions.query)).answer,
    appended,
    async order(body, headers = {}) {
      const response = await fetch(`${url}/v1/directives`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
      return await checked(`${url}/v1/directives`, response, 'POST')
    },
    async tell(more) {
      lines.push(...more)
      const all = eventsOf(lines)
      await appendAll(log, all.slice(told))
      told = all.length
      await running.caughtUp()
    },
    verdict(uid) {
      const { verdict, hold } = factsOf(readerOf(running.task.store, codec), 'c').node(uid) ?? {}
      const ruled = hold?.ruling == null ? '' : `${hold.ruling.verdict} by ${hold.ruling.who}`
      const said = [verdict?.because ?? '', hold?.because ?? '', ruled]
      return said.filter((text) => text !== '').join('; ')
    },
    async directives() {
      const { entries } = await log.read('orders', 0, 0n, { limit: 10_000, waitMs: 0 })
      const all = entries.map(({ value }) => codec.decode(value as Uint8Array))
      return all.filter((event): event is Directive => event.type === 'Directive')
    },
    async ruleOrder(name) {
      const entry = (await log.latest('orders', 0)).find(({ key }) => key === ruleOrderKey(name))
      return entry?.value == null ? undefined : (codec.decode(entry.value) as RuleOrder).digest
    },
    async say(key, value) {
      await log.append('orders', 0, [{ key, value }])
    },
    commands: async () => await log.read('commands', 0, 0n, { limit: 100, waitMs: 0 }),
    versionOf(uid) {
      const facts = factsOf(readerOf(running.task.store, codec), 'c')
      const node = facts.node(uid)
      return (node && facts.seen(node.object, uid)?.resourceVersion) ?? ''
    },
    async control(key) {
      const entry = (await log.latest('orders', 0)).find((each) => each.key === key)
      return entry?.value == null ? undefined : (codec.decode(entry.value) as Control)
    },
  }
}

test('a pause is told to the reapers first, a resume last, and both are folded when answered', async (t) => {
  const rig = await rigFor(t)
  const response = await rig.order({ verb: 'pause', claimed: 'ann', why: 'disk is full' })
  equal(response.status, 200)
  const { effective, ...answer } = (await response.json()) as DirectiveAnswer
  deepEqual(answer, {
    ...{ apiVersion: 'kinfold/v1', kind: 'DirectiveResult', partial: '' },
    ...{ verb: 'pause', cluster: null, about: 'all clusters (test)', who: 'local:ann' },
    ...{ partitions: 1, folded: 1 },
  })
  equal(effective, 'No new deletes or updates from 2 s from now. Confirmed by 1 of 1 partition.')
  deepEqual(rig.appended, ['orders pause', 'orders order', 'events directive'])
  equal((await rig.control(pauseKey('')))?.verb, 'pause')
  await rig.tell(['delete rs/web'])
  match(
    rig.verdict('pod-a'),
    /paused by local:ann \(disk is full\); "kinfold resume --why …" releases it/,
  )

  rig.appended.length = 0
  equal((await rig.order({ verb: 'resume', claimed: 'ann', why: 'it is not' })).status, 200)
  deepEqual(rig.appended, ['orders order', 'events directive', 'orders pause'])
  equal((await rig.control(pauseKey('')))?.verb, 'resume')
  match(rig.verdict('pod-a'), /^ReplicaSet "web" no longer exists$/)
})

test('a resume says what stays paused by another order', async (t) => {
  const rig = await rigFor(t)
  equal((await rig.order({ verb: 'pause', cluster: 'test' })).status, 200)
  const all = (await (
    await rig.order({ verb: 'resume', why: 'it is over' })
  ).json()) as DirectiveAnswer
  match(all.effective, / Still paused by separate orders: test\.$/)
  const one = { verb: 'resume', cluster: 'test', why: 'it is over' }
  const { effective } = (await (await rig.order(one)).json()) as DirectiveAnswer
  match(effective, /1 partition\.$/)
})

test('who takes back what does not stand is told so, what stands by another order, and until when (C18)', async (t) => {
  const rig = await rigFor(t)
  const effectOf = async (body: object): Promise<string> =>
    ((await (await rig.order({ why: 'it is over', ...body })).json()) as DirectiveAnswer).effective
  match(await effectOf({ verb: 'resume' }), /1 partition\. No such pause was known\.$/)
  match(await effectOf({ verb: 'close-breaker' }), / No breaker was known to be open\.$/)
  const subject = 'namespace/ns'
  match(await effectOf({ verb: 'unprotect', subject }), / No such protection was known\.$/)
  equal((await rig.order({ verb: 'protect', subject, cluster: 'test' })).status, 200)
  match(
    await effectOf({ verb: 'unprotect', subject }),
    / No such protection was known\. Still protected by separate orders: test\.$/,
  )
  match(
    await effectOf({ verb: 'unprotect', subject, cluster: 'test' }),
    /With preset guarded it lasts ten minutes more, with parity it ends now; .* 1 partition\.$/,
  )
  match(await effectOf({ verb: 'unprotect', subject, cluster: 'test' }), / No such protection/)
})

test('who closes an open breaker is told nothing beside', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(BREAKER_STORY)
  const order = { verb: 'close-breaker', cluster: 'test', why: 'it was me' }
  const { effective } = (await (await rig.order(order)).json()) as DirectiveAnswer
  match(effective, /1 partition\.$/)
})

test('orders are given one after the other, so that reapers and fold end alike', async (t) => {
  const rig = await rigFor(t)
  const orders = [{ verb: 'pause' }, { verb: 'resume', why: 'x' }, { verb: 'pause' }]
  await Promise.all(orders.map((each) => rig.order(each)))
  const last = (await rig.directives()).at(-1)
  equal((await rig.control(pauseKey('')))?.verb, last?.verb)
  const pairs = rig.appended
    .join(' ')
    .replaceAll('orders pause orders order events directive', 'P')
    .replaceAll('orders order events directive orders pause', 'R')
  match(pairs, /^[PR]( [PR])*$/)
})

test('one cluster is named by its name or its id', async (t) => {
  const rig = await rigFor(t)
  for (const cluster of ['test', 'c']) {
    const response = await rig.order({ verb: 'pause', cluster })
    equal(((await response.json()) as DirectiveAnswer).cluster?.id, 'c')
  }
  equal((await rig.control(pauseKey('c')))?.cluster, 'c')
  const response = await rig.order({ verb: 'pause', cluster: 'tset' })
  equal(response.status, 404)
  match(
    await response.text(),
    /there is no cluster tset, or several have that name; known clusters: test \(c\)/,
  )
})

test('what is protected by name is told to the reapers first, and is taken back last', async (t) => {
  const rig = await rigFor(t)
  const subject = 'namespace/ns'
  equal((await rig.order({ verb: 'protect', subject, claimed: 'ann' })).status, 200)
  deepEqual(rig.appended, ['orders protect', 'orders order', 'events directive'])
  await rig.tell(['delete rs/web'])
  match(
    rig.verdict('pod-a'),
    /protected by local:ann; "kinfold unprotect namespace\/ns" releases it/,
  )
  rig.appended.length = 0
  equal((await rig.order({ verb: 'unprotect', subject })).status, 200)
  deepEqual(rig.appended, ['orders order', 'events directive', 'orders protect'])
  equal((await rig.control(protectKey('', subject)))?.verb, 'unprotect')
})

/** A rollback: what was owned by what is missing now waits for approval. */
const HELD_STORY = ['lose rs/web', 'rollback', 'relist rs', 'relist pod']

test('an approval carries the set of what is held, and only of that', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(HELD_STORY)
  const { digest, total } = await rig.held()
  const before = (await rig.directives()).length
  const other = await rig.order({ verb: 'approve', digest: DIGEST, why: 'meant so' })
  equal(other.status, 409)
  match(await other.text(), /another set is held for approval by now.*kinfold plan held/)
  equal((await rig.directives()).length, before)
  const given = await rig.order({ verb: 'approve', digest: `sha256:${digest}`, why: 'meant so' })
  equal(given.status, 200)
  const directive = (await rig.directives()).at(-1)
  deepEqual([directive?.cluster, directive?.digest], ['c', digest])
  deepEqual([directive?.listed.count, total], [1, 1])
  match(rig.verdict('pod-a'), /approved by local:somebody/)
})

test('where nothing is held for approval, there is nothing to approve or reject', async (t) => {
  const rig = await rigFor(t)
  const { digest } = await rig.held()
  for (const each of [digest, DIGEST]) {
    for (const verb of ['approve', 'reject']) {
      const response = await rig.order({ verb, digest: each, why: 'meant so' })
      equal(response.status, 409)
      match(await response.text(), /nothing is held for approval there just now/)
    }
  }
})

test('whoever protects a kind that is not known there is told so', async (t) => {
  const rig = await rigFor(t)
  const effectOf = async (subject: string): Promise<string> => {
    const response = await rig.order({ verb: 'protect', subject })
    return ((await response.json()) as DirectiveAnswer).effective
  }
  match(await effectOf('kind/Widget.example.com'), / But no kind Widget.example.com is known there/)
  doesNotMatch(await effectOf('kind/ReplicaSet.apps'), /is known/)
  doesNotMatch(await effectOf('namespace/ns'), /is known/)
})

test('what protects nothing can be taken back as it was written', async (t) => {
  const rig = await rigFor(t)
  equal((await rig.order({ verb: 'unprotect', subject: 'kind/pods' })).status, 200)
})

const RULE = 'rule old pod 60'
const OLD = ruleDigest(ruleIn('old pod 60'))
const ENFORCE = {
  verb: 'enforce-rule',
  subject: 'old',
  digest: OLD,
  why: 'read it',
  claimed: 'ann',
}
const SUSPEND = { verb: 'suspend-rule', subject: 'old' }

async function effectOf(response: Promise<Response>): Promise<string> {
  const { effective, detail } = (await (await response).json()) as Record<string, string>
  return effective ?? detail ?? ''
}

test('a rule is suspended at the reapers first, and enforced there last', async (t) => {
  const rig = await rigFor(t)
  await rig.tell([RULE])
  rig.appended.length = 0
  const enforced = await rig.order(ENFORCE)
  equal(enforced.status, 200)
  const { about, effective } = (await enforced.json()) as DirectiveAnswer
  equal(about, 'rule old in all clusters (test)')
  equal(
    effective,
    'What is due by it is judged again now, and deleted (or annotated, where the rule says so) unless something else holds it. Confirmed by 1 of 1 partition.',
  )
  deepEqual(rig.appended, ['orders order', 'events directive', 'orders rule'])
  equal(await rig.ruleOrder('old'), OLD)
  rig.appended.length = 0
  equal(
    await effectOf(rig.order(SUSPEND)),
    'No new deletes by it from 2 s from now: it is in dry run. Confirmed by 1 of 1 partition.',
  )
  deepEqual(rig.appended, ['orders rule', 'orders order', 'events directive'])
  equal(await rig.ruleOrder('old'), '')
  deepEqual(
    (await rig.directives()).map(({ verb, cluster, subject, digest, who, why }) => {
      return [verb, cluster, subject, digest, who, why]
    }),
    [
      ['enforce-rule', '', 'old', OLD, 'local:ann', 'read it'],
      ['suspend-rule', '', 'old', null, 'local:somebody', ''],
    ],
  )
})

test('only the rule that was read is enforced, and who names no rule reads which there are', async (t) => {
  const rig = await rigFor(t)
  equal((await rig.order(ENFORCE)).status, 404)
  await rig.tell([RULE, 'rule jobs job 60'])
  const before = rig.appended.length
  const unknown = await rig.order({ ...ENFORCE, subject: 'odl' })
  equal(unknown.status, 404)
  match(await unknown.text(), /there is no rule odl; rules: old, jobs/)
  await rig.tell(['rule old pod 90'])
  const changed = await rig.order(ENFORCE)
  equal(changed.status, 409)
  match(
    await effectOf(Promise.resolve(changed)),
    /^the rule is another by now: read it with "kinfold rules explain old", then enforce that one$/,
  )
  equal(rig.appended.length, before + 2, 'beside the policy')
  equal(await rig.ruleOrder('old'), undefined)
})

test('a rule that only reports is enforced by no order, whichever digest is named', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(['rule volumes pv 60'])
  const digest = ruleDigest(ruleIn('volumes pv 60'))
  const refused = await rig.order({ ...ENFORCE, subject: 'volumes', digest })
  equal(refused.status, 409)
  match(await effectOf(Promise.resolve(refused)), /^rule volumes only reports, so nothing enforces/)
  equal(await rig.ruleOrder('volumes'), undefined)
})

test('a rule about owners in other clusters is enforced as any other', async (t) => {
  const rig = await rigFor(t)
  const far = 'far cm 0 for:3600 elsewhere:north import:rs/team export:rs/team/test'
  await rig.tell([`rule ${far}`])
  const digest = ruleDigest(ruleIn(far))
  equal((await rig.order({ ...ENFORCE, subject: 'far', digest })).status, 200)
  equal(await rig.ruleOrder('far'), digest)
})

test('who gives an order about a rule twice is told so, and reapers read it again', async (t) => {
  const rig = await rigFor(t)
  await rig.tell([RULE])
  match(await effectOf(rig.order(SUSPEND)), / It was not enforced\.$/)
  match(
    await effectOf(rig.order({ ...SUSPEND, subject: 'odl' })),
    / But no rule odl is known: check/,
  )
  match(await effectOf(rig.order(ENFORCE)), /1 partition\.$/)
  rig.appended.length = 0
  match(await effectOf(rig.order(ENFORCE)), / It was enforced already, as it is\.$/)
  deepEqual(rig.appended, ['orders order', 'events directive', 'orders rule'])
  match(await effectOf(rig.order(SUSPEND)), /1 partition\.$/)
})

test('where nothing is folded the rules are those that reapers read', async (t) => {
  const rig = await rigFor(t, undefined, true)
  equal((await rig.order(ENFORCE)).status, 503)
  const book = { type: 'RuleBook', rules: [ruleIn('old pod 60')], who: 'ann' } as const
  await rig.say(RULE_BOOK_KEY, codec.encode(book))
  equal((await rig.order({ ...ENFORCE, digest: 'ab'.repeat(16) })).status, 409)
  equal((await rig.order(ENFORCE)).status, 200)
  equal(await rig.ruleOrder('old'), OLD)
  equal((await rig.order({ ...SUSPEND, why: 'stop it' })).status, 200)
})

test('in mode observe no rule is enforced, unless for a later mode, and each can be suspended (C1)', async (t) => {
  const rig = await rigFor(t)
  await rig.tell([RULE, 'policy observe parity'])
  const refused = await rig.order(ENFORCE)
  equal(refused.status, 409)
  match(await refused.text(), /no rule deletes anything: in mode observe/)
  match(
    await effectOf(rig.order({ ...ENFORCE, record: true })),
    /^It is recorded, and has no effect/,
  )
  equal(await effectOf(rig.order(SUSPEND)), 'It ends now. In mode observe a rule deletes nothing.')
})

const refused: readonly (readonly [string, object, RegExp])[] = [
  ['no object', [], /expected a JSON object/],
  ['an unknown verb', { verb: 'stop' }, /verb must be one of pause/],
  ['an unknown field', { verb: 'pause', force: true }, /force is none of verb/],
  ['a resume without a reason', { verb: 'resume' }, /say why: resume/],
  ['a reason of blanks', { verb: 'close-breaker', why: ' ' }, /say why/],
  ['a reason of two lines', { verb: 'pause', why: 'a\nb' }, /why must be one line/],
  ['a reason too long', { verb: 'pause', why: 'x'.repeat(501) }, /why must be one line of 500/],
  ['a subject of a pause', { verb: 'pause', subject: 'namespace/a' }, /subject belongs to/],
  ['nothing to protect', { verb: 'protect' }, /protect takes a subject, one of namespace/],
  ['nonsense to protect', { verb: 'protect', subject: 'a' }, /a is none of namespace/],
  ['a resource', { verb: 'protect', subject: 'kind/pods' }, /pods is no kind: kinds are written/],
  ['a kind without its group', { verb: 'protect', subject: 'kind/ReplicaSet' }, /ReplicaSet.apps/],
  ['a rejection without a reason', { verb: 'reject', digest: DIGEST }, /reject keeps objects/],
  ['no digest', { verb: 'approve', why: 'x' }, /approve takes a digest, the one that/],
  ['a digest of a pause', { verb: 'pause', digest: DIGEST }, /digest belongs to approve/],
  ['no rule', { verb: 'suspend-rule' }, /suspend-rule takes a subject, the name of a rule/],
  ['a rule that was not read', { verb: 'enforce-rule', subject: 'a', why: 'x' }, /rules explain/],
  [
    'a rule without a reason',
    { verb: 'enforce-rule', subject: 'a', digest: OLD },
    /say why: enforce-rule permits deletes/,
  ],
  [
    'the digest of a plan',
    { verb: 'enforce-rule', subject: 'a', digest: DIGEST, why: 'x' },
    /32 hexadecimal digits/,
  ],
  [
    'a digest of what is suspended',
    { verb: 'suspend-rule', subject: 'a', digest: OLD },
    /digest belongs to approve, reject, enforce-rule/,
  ],
  [
    'a rule of one cluster',
    { verb: 'suspend-rule', subject: 'a', cluster: 'test' },
    /in all clusters: name no cluster/,
  ],
  ['half a digest', { verb: 'approve', digest: 'abc', why: 'x' }, /64 hexadecimal digits/],
]

for (const [what, body, message] of refused) {
  test(`${what} is refused, and nothing is appended`, async (t) => {
    const rig = await rigFor(t)
    const response = await rig.order(body)
    equal(response.status, 400)
    equal(response.headers.get('content-type'), 'application/problem+json; charset=utf-8')
    match(((await response.json()) as { detail: string }).detail, message)
    deepEqual(rig.appended, [])
  })
}

test('a clock that is not believed is confirmed by a person, on record first', async (t) => {
  const clocks = { now: () => 7_200_000, monotonicMs: () => 0 }
  const time = new AppendTime(clocks, 3_600_000)
  const rig = await rigFor(t, time)
  const order = { verb: 'confirm-clock', claimed: 'ann', why: 'the time server was down' }
  const response = await rig.order(order)
  equal(response.status, 200)
  equal(time.wallAheadMs(), 0)
  deepEqual(
    (await rig.directives()).map(({ verb, who, why }) => [verb, who, why]),
    [['confirm-clock', 'local:ann', 'the time server was down']],
  )
  equal((await rig.order(order)).status, 409, 'there is nothing left to confirm')
  equal((await rig.order({ ...order, cluster: 'c' })).status, 400)
})

test('where brokers give the times there is no clock to confirm', async (t) => {
  const rig = await rigFor(t)
  const response = await rig.order({ verb: 'confirm-clock', why: 'x' })
  equal(response.status, 409)
  deepEqual(rig.appended, [])
})

test('no order is taken from a web page', async (t) => {
  const rig = await rigFor(t)
  const response = await rig.order({ verb: 'pause' }, { origin: 'http://evil.example' })
  equal(response.status, 403)
  deepEqual(rig.appended, [])
})

test('two people approve where that is the policy, and a cluster says of both who they are', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(['approvals 2', ...HELD_STORY])
  const { digest, total, approvals, first } = await rig.held()
  deepEqual({ total, approvals, first }, { total: 1, approvals: 2, first: null })
  const approve = async (headers: Record<string, string>): Promise<[number, string]> => {
    const response = await rig.order({ verb: 'approve', digest, why: 'meant so' }, headers)
    const { effective, detail } = (await response.json()) as Record<string, string>
    return [response.status, effective ?? detail ?? '']
  }
  const [refused, sentence] = await approve({})
  equal(refused, 403)
  match(sentence, /two people have to approve here/)
  const [one, further] = await approve({ [USER]: 'ann' })
  equal(one, 200)
  match(further, /first of two approvals/)
  match(rig.verdict('pod-a'), /needs approval/)
  equal((await rig.held()).first?.who, 'user:ann')
  const [again, why] = await approve({ [USER]: 'ann' })
  equal(again, 409)
  match(why, /user:ann has approved it already/)
  const [two, effect] = await approve({ [USER]: 'bob' })
  equal(two, 200)
  match(effect, /What it releases is judged again now/)
  match(rig.verdict('pod-a'), /approved by user:ann and user:bob/)
})

for (const order of [
  { verb: 'pause' },
  { verb: 'protect', subject: 'namespace/ns' },
  { verb: 'approve', digest: DIGEST, why: 'meant so' },
  { verb: 'reject', digest: DIGEST, why: 'meant so' },
  { verb: 'close-breaker', why: 'meant so' },
]) {
  test(`in mode observe ${order.verb} is refused, since Kinfold cannot stop the other collector (C1)`, async (t) => {
    const rig = await rigFor(t)
    await rig.tell(['policy observe parity'])
    const before = rig.appended.length
    const response = await rig.order(order)
    equal(response.status, 409)
    match(await response.text(), /Kinfold deletes nothing, and cannot stop the cluster’s own/)
    equal(rig.appended.length, before)
  })
}

test('in mode observe an order that is recorded all the same holds nothing until it can (C1)', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(['policy observe parity'])
  const order = { verb: 'protect', subject: 'namespace/ns', record: true }
  const { effective } = (await (await rig.order(order)).json()) as DirectiveAnswer
  match(effective, /^It is recorded, and has no effect now: it protects nothing: in mode observe/)
  await rig.tell(['delete rs/web'])
  match(rig.verdict('pod-a'), /mode observe only records/)
  await rig.tell(['policy enforce parity'])
  match(rig.verdict('pod-a'), /protected by local:somebody/)
})

test('in mode observe nothing was held, so taking it back releases nothing, at once (C1)', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(['policy observe guarded'])
  const subject = 'namespace/ns'
  equal((await rig.order({ verb: 'protect', subject, record: true })).status, 200)
  const effectOf = async (body: object): Promise<string> =>
    ((await (await rig.order({ why: 'over', ...body })).json()) as DirectiveAnswer).effective
  equal(
    await effectOf({ verb: 'unprotect', subject }),
    'It ends now. In mode observe an order protects nothing.',
  )
  await rig.tell(['delete rs/web'])
  match(rig.verdict('pod-a'), /mode observe only records/)
  equal(
    await effectOf({ verb: 'resume' }),
    'It ends now. In mode observe a pause stops nothing. No such pause was known.',
  )
  await rig.tell(['policy enforce guarded'])
  match(rig.verdict('pod-a'), /protected by what was taken back in the last ten minutes/)
})

test('what stops deletes is taken where no partition says yet which mode is in force', async (t) => {
  const rig = await rigFor(t, undefined, true)
  const response = await rig.order({ verb: 'pause', why: 'stop it' })
  equal(response.status, 200)
  const { effective } = (await response.json()) as DirectiveAnswer
  match(effective, /Which mode is in force is not known here\.$/)
  equal((await rig.control(pauseKey('')))?.verb, 'pause')
})

test('a reason that is the placeholder of a hint is none', async (t) => {
  const rig = await rigFor(t)
  const response = await rig.order({ verb: 'resume', why: '…' })
  equal(response.status, 400)
  match(await response.text(), /say why: … stands for your own words/)
})

test('a finalizer is removed by the digest of its plan, and each refusal says why', async (t) => {
  const rig = await rigFor(t)
  await rig.tell(['put cm/a [deleting example.com/x]', 'put cm/alive [example.com/x]'])
  const of = (uid: string, resourceVersion: string, finalizer = 'example.com/x'): object => {
    const asked = { uid, resourceVersion, finalizer }
    const order = { verb: 'remove-finalizer', why: 'its controller is gone' }
    return { ...order, subject: finalizerSubject(asked), digest: finalizerDigest('c', asked) }
  }
  const detailOf = async (body: object): Promise<string> => {
    const response = await rig.order(body)
    const { detail } = (await response.json()) as { readonly detail: string }
    return `${response.status} ${detail}`
  }
  match(await detailOf(of('cm-a', '1')), /^409 ConfigMap\/a: the config does not list/)
  await rig.tell(['may-remove example.com/x'])
  match(await detailOf(of('cm-alive', '2')), /^409 ConfigMap\/alive: it is not being deleted$/)
  match(await detailOf(of('cm-a', '1', 'example.com/y')), /^409 .*: it has no such finalizer$/)
  match(await detailOf(of('cm-none', '1')), /^404 /)
  match(await detailOf(of('cm-a', '0')), /^409 ConfigMap\/a is another version by now/)
  match(await detailOf({ ...of('cm-a', '3'), why: '' }), /^400 say why/)
  match(await detailOf({ ...of('cm-a', '3'), subject: 'cm-a' }), /^400 cm-a is not the one/)
  deepEqual(await rig.directives(), [])

  const version = rig.versionOf('cm-a')
  const response = await rig.order({ ...of('cm-a', version), claimed: 'ann' })
  const { about, who, effective } = (await response.json()) as DirectiveAnswer
  deepEqual([about, who], ['the finalizer example.com/x of ConfigMap/a', 'local:ann'])
  match(effective, /^One call is sent now; the history of the object has its result/)
  const [given] = await rig.directives()
  deepEqual(
    [given?.verb, given?.subject, given?.who, given?.why],
    [
      'remove-finalizer',
      `["cm-a","${version}","example.com/x"]`,
      'local:ann',
      'its controller is gone',
    ],
  )
  const { entries } = await rig.commands()
  const commands = entries.map(({ value }) => codec.decode(value as Uint8Array))
  deepEqual(
    commands.map((each) => each.type === 'RemoveFinalizer' && each.because),
    [
      `local:ann ordered to remove finalizer example.com/x at version ${version} (its controller is gone)`,
    ],
  )
})
