/**
 * What the questions about rules answer: which there are, what each is about, what one would
 * delete, and why it is, or is not, about an object.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Event } from '../../../../core/model/event.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { ruleIn } from '../../../../testing/model/rule-notation.ts'
import { GraphGroup, type ProcessOptions, tell } from '../../../../testing/rig/graph-group.ts'
import { eventsOf } from '../../../../testing/rig/task-rig.ts'
import type { RuleExplanation, RuleList, RulePlan } from '../../api/answer-schema.ts'
import { ruleText } from './rule-text.ts'

const ONLY_SHOP: Authority = {
  identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
  may: async (_user, cluster, { resource, namespace }) =>
    cluster === 'c' && resource === 'configmaps' && namespace === 'shop',
}

interface Asker {
  tell(...lines: readonly string[]): Promise<void>
  list(query?: string): Promise<RuleList>
  plan(rule: string, query?: string): Promise<RulePlan>
  explain(rule: string, query?: string): Promise<RuleExplanation>
  read(path: string): Promise<unknown>
  answer(path: string): Promise<{ readonly status: number; readonly detail: string }>
}

async function asker(
  t: TestContext,
  story: readonly string[],
  options: ProcessOptions = {},
): Promise<Asker> {
  const group = new GraphGroup(1)
  const { url } = await group.start(options)
  t.after(async () => await group.stop())
  const lines: string[] = []
  let told = 0
  const get = async (path: string): Promise<unknown> => {
    const response = await checked(url + path, await fetch(url + path))
    const text = await response.text()
    equal(response.status, 200, `${path}: ${text}`)
    return JSON.parse(text)
  }
  const asked: Asker = {
    async tell(...more) {
      lines.push(...more)
      const events: readonly Event[] = eventsOf(lines)
      await tell(group.log, events.slice(told))
      told = events.length
      await group.caughtUp()
    },
    list: async (query = '') => (await get(`/v1/rules?${query}`)) as RuleList,
    plan: async (rule, query = '') => (await get(`/v1/rules/${rule}/plan?${query}`)) as RulePlan,
    explain: async (rule, query = '') =>
      (await get(`/v1/rules/${rule}?${query}`)) as RuleExplanation,
    read: get,
    async answer(path) {
      const response = await checked(url + path, await fetch(url + path))
      return (await response.json()) as { status: number; detail: string }
    },
  }
  await asked.tell(...story)
  return asked
}

/** Log time is 1,000 s after 1970 when it begins. */
const STORY = [
  'put cm/before [label:keep=no]',
  'rule old cm 10 label:keep=no',
  'put cm/a [label:keep=no created:100]',
  'put cm/b [label:keep=yes]',
  'put rs/x [label:keep=no]',
  'put cm/c <- rs/x [label:keep=no created:50]',
  'put cm/later [label:keep=no created:5000]',
  'put cm/latest [label:keep=no created:6000]',
]
const NONE = { mode: 0, pause: 0, protection: 0, approval: 0, breaker: 0, hold: 0, budget: 0 }

function namesOf({ objects }: RulePlan): readonly string[] {
  return objects.map(({ name }) => name)
}

test('a rule in dry run says what is due by it, and that nothing is deleted', async (t) => {
  const asked = await asker(t, STORY)
  const { rules, partial } = await asked.list()
  equal(partial, '')
  deepEqual(
    rules.map(({ rule }) => [rule.name, rule.mode, rule.enforcedBy]),
    [['old', 'dry-run', null]],
  )
  equal(rules[0]?.rule.description, 'ConfigMaps, 10 s after they are created, with label keep=no.')
  deepEqual(rules[0]?.clusters[0]?.counts, {
    ...{ matched: 4, due: 2, held: { ...NONE, rule: 2 }, deleting: 0, elsewhere: 0 },
    ...{ later: 2, nextAt: '1970-01-01T01:23:30.000Z', unread: 1, beyond: 0, overLimit: '' },
  })
  deepEqual((await asked.list('counts=false')).rules[0]?.clusters, [])
})

test('a rule that annotates says so, and what has the annotation is not due', async (t) => {
  const mark = 'rule mark cm 10 annotate:example.com/stale=yes'
  const more = 'put cm/done [annotation:example.com/stale=yes]'
  const asked = await asker(t, [mark, 'put cm/a', 'put pod/of-a <- cm/a', more])
  const plan = await asked.plan('mark')
  deepEqual(plan.rule.annotate, { key: 'example.com/stale', value: 'yes' })
  deepEqual([plan.counts.matched, plan.counts.due, plan.counts.held.rule], [2, 1, 1])
  deepEqual(
    plan.objects.map(({ name, along, verdict }) => [name, along, verdict?.type]),
    [['a', null, 'annotate']],
  )
  const { object } = await asked.explain('mark', 'kind=ConfigMap&name=done&namespace=ns')
  deepEqual([object?.isMatched, object?.dueAt], [true, null])
  deepEqual(object?.terms.at(-1), {
    ...{ what: 'without annotation example.com/stale="yes"', isTrue: false, value: 'yes' },
  })
})

test('an order enforces it as it is, and another rule of that name is in dry run again', async (t) => {
  const asked = await asker(t, [...STORY, 'enforce-rule old'])
  const [known] = (await asked.list('name=old')).rules
  equal(known?.rule.mode, 'enforced')
  deepEqual([known?.rule.enforcedBy?.who, known?.rule.enforcedBy?.why], ['ann', 'test'])
  equal(known?.clusters[0]?.counts.deleting, 2)
  await asked.tell('rule old cm 20 label:keep=no')
  const [changed] = (await asked.list('name=old')).rules
  equal(changed?.rule.mode, 'dry-run')
  ok(changed?.rule.ruleDigest !== known?.rule.ruleDigest)
})

test('a rule over its limit says so', async (t) => {
  const story = ['rule old cm 10 limit:1 namespace:ns', 'put cm/a', 'put cm/b', 'put cm/c']
  const asked = await asker(t, story)
  match((await asked.list()).rules[0]?.clusters[0]?.counts.overLimit ?? '', /over its limit/)
})

test('its plan is listed by the time when each is due, a page at a time', async (t) => {
  const asked = await asker(t, STORY)
  const whole = await asked.plan('old')
  deepEqual(namesOf(whole), ['c', 'a', 'later', 'latest'])
  deepEqual(
    whole.objects.map(({ isDue, by, along }) => [isDue, by, along]),
    [
      [true, 'rule', 0],
      [true, 'rule', 0],
      [false, 'none', null],
      [false, 'none', null],
    ],
  )
  equal(whole.objects[0]?.because, 'rule old: due 10 s after it was created (1970-01-01T00:00:50Z)')
  equal(whole.objects[2]?.because, 'rule old: due 10 s after it was created (1970-01-01T01:23:20Z)')
  equal(whole.objects[0]?.admission?.by, 'rule')
  equal(whole.continue, null)
  const names: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: RulePlan = await asked.plan('old', `limit=1&continue=${cursor}`)
    names.push(...namesOf(page))
    equal(page.counts.due, 2)
    cursor = page.continue
  }
  deepEqual(names, namesOf(whole))
})

test('what is deleted along with an object is counted', async (t) => {
  const story = ['rule old rs 10', 'put rs/a', 'put pod/1 <- rs/a', 'put pod/2 <- rs/a']
  const asked = await asker(t, story)
  deepEqual(
    (await asked.plan('old')).objects.map(({ name, along }) => [name, along]),
    [['a', 2]],
  )
})

test('an object that its owners delete is not held by a rule', async (t) => {
  const asked = await asker(t, [
    ...['rule old cm 10', 'put rs/x', 'put cm/a <- rs/x', 'pause all', 'delete rs/x'],
  ])
  const { counts, objects } = await asked.plan('old')
  deepEqual([counts.due, counts.elsewhere, objects[0]?.by], [1, 1, 'owners'])
})

test('at a moment of the past the rules are those of then', async (t) => {
  const asked = await asker(t, STORY)
  const [{ position } = { position: null }] = (await asked.list()).asOf
  await asked.tell('rule old cm 100000 label:keep=no', 'delete cm/a')
  const at = `at=pos:0-${position}`
  match((await asked.list(at)).rules[0]?.rule.description ?? '', /10 s after/)
  match((await asked.list()).rules[0]?.rule.description ?? '', /100000 s after/)
  deepEqual(namesOf(await asked.plan('old', at)), ['c', 'a', 'later', 'latest'])
  equal((await asked.plan('old')).counts.due, 0)
  match((await asked.explain('old', at)).rule.description, /10 s after/)
})

test('an explanation says which terms hold for an object, and when it is due', async (t) => {
  const asked = await asker(t, STORY)
  const of = async (name: string) =>
    (await asked.explain('old', `kind=configmaps&name=${name}&namespace=ns`)).object
  const due = await of('a')
  deepEqual([due?.isRead, due?.isMatched, due?.isDue], [true, true, true])
  equal(due?.dueAt, '1970-01-01T00:01:50.000Z')
  const kept = await of('b')
  deepEqual([kept?.isMatched, kept?.dueAt], [false, null])
  deepEqual(kept?.terms, [
    { what: 'ConfigMaps', isTrue: true, value: 'ConfigMap' },
    { what: 'with label keep=no', isTrue: false, value: 'yes' },
  ])
  const unread = await of('before')
  deepEqual([unread?.isRead, unread?.isMatched, unread?.terms[1]?.isTrue], [false, null, null])
  match(unread?.unreadBecause ?? '', /not read of it yet/)
  const whole = await asked.explain('old')
  deepEqual(whole.match, ['ConfigMaps', 'with label keep=no'])
  deepEqual(whole.reads, [
    { group: '', kind: 'ConfigMap', labels: ['keep'], annotations: [], fields: [] },
  ])
  equal(whole.object, null)
})

test('a rule that is not there is refused with those that are', async (t) => {
  const asked = await asker(t, STORY)
  for (const path of ['/v1/rules?name=new', '/v1/rules/new', '/v1/rules/new/plan']) {
    const { status, detail } = await asked.answer(path)
    deepEqual([status, detail], [404, 'the policy has no rule new; rules: old'], path)
  }
  const { status } = await asked.answer('/v1/rules/old/plan?continue=x')
  equal(status, 400)
})

test('who may see one namespace learns of the rules about it, and of its objects', async (t) => {
  const story = [
    ...['rule old cm 10', 'rule other cm 10 namespace:other'],
    ...['put cm/a in shop', 'put cm/b in shop', 'put cm/c in other', 'put rs/d in shop'],
  ]
  const asked = await asker(t, story, { authority: ONLY_SHOP, isReadingReviewed: true })
  const mine = 'cluster=c&namespace=shop'
  const { rules, partial } = await asked.list(mine)
  deepEqual(
    rules.map(({ rule, clusters }) => [rule.name, clusters[0]?.counts.due]),
    [['old', 2]],
  )
  match(partial, /left out/)
  deepEqual(namesOf(await asked.plan('old', mine)), ['a', 'b'])
  const other = 'cluster=c&namespace=other'
  for (const path of [
    ...['', '?cluster=c', '?namespace=shop', '/old', '/old/plan?cluster=c'],
    ...[`?${other}`, `/old/plan?${other}`],
  ]) {
    equal((await asked.answer(`/v1/rules${path}`)).status, 403, path)
  }
  equal((await asked.answer(`/v1/rules/other/plan?${mine}`)).status, 404)
  equal((await asked.explain('old', `kind=configmaps&name=a&${mine}`)).object?.name, 'a')
  equal(
    (await asked.answer('/v1/rules/old?kind=configmaps&name=c&namespace=other&cluster=c')).status,
    403,
  )
})

test('a rule in words has all that it decides by', () => {
  const text = ruleText(
    ruleIn(
      'r deploy 90 namespace:a namespace:b-* not-namespace:b-x no-label:keep for:600 foreground limit:5 percent:10 when:status.phase=Done since:status.endedAt',
    ),
  )
  equal(
    text,
    'Deployments (apps), 90 s after status.endedAt where status.phase is Done, in namespaces a or b-*, not in namespace b-x, without label keep, once that was so for 10 min; deleted with their dependents first; all of it is held where more than 5, or 10 % of the kind, become due within an hour.',
  )
})

test('of a rule that keeps the newest the plan has what is beyond', async (t) => {
  const story = ['rule history cm 0 keep:1', 'put cm/a [created:1]', 'put cm/b [created:2]']
  const asked = await asker(t, story)
  const { counts } = (await asked.list()).rules[0]?.clusters[0] ?? {}
  deepEqual([counts?.matched, counts?.due, counts?.held.rule], [2, 1, 1])
  deepEqual(namesOf(await asked.plan('history')), ['a'])
  const { object } = await asked.explain('history', 'kind=configmaps&name=b&namespace=ns')
  deepEqual([object?.isMatched, object?.isDue], [true, false])
  deepEqual(object?.terms.at(-1), {
    ...{ what: 'beyond the newest 1 of the cluster', isTrue: false, value: null },
  })
  // It is not beyond them, so no sentence says that it is due since it is.
  equal(object?.cases[0]?.because, '')
})

test('where a time cannot be read an explanation has what was read in its place', async (t) => {
  const story = ['rule ttl cm 0 ttl:ttl', 'put cm/a [annotation:ttl=soon]', 'put cm/b']
  const asked = await asker(t, story)
  const of = async (name: string) => {
    const query = `kind=configmaps&name=${name}&namespace=ns`
    const { object } = await asked.explain('ttl', query)
    return [object?.dueAt, object?.cases[0]?.because]
  }
  deepEqual(await of('a'), [null, 'annotation ttl is "soon"'])
  deepEqual(await of('b'), [null, 'annotation ttl is not set'])
})

test('of a rule about what names no Node the plan has what names none that is known', async (t) => {
  const story = [
    'rule lost pod 0 for:40 no-node:spec.nodeName',
    'put node/n1',
    'put pod/a [field:spec.nodeName=n1]',
    'put pod/b [field:spec.nodeName=n2]',
  ]
  const asked = await asker(t, story)
  deepEqual(namesOf(await asked.plan('lost')), ['b'])
  const { object } = await asked.explain('lost', 'kind=pods&name=a&namespace=ns')
  deepEqual(object?.terms.at(-1), {
    ...{ what: 'no Node has the name in spec.nodeName', isTrue: false, value: 'n1' },
  })
})

test('a rule in words says what it takes of other objects', () => {
  const text = (rule: string): string => ruleText(ruleIn(rule))
  equal(
    text('mark cm 60 annotate:example.com/stale=yes'),
    'ConfigMaps, 1 min after they are created; annotated with example.com/stale="yes", and not deleted.',
  )
  equal(
    text('terminated pod 0 keep:9 first:status.reason=Evicted'),
    'Pods, as soon as they are created, but for the newest 9 of the cluster (oldest are those where status.reason is Evicted).',
  )
  equal(
    text('orphaned pod 0 for:40 terminating grace:0 no-node:spec.nodeName'),
    'Pods, as soon as their deletion was requested, that are being deleted already, while no Node has the name in spec.nodeName, once that was so for 40 s; with no grace period.',
  )
})

test('who uses an object is named to a user who may see it, and to no other', async (t) => {
  const story = [
    ...['rule free cm 0 unused:100', 'beat 10', 'put cm/a in shop', 'put cm/b in shop'],
    ...['put pod/zebra in shop [uses:cm=a,b]', 'put pod/zebra-2 in shop [uses:cm=a]', 'beat 60'],
    ...['delete pod/zebra', 'beat 60', 'beat 60', 'put pod/zebra-3 in shop [unread]'],
  ]
  const limited = { authority: ONLY_SHOP, isReadingReviewed: true }
  for (const options of [limited, {}]) {
    const asked = await asker(t, story, options)
    const texts: unknown[] = []
    for (const more of [[], ['delete pod/zebra-3', 'beat 60', 'beat 60']]) {
      await asked.tell(...more)
      for (const name of ['a', 'b']) {
        const object = `kind=configmaps&name=${name}&namespace=shop&cluster=c`
        texts.push(await asked.explain('free', object), await asked.read(`/v1/why?${object}`))
        texts.push(await asked.read(`/v1/tree?uses=true&${object}`))
      }
      const mine = 'cluster=c&namespace=shop'
      texts.push(await asked.plan('free', mine), await asked.read(`/v1/changes?${mine}`))
      texts.push(await asked.read(`/v1/held?${mine}`))
    }
    const text = JSON.stringify(texts)
    equal(/zebra/.test(text), options !== limited, text.match(/.{200}zebra.{50}/)?.[0])
    match(text, /used by an object/)
    match(text, /unused since \S+ \(until then what an object uses was not read\)/)
  }
})
