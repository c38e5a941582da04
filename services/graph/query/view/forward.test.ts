/**
 * Several graph processes share the clusters: any of them can be asked, the one that has the
 * cluster answers, or a sentence says why none does.
 */
import { deepEqual, equal, match, notEqual, ok, rejects, throws } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { Command } from '../../../../core/model/command.ts'
import type { CommandSettled, Event } from '../../../../core/model/event.ts'
import type { KeyRange, StorePage } from '../../../../ports/store.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import type { Authority } from '../../../../runtime/http/authority.ts'
import type { HttpToken } from '../../../../runtime/http/http-token.ts'
import { checked } from '../../../../testing/answer-check.ts'
import { eventually } from '../../../../testing/eventually.ts'
import {
  GraphGroup,
  type GraphProcess,
  type ProcessOptions,
  tell,
} from '../../../../testing/rig/graph-group.ts'
import { codec, eventsOf } from '../../../../testing/rig/task-rig.ts'
import { reachOf } from '../../fold/former/former-rows.ts'
import type { HeldAnswer } from '../answer/held.ts'
import { joinedDot } from '../ask/graph-dump.ts'

const PARTITIONS = 4
/** Of two processes the first has partitions 0 and 1, the second 2 and 3. */
const PARTITION_OF: Readonly<Record<string, number>> = { c: 0, d: 2, e: 3 }
const CLUSTERS = ['c', 'd', 'e']

/** The same in each cluster, but for one object; one restored copy of it has the same uids. */
const FAMILY = [
  'put deploy/web',
  'put rs/a <- deploy/web!',
  'many 3 pod/p# <- rs/a!',
  'put pod/lost <- rs/a, widget/x',
  'put rs/old',
  'put pod/of-old <- rs/old',
  'delete rs/old',
]
const STORY = [
  ...FAMILY,
  'put cm/only-c <- deploy/web',
  'cluster d',
  ...FAMILY,
  'put cm/only-d <- deploy/web',
  'cluster e',
  'put cm/only-e',
]

const QUESTIONS = [
  '/v1/tree?kind=deployment&name=web&namespace=ns&cluster=north',
  '/v1/tree?uid=pod-p1&owners=true&cluster=c',
  '/v1/why?kind=configmaps&name=only-d&namespace=ns',
  '/v1/why?uid=cm-only-c',
  '/v1/why?uid=pod-lost&cluster=d',
  '/v1/plan?uid=deploy-web&cluster=d',
  '/v1/plan?uid=deploy-web&cluster=c&cascade=orphan',
  '/v1/cascade?uid=rs-old&cluster=north',
  '/v1/plan/held?cluster=d',
  '/v1/held',
  '/v1/held?cluster=north',
  '/debug/graph',
  '/debug/graph?uid=pod-p0',
]

const NAME_OF: Readonly<Record<string, string>> = { c: 'test', d: 'north', e: 'south' }

/** The events that `more` adds to a story, with cluster names that differ. */
function eventsAfter(told: readonly string[], more: readonly string[]): readonly Event[] {
  const events = eventsOf([...told, ...more]).slice(told.length && eventsOf(told).length)
  return events.map((event) =>
    event.type === 'WatcherStarted' ? { ...event, name: NAME_OF[event.cluster] ?? '' } : event,
  )
}

function partitionOf(cluster: string): number {
  return PARTITION_OF[cluster] ?? 0
}

async function grouped(
  t: TestContext,
  options: readonly ProcessOptions[],
): Promise<{ group: GraphGroup; all: GraphProcess[] }> {
  const group = new GraphGroup(PARTITIONS)
  t.after(async () => await group.stop())
  const all: GraphProcess[] = []
  for (const each of options) all.push(await group.start(each))
  await tell(group.log, eventsAfter([], STORY), partitionOf)
  await group.caughtUp()
  return { group, all }
}

/** Two processes: one that does not have cluster d, and the one that has. */
async function two(
  t: TestContext,
  asked: ProcessOptions = {},
  having: ProcessOptions = {},
): Promise<{ group: GraphGroup; asked: GraphProcess; having: GraphProcess }> {
  const { group, all } = await grouped(t, [asked, having])
  const [first, second] = all
  ok(first !== undefined && second !== undefined)
  deepEqual([has(first, 'd'), has(second, 'd')], [false, true])
  return { group, asked: first, having: second }
}

function has({ graph }: GraphProcess, cluster: string): boolean {
  return graph.tasks.some(({ partition }) => partition === partitionOf(cluster))
}

async function textOf({ url }: GraphProcess, path: string, init?: RequestInit): Promise<string> {
  const response = await checked(url + path, await fetch(url + path, init), init?.method)
  const text = await response.text()
  equal(response.status, 200, `${path}: ${text}`)
  return text
}

async function refusal(
  { url }: GraphProcess,
  path: string,
  init?: RequestInit,
): Promise<{ status: number; detail: string }> {
  return (await (await fetch(url + path, init)).json()) as { status: number; detail: string }
}

async function answers(process: GraphProcess): Promise<Map<string, string>> {
  const told = new Map<string, string>()
  for (const path of QUESTIONS) told.set(path, await textOf(process, path))
  return told
}

for (const processes of [2, 3]) {
  test(`any of ${processes} processes answers as one that has all clusters`, async (t) => {
    const { group, all } = await grouped(t, Array(processes).fill({}))
    const told = []
    for (const process of all) told.push(await answers(process))
    const sent = all.map(({ forwarded }) => forwarded().count)
    ok(sent.filter((count) => count > 0).length > 1, `${sent}`)
    await group.stop()
    const alone = await group.start()
    await group.caughtUp()
    const expected = await answers(alone)
    equal(alone.forwarded().count, 0)
    for (const each of told) {
      for (const [path, text] of expected) equal(each.get(path), text, path)
    }
  })
}

test('a question that names its cluster is one request, and another one is sought for first', async (t) => {
  const { asked, having } = await two(t)
  const sent = async (process: GraphProcess, path: string): Promise<readonly number[]> => {
    const count = (): number[] => [asked.forwarded().count, having.forwarded().count]
    const before = count()
    await textOf(process, path)
    return count().map((each, at) => each - (before[at] ?? 0))
  }
  const plan = '/v1/plan?kind=deployment&name=web&namespace=ns&cluster=north'
  deepEqual(await sent(asked, plan), [0, 1])
  deepEqual(await sent(having, plan), [0, 0])
  deepEqual(await sent(asked, '/v1/tree?uid=cm-only-d'), [0, 2])
  deepEqual(await sent(asked, '/v1/tree?uid=cm-only-c'), [0, 1])
  deepEqual(await sent(having, '/v1/tree?uid=cm-only-d'), [1, 0])
  // What else has its name is in an answer of why.
  deepEqual(await sent(asked, '/v1/why?uid=cm-only-d&cluster=north'), [0, 1])
  deepEqual(await sent(asked, '/v1/why?uid=cm-only-d'), [1, 2])
})

test('names of objects are where their clusters are, and nowhere else', async (t) => {
  const { asked, having } = await two(t)
  for (const { index } of [asked, having]) await index.clusters.read()
  equal(having.index.namesOf('d').lastOf('d', 'cm-only-d')?.name, 'only-d')
  throws(() => asked.index.namesOf('d'), { code: 'CLOSED' })
  equal(asked.index.namesOf('c').lastOf('c', 'cm-only-c')?.name, 'only-c')
  // What clusters are called is known everywhere.
  match(await textOf(asked, '/v1/held?cluster=north'), /"total":0/)
})

test('who may not get an object is told of none by a process that seeks it', async (t) => {
  const authority: Authority = {
    identify: async () => ({ name: 'ann', uid: '', groups: [], extra: {} }),
    may: async (_user, cluster, { resource }) => cluster === 'c' && resource === 'deployments',
  }
  const options = { authority, isReadingReviewed: true }
  const { asked, having } = await two(t, options, options)
  const path = '/v1/tree?kind=deployment&name=web&namespace=ns'
  for (const process of [asked, having]) {
    const { root } = JSON.parse(await textOf(process, path, bearer('ann')))
    equal(root.uid, 'deploy-web')
    equal((await refusal(process, '/v1/tree?uid=cm-only-d', bearer('ann'))).status, 403)
  }
})

test('a name that several clusters have is told with them, and what else has it is known', async (t) => {
  const { all } = await grouped(t, [{}, {}])
  for (const process of all) {
    const path = '/v1/why?kind=deployments&name=web&namespace=ns'
    const { status, detail } = await refusal(process, path)
    equal(status, 409)
    match(detail, /ambiguous \(north Deployment.apps, test Deployment.apps\): add --cluster$/)
    const { others } = JSON.parse(await textOf(process, `${path}&cluster=d`))
    deepEqual(others, [])
    const mistyped = await refusal(process, '/v1/why?kind=deplo&name=web&namespace=ns&cluster=d')
    equal(mistyped.status, 404)
    match(
      mistyped.detail,
      /^cluster north serves no kind deplo; of that name there is Deployment.apps\/web/,
    )
  }
})

test('while a process is dead, its clusters are refused with a sentence, and others are whole', async (t) => {
  const { asked, having } = await two(t)
  const whole = await answers(asked)
  await having.kill()
  const unknown = await refusal(asked, '/v1/why?uid=cm-only-d')
  equal(unknown.status, 503)
  match(
    unknown.detail,
    /^whether an object with uid cm-only-d was ever seen is not known: partitions 2, 3 of 4: http:/,
  )
  for (const path of [
    '/v1/tree?uid=deploy-web&cluster=north',
    '/v1/plan?uid=deploy-web&cluster=d',
    '/v1/cascade?uid=rs-old&cluster=d&follow=true',
    '/v1/plan/held?cluster=north',
  ]) {
    const { status, detail } = await refusal(asked, path)
    equal(status, 503, path)
    match(
      detail,
      /^cluster north cannot be asked, ask again later: partition 2 of 4: http:\S+ cannot/,
    )
  }
  equal(JSON.parse(await textOf(asked, '/v1/plan?uid=deploy-web&cluster=c')).partial, '')
  // Another cluster may have it, too.
  match(
    JSON.parse(await textOf(asked, '/v1/tree?uid=cm-only-c')).partial,
    /^others of that name, or uid, are not known: partitions 2, 3 of 4: http:/,
  )
  const { partial, ...answer } = JSON.parse(await textOf(asked, '/v1/held'))
  match(partial, /^partitions 2, 3 of 4: http:\S+ cannot be asked: /)
  equal(answer.total, 0)
  equal(JSON.parse(await textOf(asked, '/v1/held?cluster=c')).partial, '')
  const dot = await textOf(asked, '/debug/graph')
  match(
    dot,
    /"c\/cm-only-c" \[.*\n {2}\/\/ This may be incomplete: partitions 2, 3 of 4: .*\n\}\n$/s,
  )

  await having.expire()
  await eventually('the other one has all', async () => CLUSTERS.every((each) => has(asked, each)))
  await eventually('it folds, and has read what was before', async () => !isBehind(asked))
  const now = await answers(asked)
  for (const [path, text] of whole) equal(now.get(path), text, path)
})

function isBehind({ graph }: GraphProcess): boolean {
  return graph.tasks.some((task) => {
    const isFilled = reachOf(task.store, codec)?.isFilled !== false
    return task.status().state !== 'folding' || !isFilled
  })
}

test('a cluster that moves before the request arrives is looked up again', async (t) => {
  let move = async (): Promise<void> => undefined
  const { group, asked, having } = await two(t, {}, { onForwarded: async () => await move() })
  const third = await group.start()
  await group.caughtUp()
  const expected = await textOf(asked, '/v1/plan?uid=deploy-web&cluster=d')
  move = async () => {
    move = async () => undefined
    having.leave()
    await group.caughtUp()
  }
  equal(await textOf(asked, '/v1/plan?uid=deploy-web&cluster=d'), expected)
  equal(has(having, 'd'), false)
  ok(has(third, 'd') || has(asked, 'd'))
})

/** Only questions read its edges; a test can make them wait there. */
class WatchedStore extends MemoryStore {
  onEdges: () => Promise<void> = async () => undefined

  override async page(range: KeyRange): Promise<StorePage> {
    if (range.gte.startsWith('edge/')) await this.onEdges()
    return await super.page(range)
  }
}

test('a cluster that moves while the answer is made is answered by who has it then', async (t) => {
  const stores: WatchedStore[] = []
  const openStore = (): WatchedStore => {
    const store = new WatchedStore()
    stores.push(store)
    return store
  }
  const { group, asked, having } = await two(t, {}, { openStore })
  const expected = await textOf(asked, '/v1/tree?uid=deploy-web&cluster=d')
  let moves = 0
  for (const store of stores) {
    store.onEdges = async () => {
      if (moves++ > 0) return
      having.leave()
      await group.caughtUp()
    }
  }
  equal(await textOf(asked, '/v1/tree?uid=deploy-web&cluster=d'), expected)
  equal(moves, 1)
  equal(has(asked, 'd'), true)
})

test('a request that is sent in a circle is sent on once, and given up after three', async (t) => {
  const urls: string[] = []
  const lost = (at: number) => () => new Map([[2, urls[at] ?? '']])
  const [first, second] = [{ owners: lost(1) }, { owners: lost(0) }]
  const { all } = await grouped(t, [first, {}, second])
  const [asked, having, other] = all
  ok(asked !== undefined && having !== undefined && other !== undefined)
  urls.push(asked.url, other.url)
  const path = '/v1/why?uid=cm-only-d&cluster=d'
  equal(has(having, 'd'), true)
  const { status, detail } = await refusal(asked, path)
  equal(status, 503)
  match(detail, /^cluster north cannot .*: partition 2 of 4: http:\S+ does not have it any more$/)
  const counts = all.map(({ forwarded }) => forwarded().count)
  deepEqual(counts, [0, 0, 3])
})

test('a process that is asked for all that it has, and lacks some, is not taken at its word', async (t) => {
  const urls: string[] = []
  const all = [0, 1, 2, 3]
  const owners = (): ReadonlyMap<number, string> =>
    new Map(all.map((each) => [each, urls[0] ?? '']))
  // A partition each: one without a cluster is asked.
  const { all: processes } = await grouped(t, [{}, {}, { owners }, {}])
  const [, having, asked] = processes
  ok(asked !== undefined && having !== undefined)
  urls.push(having.url)
  deepEqual([has(having, 'd'), has(having, 'e')], [true, false])
  equal(
    CLUSTERS.some((each) => has(asked, each)),
    false,
  )
  const { partial } = JSON.parse(await textOf(asked, '/v1/held'))
  match(partial, /^partitions 0, 2, 3 of 4: http:\S+ does not have it any more$/)
})

test('a graph that breaks off in one process says so, and has all of the others', async () => {
  const whole = async function* (): AsyncIterable<string> {
    yield 'strict digraph full {\n  // Node definitions.\n  "a" [\n  ];\n  // Edge'
    yield ' definitions.\n  "a" -> "b";\n}\n'
  }
  const torn = async function* (): AsyncIterable<string> {
    yield 'strict digraph full {\n  // Node definitions.\n  "c" [\n  ];\n'
  }
  const text = (await Array.fromAsync(joinedDot([torn(), whole()], ''))).join('')
  equal(
    text,
    [
      'strict digraph full {\n  // Node definitions.\n  "c" [\n  ];\n  "a" [\n  ];\n',
      '  // Edge definitions.\n  "a" -> "b";\n',
      '  // This may be incomplete: a process ended before its answer did\n}\n',
    ].join(''),
  )
})

test('a partition that nobody has is named', async (t) => {
  const { asked } = await two(t, { owners: () => new Map() })
  const { status, detail } = await refusal(asked, '/v1/plan/held?cluster=d')
  equal(status, 503)
  match(detail, /partition 2 of 4: no process has it just now$/)
  match(
    JSON.parse(await textOf(asked, '/v1/held')).partial,
    /^partitions 2, 3 of 4: no process has/,
  )
})

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}

test("the caller's own token goes along, and processes with other tokens are told apart", async (t) => {
  const token = (right: string): HttpToken => ({
    isShown: (authorization) => authorization === `Bearer ${right}`,
    failure: () => '',
  })
  const { asked, having } = await two(t, { token: token('one') }, { token: token('two') })
  const path = '/v1/why?uid=cm-only-d'
  equal((await refusal(having, path, bearer('two'))).status, undefined)
  const { status, detail } = await refusal(asked, path, bearer('one'))
  equal(status, 503)
  match(detail, /answered 401: all graph processes need the same tokens$/)
})

test('rights are checked by the process that answers', async (t) => {
  const asks: string[] = []
  const authority = (at: string): Authority => ({
    identify: async ({ authorization }) =>
      authorization === 'Bearer ann' ? { name: 'ann', uid: '', groups: [], extra: {} } : undefined,
    may: async (_user, cluster, { resource, name }) => {
      if (cluster !== null) asks.push(`${at}: ${cluster} ${resource} ${name}`)
      return resource === 'configmaps'
    },
  })
  const options = (at: string): ProcessOptions => {
    return { authority: authority(at), isReadingReviewed: true }
  }
  const { asked } = await two(t, options('asked'), options('having'))
  await textOf(asked, '/v1/why?uid=cm-only-d', bearer('ann'))
  const denied = await refusal(asked, '/v1/why?uid=pod-lost&cluster=d', bearer('ann'))
  equal(denied.status, 403)
  const absent = await refusal(asked, '/v1/why?uid=never-there', bearer('ann'))
  deepEqual(absent, denied)
  deepEqual([...new Set(asks)], ['having: d configmaps only-d', 'having: d pods lost'])
})

test('a cascade that is followed comes line by line, and ends with who follows it', async (t) => {
  const { group, asked, having } = await two(t)
  const gone = new AbortController()
  const path = '/v1/cascade?uid=rs-old&cluster=d&follow=true'
  const response = await fetch(asked.url + path, { signal: gone.signal })
  equal(response.headers.get('content-type'), 'application/x-ndjson')
  const reader = response.body?.getReader()
  const read = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value)
  equal(JSON.parse(await read()).remaining, 1)
  equal(having.forwarded().open, 1)
  const more = eventsAfter(STORY, ['cluster d', 'put pod/late <- rs/old'])
  await tell(group.log, more, partitionOf)
  equal(JSON.parse(await read()).remaining, 2)
  equal(having.forwarded().open, 1)
  gone.abort()
  await rejects(read())
  await eventually('the other process stops', async () => having.forwarded().open === 0)
})

test('who goes away before the answer begins is not worked for any longer', async (t) => {
  const { promise: waiting, resolve: goOn } = Promise.withResolvers<void>()
  const { asked, having } = await two(t, {}, { onForwarded: async () => await waiting })
  const gone = new AbortController()
  const answer = fetch(`${asked.url}/v1/why?uid=cm-only-d`, { signal: gone.signal })
  answer.catch(() => undefined)
  await eventually('it is sent on', async () => having.forwarded().open === 1)
  gone.abort()
  await eventually('the other process is told', async () => having.forwarded().open === 0)
  goOn()
  await rejects(answer)
})

test('a cascade whose cluster moves breaks off, and does not look over', async (t) => {
  const { group, asked, having } = await two(t)
  const response = await fetch(`${asked.url}/v1/cascade?uid=rs-old&cluster=d&follow=true`)
  const text = response.text()
  having.leave()
  await group.caughtUp()
  await rejects(text)
})

test('an order that rests on how a cluster stands is carried out where it is; a pause anywhere', async (t) => {
  const { group, asked, having } = await two(t)
  const order = (body: object): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const digest = 'ab'.repeat(32)
  const approve = order({ verb: 'approve', cluster: 'north', digest, why: 'x' })
  const nothing = await refusal(asked, '/v1/directives', approve)
  deepEqual([nothing.status, having.forwarded().count], [409, 1])
  match(nothing.detail, /nothing is held for approval there/)
  await having.kill()
  equal((await refusal(asked, '/v1/directives', approve)).status, 503)
  const paused = await textOf(asked, '/v1/directives', order({ verb: 'pause', cluster: 'north' }))
  equal(JSON.parse(paused).cluster.id, 'd')
  await having.expire()
  await group.caughtUp()
  const { pauses } = JSON.parse(await textOf(asked, '/v1/held')) as HeldAnswer
  deepEqual(
    pauses.map(({ cluster }) => cluster?.name),
    ['north'],
  )
})

/**
 * A reaper that makes dry runs only answers so. Answers with how many objects of the cluster there
 * were.
 */
async function refuseDeletes({ log }: GraphGroup, cluster: string): Promise<number> {
  let count = 0
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { entries } = await log.read('commands', partition, 0n, { limit: 1_000, waitMs: 0 })
    for (const { value } of entries) {
      const { type: verb, id: command, target, ...of } = codec.decode(value!) as Command
      if (verb !== 'DeleteObject' || of.cluster !== cluster) continue
      const settled: CommandSettled = {
        ...{ type: 'CommandSettled', cluster, clusterEpoch: of.clusterEpoch, command, verb },
        ...{ uid: target.uid, place: target, outcome: 'blocked', reason: 'only dry runs' },
        ...{ code: 200, object: null, calls: 1, list: null },
      }
      const produced = { key: cluster, value: codec.encode(settled) }
      await log.append('events', partitionOf(cluster), [produced])
      count += 1
    }
  }
  return count
}

test('what is held and what is refused is told of all clusters, by any process', async (t) => {
  const { group, all } = await grouped(t, [{}, {}])
  const counts = [await refuseDeletes(group, 'c'), await refuseDeletes(group, 'd')]
  deepEqual(counts, [1, 1])
  const rolledBack = ['cluster d', 'lose deploy/web', 'rollback', 'relist deploy', 'relist rs']
  await tell(group.log, eventsAfter(STORY, rolledBack), partitionOf)
  await group.caughtUp()
  for (const process of all) {
    const { partial, ...answer } = JSON.parse(await textOf(process, '/v1/held'))
    const { total, counts: groups, refused } = answer as HeldAnswer
    equal(partial, '')
    ok(total > 0)
    deepEqual([...new Set(groups.map(({ cluster }) => cluster.name))], ['north'])
    deepEqual(
      refused.map(({ cluster, objects }) => [cluster.name, objects]),
      [
        ['test', 1],
        ['north', 1],
      ],
    )
    const plan = JSON.parse(await textOf(process, '/v1/plan/held?cluster=north'))
    notEqual(plan.digest, null)
    deepEqual(plan.cluster, { name: 'north', id: 'd', scope: 'north' })
    const unnamed = await refusal(process, '/v1/plan/held')
    match(
      unnamed.detail,
      /several clusters are known, add --cluster with one of them: north, south, test$/,
    )
  }
})

test('the first cluster is found at once, though it was asked for when there was none', async (t) => {
  const group = new GraphGroup(1)
  t.after(async () => await group.stop())
  // Whatever is remembered for a while is remembered for ever.
  const { url } = await group.start({ clock: { ...systemClock(), monotonicMs: () => 1 } })
  const counts = async (): Promise<number> => {
    const response = await fetch(`${url}/v1/objects?kind=configmaps`)
    return ((await response.json()) as { readonly count: number }).count
  }
  equal(await counts(), 0)
  await tell(group.log, eventsOf(['put cm/a']))
  await group.caughtUp()
  equal(await counts(), 1)
})
