/**
 * Objects are listed a page at a time, and whatever changes between two pages, what exists
 * throughout is listed once. `OBJECTS=n` lists n of them.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import type { Event } from '../../../../core/model/event.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import { serveEndpoint } from '../../../../runtime/http/endpoint.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { runs } from '../../../../testing/hostile.ts'
import { World } from '../../../../testing/model/story.ts'
import { GraphGroup, type GraphProcess, tell } from '../../../../testing/rig/graph-group.ts'
import { indexOver } from '../../../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  codec,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../../testing/rig/task-rig.ts'
import type { Document } from '../../api/document.ts'
import { addGraphRoutes } from '../../http.ts'
import { createQuestions } from '../../questions.ts'
import type { ListAnswer } from '../ask/list-question.ts'
import type { ListedObject } from './object-list.ts'

const MOST_PAGES = 1_000
const OBJECTS = Number(process.env['OBJECTS'] ?? 2_000)

type Told = Document & ListAnswer

interface Lister {
  /** Lines of a story; they are folded when it returns. */
  step(...lines: readonly string[]): Promise<void>
  page(query: string, cursor?: string | null): Promise<Told>
  all(query: string, between?: () => Promise<void>): Promise<ListedObject[]>
  refused(query: string): Promise<{ readonly status: number; readonly detail: string }>
}

async function pageOf(url: string, query: string, cursor: string | null, init?: RequestInit) {
  const rest = cursor === null ? '' : `&continue=${cursor}`
  const asked = `${url}/v1/objects?${query}${rest}`
  const response = await checked(asked, await fetch(asked, init))
  const text = await response.text()
  equal(response.status, 200, `${query}: ${text}`)
  return JSON.parse(text) as Told
}

/** Until the last page. */
async function allOf(
  url: string,
  query: string,
  between: () => Promise<void> = async () => undefined,
  init?: RequestInit,
): Promise<ListedObject[]> {
  const all: ListedObject[] = []
  for (let cursor: string | null = null, pages = 1; ; await between(), pages++) {
    ok(pages <= MOST_PAGES, 'it does not end')
    const answer = await pageOf(url, query, cursor, init)
    all.push(...answer.objects)
    if (answer.continue === null) return all
    cursor = answer.continue
  }
}

async function lister(t: Pick<TestContext, 'after'>): Promise<Lister> {
  const clock = systemClock()
  let now = 1_000_000
  const log = new MemoryLog({ partitions: 1, clock: { ...clock, now: () => ++now } })
  const world = new World()
  const events: Event[] = []
  const fold = world.tell.bind(world)
  world.tell = (event) => {
    events.push(event)
    return fold(event)
  }
  world.begin()
  await assign(log)
  const running = runTask(log, emptyStore())
  const index = indexOver(log, clock)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const parts = createQuestions({ log, codec, clock, graph, index })
  const { url, server } = await serveEndpoint(
    {
      add: (routes) => addGraphRoutes(routes, parts),
      version: 'test',
      checks: () => [],
      scrape: async () => '',
    },
    { address: '127.0.0.1:0' },
  )
  t.after(async () => {
    await server.close()
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
  })
  return {
    async step(...lines) {
      for (const line of lines) world.step(line)
      await appendAll(log, events.splice(0))
      await running.caughtUp()
    },
    page: async (query, cursor = null) => await pageOf(url, query, cursor),
    all: async (query, between) => await allOf(url, query, between),
    async refused(query) {
      const response = await fetch(`${url}/v1/objects?${query}`)
      return (await response.json()) as { status: number; detail: string }
    },
  }
}

function names(objects: readonly ListedObject[]): string[] {
  return objects.map(({ kind, namespace, name, phase }) => `${kind} ${namespace}/${name} ${phase}`)
}

const STORY = [
  'put deploy/web in shop',
  'put rs/a in shop <- deploy/web',
  'put pod/p in shop <- rs/a',
  'put pod/q in other',
  'put node/n',
  'put pod/old in shop',
  'delete pod/old in shop',
]

test('objects are listed by kind, namespace and name, deleted ones where they are asked for', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['kind=pods', ['Pod other/q observed', 'Pod shop/p observed']],
    ['kind=Pod&namespace=shop', ['Pod shop/p observed']],
    ['kind=pod&namespace=shop&gone=true', ['Pod shop/old gone', 'Pod shop/p observed']],
    ['kind=pod&namespace=shop&name=old', []],
    ['kind=pod&namespace=shop&name=old&gone=true', ['Pod shop/old gone']],
    ['kind=pod&namespace=shop&name=p', ['Pod shop/p observed']],
    ['kind=nodes&namespace=shop', ['Node /n observed']],
    ['kind=nodes&namespace=shop&name=n', ['Node /n observed']],
    ['kind=replicasets.apps', ['ReplicaSet shop/a observed']],
    ['kind=persistentvolumes', []],
    [
      'namespace=shop',
      ['Deployment shop/web observed', 'Pod shop/p observed', 'ReplicaSet shop/a observed'],
    ],
  ]
  for (const [query, expected] of cases) {
    for (const limit of [1, 2, 500]) {
      deepEqual(names(await asked.all(`${query}&limit=${limit}`)).sort(), expected, query)
    }
  }
})

test('times are RFC 3339, and of a deleted object it is said when that was', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  const [pod] = (await asked.page('kind=pod&namespace=shop')).objects
  equal(pod?.createdAt, '1970-01-01T00:00:00.000Z')
  deepEqual(pod.owners, ['rs-a'])
  const [gone] = (await asked.page('kind=pod&namespace=shop&name=old&gone=true')).objects
  match(gone?.goneAt ?? '', /^1970-01-01T00:16:\d\d\.\d{3}Z$/)
})

test('of a deleted object with a long list of owners the first are shown, and the others counted', async (t) => {
  const asked = await lister(t)
  const owners = Array.from({ length: 70 }, (_, index) => `deploy/o${index}`)
  await asked.step(`put pod/old in shop <- ${owners.join(', ')}`)
  const look = async () =>
    (await asked.page('kind=pod&namespace=shop&name=old&gone=true')).objects[0]
  const there = await look()
  deepEqual([there?.owners.length, there?.moreOwners], [70, 0])
  await asked.step('delete pod/old in shop')
  const gone = await look()
  deepEqual([gone?.owners.length, gone?.moreOwners], [16, 54])
})

test('a count lists nothing', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  const { objects, count, kinds, continue: next } = await asked.page('count=true&gone=true')
  deepEqual([objects, count, kinds, next], [[], 6, [], null])
})

test('a kind that is not listed yet, or not watched, is no empty list', async (t) => {
  const asked = await lister(t)
  await asked.step('serve widget')
  match((await asked.page('kind=widgets')).partial, /widgets.example.com is not listed yet/)
  match((await asked.page('namespace=shop')).partial, /widgets.example.com is not listed yet/)
  await asked.step('serve widget unmonitored')
  match((await asked.page('kind=widgets')).partial, /widgets.example.com is not watched/)
})

test('what cannot be answered is refused with a sentence', async (t) => {
  const asked = await lister(t)
  await asked.step(...STORY)
  const cursor = (await asked.page('kind=pods&limit=1')).continue
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['labelSelector=a%3Db', 400, /Kinfold keeps no labels/],
    ['limit=0', 400, /limit 0 is no whole number from 1 on/],
    ['name=p', 400, /a name takes a kind and a namespace/],
    ['gone=maybe', 400, /gone maybe is none of true, false/],
    ['continue=xyz', 400, /continue is not from an answer to this question/],
    [`gone=true&continue=${cursor}`, 400, /continue is not from an answer to this question/],
    ['cluster=nowhere', 404, /there is no cluster nowhere; known clusters: test/],
  ]
  for (const [query, expected, sentence] of cases) {
    const { status, detail } = await asked.refused(query)
    equal(status, expected, detail)
    match(detail, sentence)
  }
})

test('while objects change, what exists throughout is listed once, and nothing twice', async () => {
  const change = fc.record({
    what: fc.constantFrom('put', 'delete', 'touch'),
    number: fc.integer({ min: 0, max: 11 }),
  })
  const asking = fc.record({
    limit: fc.integer({ min: 1, max: 5 }),
    gone: fc.boolean(),
    kind: fc.constantFrom('', 'pods', 'persistentvolumes'),
    batches: fc.array(fc.array(change, { maxLength: 4 }), { minLength: 1, maxLength: 8 }),
  })
  await fc.assert(
    fc.asyncProperty(asking, async ({ limit, gone, kind, batches }) => {
      const ends: (() => Promise<void>)[] = []
      try {
        const asked = await lister({ after: (end) => void ends.push(end as () => Promise<void>) })
        // Ids that are prefixes of others sort differently with a separator after them.
        const uids = ['a', 'a-', 'a-0', 'a-b', 'b', 'b-', 'c', 'c0', 'd-1', 'e', 'f', 'g']
        const there = new Set([0, 3, 6])
        await asked.step(...uids.map((uid, at) => `put pod/stay-${at}@${uid}`), 'put cm/other')
        await asked.step(...[...there].map((at) => `put pod/change-${at}@${uids[at]}x`))
        let round = 0
        const listed = await asked.all(`kind=${kind}&limit=${limit}&gone=${gone}`, async () => {
          for (const { what, number } of batches[round++ % batches.length] ?? []) {
            // New ones are added after every key that was read, too: it ends all the same.
            if (round > 60) return
            const id = `pod/change-${number}@${uids[number]}x`
            if (what === 'delete' && there.delete(number)) await asked.step(`delete ${id}`)
            if (what === 'put') await asked.step(`put pod/new-${number}@${uids[number]}y${round}`)
            if (what === 'touch') await asked.step(`put pod/stay-${number}@${uids[number]}`)
          }
        })
        const seen = listed.map(({ uid }) => uid)
        equal(new Set(seen).size, seen.length, `twice: ${seen}`)
        const stays = seen.filter((uid) => uids.includes(uid)).sort()
        deepEqual(stays, kind === 'persistentvolumes' ? [] : uids.toSorted())
      } finally {
        for (const end of ends) await end()
      }
    }),
    runs(25),
  )
})

test(`${OBJECTS} objects are listed once while others are created and deleted`, async (t) => {
  const asked = await lister(t)
  await asked.step(`many ${OBJECTS} pod/p#`, 'many 100 cm/c#')
  for (const gone of [false, true]) {
    let round = 0
    const started = performance.now()
    const listed = await asked.all(`kind=pods&gone=${gone}`, async () => {
      round += 1
      await asked.step(
        `put pod/n${round}${gone}`,
        `delete pod/n${round}${gone}`,
        `put pod/m${round}${gone}`,
      )
    })
    t.diagnostic(`gone=${gone}: ${round} pages, ${Math.round(performance.now() - started)} ms`)
    const uids = new Set(listed.map(({ uid }) => uid))
    equal(uids.size, listed.length)
    for (let at = 0; at < OBJECTS; at++) ok(uids.has(`pod-p${at}`), `pod-p${at}`)
  }
})

const NAME_OF: Readonly<Record<string, string>> = { c: 'test', d: 'north' }

/** Two clusters, each in a process of its own. */
async function two(
  t: TestContext,
  options: readonly [object, object] = [{}, {}],
): Promise<{ readonly group: GraphGroup; readonly all: readonly GraphProcess[] }> {
  const group = new GraphGroup(2)
  t.after(async () => await group.stop())
  const all: GraphProcess[] = []
  for (const each of options) all.push(await group.start(each))
  const story = [...STORY, 'cluster d', ...STORY, 'put cm/only-d in shop']
  const events = eventsOf(story).map((event) =>
    event.type === 'WatcherStarted' ? { ...event, name: NAME_OF[event.cluster] ?? '' } : event,
  )
  await tell(group.log, events, (cluster) => (cluster === 'd' ? 1 : 0))
  await group.caughtUp()
  return { group, all }
}

test('either of two processes lists the objects of all clusters', async (t) => {
  const { all } = await two(t)
  for (const { url } of all) {
    for (const query of ['limit=2', 'gone=true&limit=3', 'kind=pods&gone=true']) {
      const objects = await allOf(url, query)
      const ids = objects.map(({ cluster, uid }) => `${cluster.name} ${uid}`)
      equal(new Set(ids).size, ids.length)
      const some = query.startsWith('kind') ? 6 : query.startsWith('gone') ? 13 : 11
      equal(ids.length, some, `${query}: ${ids}`)
    }
    const north = await allOf(url, 'cluster=north&kind=configmaps')
    deepEqual(names(north), ['ConfigMap shop/only-d observed'])
  }
})

test('a cluster that cannot be asked is passed over, and named', async (t) => {
  const { all } = await two(t)
  const [first, second] = all
  ok(first !== undefined && second !== undefined)
  const away = first.graph.tasks.some(({ partition }) => partition === 0) ? second : first
  const asked = away === first ? second : first
  await away.kill()
  const listed: ListedObject[] = []
  const partials = new Set<string>()
  for (let cursor: string | null = null; ; ) {
    const { partial, ...answer } = await pageOf(asked.url, 'limit=100', cursor)
    listed.push(...answer.objects)
    partials.add(partial)
    cursor = answer.continue
    if (cursor === null) break
  }
  equal(listed.length, 5)
  match([...partials].join(), /cluster north cannot be asked/)
  const refused = await fetch(`${asked.url}/v1/objects?cluster=north`)
  equal(refused.status, 503)
})

test('who may not see the whole graph is refused, whatever is asked for', async (t) => {
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster) => cluster !== null,
  }
  const limited = { authority, isReadingReviewed: true }
  const { all } = await two(t, [limited, limited])
  const init = { headers: { authorization: 'Bearer ann' } }
  for (const { url } of all) {
    for (const query of [
      '',
      'gone=true',
      'kind=pods&namespace=shop',
      'cluster=nowhere',
      'limit=x',
    ]) {
      equal((await fetch(`${url}/v1/objects?${query}`, init)).status, 403, query)
    }
  }
})
