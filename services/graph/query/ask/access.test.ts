/**
 * Who may read in one namespace is answered about an object of it by plan, cascade, dependents and
 * held: what that user may not get is counted, and nothing else of it is in the answer. The same
 * questions of a user who may see the whole graph show that there is something to hide.
 */
import { deepEqual, doesNotMatch, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { GraphGroup, type GraphProcess, tell } from '../../../../testing/rig/graph-group.ts'
import { BREAKER_STORY, eventsOf } from '../../../../testing/rig/task-rig.ts'
import { SettableClock } from '../../../../testing/settable-clock.ts'

/** Ann reads pods and nodes in `shop`, bob the whole graph, eve nothing. */
const authority: Authority = {
  identify: async ({ authorization = '' }) => {
    const name = authorization.replace('Bearer ', '')
    return { name, uid: '', groups: [], extra: {} }
  },
  may: async ({ name }, cluster, { verb, resource, namespace, name: object }) => {
    if (name === 'bob') return true
    if (name !== 'ann' || cluster !== 'c' || !['get', 'list'].includes(verb)) return false
    if (resource === 'pods') return namespace === 'shop'
    return resource === 'nodes' && object === 'n' && verb === 'get'
  },
}
const LIMITED = { authority, isReadingReviewed: true }

/** One of each in `shop` that ann may get; the others are called zebra. */
const TREE = [
  'put node/n',
  'put pod/mine in shop <- node/n',
  'put pod/zebra in vault <- node/n',
  'put cm/zebra-mine in shop <- pod/mine',
  'put cm/zebra in vault <- pod/zebra@pod-zebra',
  'put pv/zebra <- node/n',
]
const ANY_OF_HIDDEN = /zebra|vault|ConfigMap|PersistentVolume/

type Told = Readonly<Record<string, unknown>> & {
  readonly hidden: number
  readonly partial: string
}

interface Asked {
  readonly status: number
  readonly text: string
  readonly told: Told
}

type Ask = (who: string, path: string) => Promise<Asked>

async function asking(t: TestContext, story: readonly string[], processes = 1): Promise<Ask> {
  const group = new GraphGroup(processes)
  t.after(async () => await group.stop())
  const started: GraphProcess[] = []
  for (let each = 0; each < processes; each++) started.push(await group.start(LIMITED))
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  let turn = 0
  return async (who, path) => {
    const url = `${started[turn++ % processes]?.url}/v1/${path}`
    const response = await checked(
      url,
      await fetch(url, { headers: { authorization: `Bearer ${who}` } }),
    )
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.includes('json') === true
    return { status: response.status, text, told: isJson ? JSON.parse(text) : {} }
  }
}

function sumOf(rows: unknown): number {
  return (rows as readonly { readonly count: number }[]).reduce((sum, { count }) => sum + count, 0)
}

const PLANS = [
  'plan?uid=node-n',
  'plan?uid=node-n&cascade=orphan',
  'plan?uid=node-n&cascade=foreground',
]

test('a plan names what its reader may get, and counts the rest', async (t) => {
  const ask = await asking(t, TREE)
  for (const path of PLANS) {
    const [bob, ann] = [await ask('bob', path), await ask('ann', path)]
    match(bob.text, ANY_OF_HIDDEN)
    deepEqual([bob.told.hidden, bob.told.partial], [0, ''])
    match(String(bob.told['digest']), /^sha256:/)
    equal(ann.status, 200, ann.text)
    doesNotMatch(ann.text, ANY_OF_HIDDEN)
    match(ann.text, /"name":"mine"/)
    ok(ann.told.hidden > 0)
    match(ann.told.partial, /^\d objects are hidden: they are counted, and not listed$/)
    equal(ann.told['total'], bob.told['total'])
    equal(sumOf(ann.told['counts']) + ann.told.hidden, sumOf(bob.told['counts']))
    equal(ann.told['digest'], null)
  }
})

test('what a plan would hold is told of what its reader may get alone', async (t) => {
  const ask = await asking(t, [
    ...['cluster d', 'cluster c', ...BREAKER_STORY, 'put node/n', 'put pod/mine in shop <- node/n'],
    ...['put rs/zebra', 'put pod/zebra <- node/n, rs/zebra'],
  ])
  const [bob, ann] = [await ask('bob', 'plan?uid=node-n'), await ask('ann', 'plan?uid=node-n')]
  const holds = (asked: Asked): string => (asked.told['holds'] as readonly string[]).join()
  match(holds(bob), /the breaker of namespace ns is open/)
  match(holds(bob), /2 objects would be held/)
  match(holds(ann), /^1 object would be held/)
})

test('a cascade names what its reader may get, and counts the rest', async (t) => {
  const ask = await asking(t, [
    ...TREE,
    'put cm/gone in vault <- node/n',
    'delete node/n',
    'delete cm/gone in vault',
    'put pod/mine in shop <- node/n [deleting h.io/x]',
    'put pod/zebra in vault <- node/n [deleting h.io/x]',
  ])
  const [bob, ann] = [
    await ask('bob', 'cascade?uid=node-n'),
    await ask('ann', 'cascade?uid=node-n'),
  ]
  match(bob.text, ANY_OF_HIDDEN)
  equal((bob.told['blocked'] as readonly unknown[]).length, 2)
  equal(ann.status, 200, ann.text)
  doesNotMatch(ann.text, ANY_OF_HIDDEN)
  deepEqual(
    (ann.told['blocked'] as readonly { readonly name: string }[]).map(({ name }) => name),
    ['mine'],
  )
  for (const field of ['done', 'remaining', 'progress', 'since']) {
    deepEqual(ann.told[field], bob.told[field], field)
  }
  deepEqual(ann.told['kinds'], [{ group: '', kind: 'Pod', done: 0, remaining: 1 }])
  equal(ann.told.hidden, Number(ann.told['done']) + Number(ann.told['remaining']) - 1)
  match(ann.told.partial, /\d objects are hidden/)
})

test('a cascade that is followed hides the same, in each line', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  let mayStill = true
  const may: Authority['may'] = async (...asked) => mayStill && (await authority.may(...asked))
  const { url } = await group.start({ ...LIMITED, authority: { ...authority, may } })
  const story = [...TREE, 'delete node/n']
  await tell(group.log, eventsOf(story))
  await group.caughtUp()
  const headers = { authorization: 'Bearer ann' }
  const response = await fetch(`${url}/v1/cascade?uid=node-n&follow=true`, { headers })
  const reader = (response.body as ReadableStream<Uint8Array>).getReader()
  const line = async (): Promise<string> =>
    Buffer.from((await reader.read()).value ?? []).toString()
  const first = await line()
  doesNotMatch(first, ANY_OF_HIDDEN)
  equal(JSON.parse(first).hidden, 4)
  const more = 'put pod/zebra-2 in vault <- node/n'
  await tell(group.log, eventsOf([...story, more]).slice(eventsOf(story).length))
  const second = await line()
  doesNotMatch(second, ANY_OF_HIDDEN)
  equal(JSON.parse(second).hidden, 5)
  // Who lost the right gets no more lines.
  mayStill = false
  const last = [more, 'put pod/zebra-3 in vault <- node/n']
  const told = eventsOf([...story, more]).length
  await tell(group.log, eventsOf([...story, ...last]).slice(told))
  await reader.read().then(
    ({ done }) => ok(done),
    () => undefined,
  )
})

test('what is not reviewed in time, or is too much, is hidden', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  const clock = new SettableClock()
  let isSlow = true
  const may: Authority['may'] = async (_user, cluster) => {
    if (cluster !== null && isSlow) clock.pass(6_000)
    return cluster !== null
  }
  const { url } = await group.start({ ...LIMITED, clock, authority: { ...authority, may } })
  const namespaces = Array.from({ length: 230 }, (_, at) => `put pod/p${at} in n${at} <- node/n`)
  await tell(group.log, eventsOf(['put node/n', ...namespaces]))
  await group.caughtUp()
  const hidden = async (): Promise<number> => {
    const headers = { authorization: 'Bearer ann' }
    const response = await fetch(`${url}/v1/plan?uid=node-n`, { headers })
    return ((await response.json()) as Told).hidden
  }
  // Of the node and a namespace there was an answer within ten seconds.
  equal(await hidden(), 229)
  isSlow = false
  equal(await hidden(), 31)
})

test('why names no other object than its reader may get', async (t) => {
  const waiting = [
    ...['put node/n', 'put pod/zebra in vault <- node/n! [deleting]', 'beat 5 pod 600'],
    ...['put node/n [deleting foreground]', 'put pv/zebra', 'put pod/mine in shop <- pv/zebra'],
    ...['pause', 'delete pv/zebra', 'put pv/zebra@zebra-again'],
  ]
  const ask = await asking(t, waiting)
  const reasonOf = ({ told }: Asked): string =>
    (told['obstacle'] as { readonly reason: string } | null)?.reason ?? ''
  match(
    reasonOf(await ask('bob', 'why?uid=node-n')),
    /^it waits for Pod "zebra": the watch of pods/,
  )
  const ann = await ask('ann', 'why?uid=node-n')
  equal(reasonOf(ann), 'it waits for a dependent that you may not get')
  doesNotMatch(ann.text, ANY_OF_HIDDEN)
  // Its own references are a part of the object; what has that name now is another one.
  match((await ask('bob', 'why?uid=pod-mine')).text, /zebra-again/)
  doesNotMatch((await ask('ann', 'why?uid=pod-mine')).text, /zebra-again/)
})

test('dependents that their reader may not get have no name, and no page ends with one', async (t) => {
  const ask = await asking(t, TREE)
  let next = ''
  const rows: Readonly<Record<string, unknown>>[] = []
  do {
    const page = await ask('ann', `dependents?uid=node-n&limit=1&continue=${next}`)
    equal(page.status, 200, page.text)
    doesNotMatch(page.text, /zebra/)
    doesNotMatch(Buffer.from(String(page.told['continue']), 'base64url').toString(), /zebra/)
    rows.push(...(page.told['objects'] as typeof rows))
    next = String(page.told['continue'] ?? '')
  } while (next !== '')
  deepEqual(
    rows.map(({ kind, name, uid }) => [kind, name, uid]),
    [
      ['Pod', 'mine', 'pod-mine'],
      ['Pod', 'hidden', 'hidden'],
      ['PersistentVolume', 'hidden', 'hidden'],
    ],
  )
  match((await ask('bob', 'dependents?uid=node-n')).text, /pod-zebra/)
})

test('what is held in a namespace is told to who may list there, and of the rest nothing (T12)', async (t) => {
  const story = [
    ...['pause all', ...TREE, 'put cm/zebra-2 in shop <- node/n', 'delete node/n'],
    ...['protect namespace/vault', 'protect namespace/shop', 'protect kind/ConfigMap'],
  ]
  for (const processes of [1, 2]) {
    const ask = await asking(t, story, processes)
    const bob = await ask('bob', 'held')
    match(bob.text, ANY_OF_HIDDEN)
    equal((bob.told['protections'] as readonly unknown[]).length, 3)
    const whole = await ask('bob', 'held?namespace=shop')
    deepEqual([whole.told['total'], whole.told.hidden], [2, 0])
    for (let again = 0; again < processes; again++) {
      const ann = await ask('ann', 'held?cluster=c&namespace=shop')
      equal(ann.status, 200, ann.text)
      doesNotMatch(ann.text, ANY_OF_HIDDEN)
      deepEqual([ann.told['total'], ann.told.hidden], [1, 0])
      match(ann.told.partial, /what you may not list is left out/)
      const counts = ann.told['counts'] as readonly Readonly<Record<string, unknown>>[]
      deepEqual(
        counts.map(({ kind, namespace, count }) => [kind, namespace, count]),
        [['Pod', 'shop', 1]],
      )
      deepEqual(
        (ann.told['protections'] as readonly { readonly subject: string }[]).map(
          ({ subject }) => subject,
        ),
        ['namespace/shop'],
      )
    }
    const [{ position }] = bob.told['asOf'] as [{ readonly position: number }]
    const at = `at=pos:0-${position}`
    const path = 'held?cluster=c&namespace=shop'
    const [now, then] = [await ask('ann', path), await ask('ann', `${path}&${at}`)]
    deepEqual({ ...then.told, asOf: [] }, { ...now.told, asOf: [] })
    for (const moment of [at, 'at=2099-01-01T00:00:00Z', 'at=pos:0-99999', 'at=pos:7-1']) {
      for (const path of ['held?', 'held?cluster=c&', 'held?cluster=nowhere&namespace=shop&']) {
        deepEqual(await ask('ann', path + moment), await ask('ann', 'held'), path + moment)
      }
    }
    for (const path of [
      'held',
      'held?cluster=c',
      'held?namespace=shop',
      'held?cluster=c&namespace=',
    ])
      equal((await ask('ann', path)).status, 403, path)
    // Nor which clusters there are.
    deepEqual(await ask('ann', 'held?cluster=nowhere&namespace=shop'), await ask('ann', 'held'))
  }
})

test('whether there is a cluster is told to nobody who may list nothing of it (T12)', async (t) => {
  for (const processes of [1, 2]) {
    const ask = await asking(t, [...TREE, 'delete pod/mine'], processes)
    const refused = await ask('eve', 'held')
    const routes = ['held?', 'rules?', 'rules/any/plan?', 'lineage?', 'history?', 'deletions?']
    for (const route of [...routes, 'changes?']) {
      for (const moment of ['', '&at=pos:7-1', '&at=pos:0-99999', '&at=1999-01-01T00:00:00Z']) {
        if (moment !== '' && !/^(held|rules)/.test(route)) continue
        for (const [who, cluster, namespace] of [
          ['eve', 'c', 'shop'],
          ['eve', 'nowhere', 'shop'],
          ['ann', 'c', 'vault'],
          ['ann', 'nowhere', 'shop'],
        ] as const) {
          const path = `${route}cluster=${cluster}&namespace=${namespace}${moment}`
          for (let each = 0; each < processes; each++) {
            deepEqual(await ask(who, path), refused, `${who} ${path}`)
          }
        }
      }
    }
    equal((await ask('ann', 'held?cluster=c&namespace=shop&at=pos:7-1')).status, 400)
  }
})

test('whether there is an object is told to nobody who may not get it', async (t) => {
  const ask = await asking(t, [...TREE, 'delete pod/zebra'])
  const refusals = new Set<string>()
  for (const route of ['plan', 'cascade', 'dependents', 'tree', 'why']) {
    for (const which of ['uid=pod-zebra', 'uid=cm-zebra-mine', 'uid=never', 'kind=pods&name=x']) {
      refusals.add((await ask('ann', `${route}?${which}`)).text)
      refusals.add((await ask('eve', `${route}?${which}`)).text)
    }
    refusals.add((await ask('eve', `${route}?uid=node-n`)).text)
  }
  equal(refusals.size, 1, [...refusals].join())
  match([...refusals].join(), /"status":403/)
  // A user who may get it learns what is wrong with the question.
  equal((await ask('ann', 'cascade?uid=pod-mine')).status, 409)
  equal((await ask('ann', 'dependents?uid=pod-mine&continue=x')).status, 400)
})
