/**
 * The endpoint answers what people ask about a small story, and says what is wrong with a question.
 */
import {
  deepEqual,
  doesNotMatch,
  equal,
  match,
  notEqual,
  ok,
  rejects,
  throws,
} from 'node:assert/strict'
import { chmodSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { LogError, type Page } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { failed, passed } from '../../runtime/health.ts'
import { checkHttp, type HttpSettings, serveEndpoint } from '../../runtime/http/endpoint.ts'
import { openToken } from '../../runtime/http/http-token.ts'
import { INSTANCE } from '../../runtime/instance.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { checked } from '../../testing/answer-check.ts'
import { eventually } from '../../testing/eventually.ts'
import { indexOver } from '../../testing/rig/index-rig.ts'
import {
  appendAll,
  assign,
  codec,
  emptyStore,
  eventsOf,
  runTask,
} from '../../testing/rig/task-rig.ts'
import type { Cascade, Why } from './api/answer-schema.ts'
import type { ClusterRef } from './api/document.ts'
import { ROUTES } from './api/route.ts'
import { addGraphRoutes } from './http.ts'
import type { DirectiveAnswer } from './orders/directive-http.ts'
import type { TreeNode } from './query/answer/tree.ts'
import type { Others } from './query/ask/question.ts'
import type { Plan } from './query/plan/plan.ts'
import { createQuestions } from './questions.ts'

const STORY = [
  'put deploy/web',
  'put rs/web-1 <- deploy/web!',
  'put pod/a <- rs/web-1!',
  'put pod/b <- rs/web-1!, job/never',
  'put pod/free',
  'put rs/old',
  'put pod/gone <- rs/old',
  'delete rs/old',
  'delete pod/gone',
  'put cm/twice',
  'delete cm/twice',
  'put cm/twice@again',
  'put rs/late',
  'put pod/early <- rs/late',
  'put pod/stays <- rs/late',
  'delete pod/early',
  'put rs/former',
  'put pod/left <- rs/former',
  'delete rs/former',
  'serve namespace',
  'relist namespace',
  'put namespace/shop',
]

/** Its history cannot be read for now. */
class AwayLog extends MemoryLog {
  isAway = false

  override async read(...asked: Parameters<MemoryLog['read']>): Promise<Page> {
    if (this.isAway && asked[0] === 'history') throw new LogError('UNAVAILABLE', 'it is away')
    return await super.read(...asked)
  }
}

interface Server {
  readonly url: string
  readonly log: AwayLog
  caughtUp(): Promise<void>
  get(path: string, init?: RequestInit): Promise<Response>
}

async function serve(
  t: TestContext,
  ready: boolean = true,
  settings: HttpSettings = { address: '127.0.0.1:0' },
): Promise<Server> {
  const clock = systemClock()
  const log = new AwayLog({ partitions: 1, clock })
  await assign(log)
  await appendAll(log, eventsOf(STORY))
  const running = runTask(log, emptyStore())
  await running.caughtUp()
  const index = indexOver(log, clock)
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await new Promise(setImmediate)
  const graph = { tasks: [running.task], owners: () => new Map<number, string>() }
  const parts = createQuestions({ log, codec, clock, graph, index })
  const { url, server } = await serveEndpoint(
    {
      add: (routes) => addGraphRoutes(routes, parts),
      version: '1.2.3',
      checks: () => [ready ? passed('task/0') : failed('task/0', 'restoring')],
      scrape: async () => 'kinfold_build_info 1\n',
    },
    settings,
  )
  t.after(async () => {
    await server.close()
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
  })
  const caughtUp = async (): Promise<void> => await running.caughtUp()
  const get = async (path: string, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url + path, init)
    return isRoute(path) ? await checked(url + path, response, init?.method) : response
  }
  return { url, log, caughtUp, get }
}

/** What is no route is compared by its refusal alone; paths with a slash at their end are none. */
function isRoute(path: string): boolean {
  return ROUTES.some((route) => route.path === path.split('?')[0])
}

function names(node: TreeNode): unknown {
  return [`${node.kind}/${node.name}`, ...node.children.map(names)]
}

test('a tree goes down to the last dependent', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/tree?kind=deployment&name=web&namespace=ns')
  const { root, partial } = (await response.json()) as { root: TreeNode; partial: string }
  equal(partial, '')
  deepEqual(names(root), ['Deployment/web', ['ReplicaSet/web-1', ['Pod/a'], ['Pod/b']]])
})

test('a tree of an owner that is gone tells what is left of it', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/tree?kind=rs&uid=rs-former')
  const { root } = (await response.json()) as { root: TreeNode }
  deepEqual([root.phase, names(root)], ['gone', ['ReplicaSet/former', ['Pod/left']]])
})

test('whoever means another process is refused', async (t) => {
  const server = await serve(t)
  const refused = await server.get('/livez', { headers: { 'kinfold-instance': 'another' } })
  equal(refused.status, 421)
  match(await refused.text(), /another kinfold than the one that was meant/)
  equal((await server.get('/livez', { headers: { 'kinfold-instance': INSTANCE } })).status, 200)
})

test('an answer about one cluster names it', async (t) => {
  const server = await serve(t)
  for (const path of ['tree?uid=pod-a', 'why?uid=pod-a', 'plan?uid=pod-a', 'cascade?uid=rs-old']) {
    const { cluster } = (await (await server.get(`/v1/${path}`)).json()) as { cluster: ClusterRef }
    deepEqual(cluster, { name: 'test', id: 'c', scope: 'test' }, path)
  }
  const followed = await (await server.get('/v1/cascade?uid=rs-old&follow=true')).text()
  equal((JSON.parse(followed) as { cluster: ClusterRef }).cluster.name, 'test')
})

test('a tree goes up to owners, also to those that were never seen', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/tree?kind=pods&name=b&namespace=ns&owners=true')
  const { root } = (await response.json()) as { root: TreeNode }
  deepEqual(names(root), ['Pod/b', ['ReplicaSet/web-1', ['Deployment/web']], ['Job/never']])
  equal(root.children[1]?.phase, 'unknown')
  equal(root.children[1]?.edge?.standing, 'unverified')
})

test('why tells of what is gone: the events, the verdict, the command', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/why?kind=Pod&name=gone&namespace=ns')
  const answer = (await response.json()) as Why
  equal(answer.phase, null)
  deepEqual(
    answer.history.map(({ change }) => change),
    ['created', 'verdict', 'verdict', 'command', 'gone'],
  )
  match(
    answer.history.find(({ change }) => change === 'command')?.text ?? '',
    /DeleteObject \(enforce\): ReplicaSet "old" no longer exists/,
  )
})

test('why tells what else had the name that was asked for', async (t) => {
  const server = await serve(t)
  const othersOf = async (asked: string): Promise<unknown> => {
    const { others } = (await (await server.get(`/v1/why?${asked}`)).json()) as { others: Others }
    return others.map(({ uid, cluster, isThere }) => ({ uid, cluster: cluster.name, isThere }))
  }
  deepEqual(await othersOf('kind=configmap&name=twice&namespace=ns'), [
    { uid: 'cm-twice', cluster: 'test', isThere: false },
  ])
  deepEqual(await othersOf('uid=cm-twice'), [])
  deepEqual(await othersOf('kind=pod&name=a&namespace=ns'), [])
})

test('why answers by uid, and by kind with its group', async (t) => {
  const server = await serve(t)
  equal((await server.get('/v1/why?uid=pod-a')).status, 200)
  equal((await server.get('/v1/why?kind=deployments.apps&name=web&namespace=ns')).status, 200)
  equal((await server.get('/v1/why?kind=deployment.v1.apps&name=web&namespace=ns')).status, 200)
})

test('whoever protects a namespace that is not there is told so', async (t) => {
  const server = await serve(t)
  const effectOf = async (name: string): Promise<string> => {
    const response = await server.get('/v1/directives', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ verb: 'protect', subject: `namespace/${name}` }),
    })
    return ((await response.json()) as DirectiveAnswer).effective
  }
  match(await effectOf('shpo'), / But no namespace shpo is known there now/)
  doesNotMatch(await effectOf('shop'), / But /)
  await appendAll(server.log, eventsOf(['unserve namespace']))
  await server.caughtUp()
  doesNotMatch(await effectOf('shpo'), / But /)
})

test('a tree has what names its owner by the kind in lower case, both ways', async (t) => {
  const server = await serve(t)
  await appendAll(server.log, eventsOf([...STORY, 'put pod/low <- _rs/late']).slice(-1))
  await server.caughtUp()
  const treeOf = async (words: string): Promise<TreeNode> => {
    const response = await server.get(`/v1/tree?${words}&namespace=ns`)
    return ((await response.json()) as { root: TreeNode }).root
  }
  await eventually('it is indexed', async () => {
    return (await server.get('/v1/tree?kind=pod&name=low&namespace=ns')).ok
  })
  const down = await treeOf('kind=replicaset&name=late')
  ok(down.children.some(({ uid, edge }) => uid === 'pod-low' && edge?.standing === 'solid'))
  const [owner] = (await treeOf('kind=pod&name=low&owners=true')).children
  deepEqual([owner?.uid, owner?.kind, owner?.phase], ['rs-late', 'ReplicaSet', 'observed'])
})

test('a question about a kind that is not watched, or not listed yet, says so with the reason', async (t) => {
  const server = await serve(t)
  const detailOf = async (words: string): Promise<string> => {
    const response = await server.get(`/v1/why?${words}&namespace=ns`)
    equal(response.status, 404)
    return ((await response.json()) as { detail: string }).detail
  }
  const reason = 'its lists have no resourceVersion'
  const events = eventsOf([...STORY, 'serve widget unmonitored', 'serve crd']).slice(-2)
  await appendAll(
    server.log,
    events.map((event) =>
      event.type === 'KindServed' && !event.monitored ? { ...event, reason } : event,
    ),
  )
  await server.caughtUp()
  equal(
    await detailOf('kind=widgets&name=x'),
    `no widgets/x was ever seen in namespace ns: Widget.example.com is not watched: ${reason}`,
  )
  match(
    await detailOf('kind=customresourcedefinition&name=x&cluster=test'),
    /was ever seen in cluster test: CustomResourceDefinition\.apiextensions\.k8s\.io is not listed yet/,
  )
  match(
    await detailOf('kind=customresourcedefinition&name=x'),
    /CustomResourceDefinition\.apiextensions\.k8s\.io is not listed yet; .readyz\?verbose says why$/,
  )
})

test('a question that cannot be answered says why', async (t) => {
  const server = await serve(t)
  const nothing = await server.get('/v1/why?kind=pod&name=nothing&namespace=ns')
  equal(nothing.status, 404)
  match(
    ((await nothing.json()) as { detail: string }).detail,
    /^no pod\/nothing was ever seen in namespace ns; it may be in another namespace$/,
  )
  // What was meant is said where it is known (C18).
  for (const [asked, meant] of [
    ['name=wbe&namespace=ns', 'did you mean deployment/web -n ns?'],
    ['name=web&namespace=other', 'did you mean -n ns?'],
    ['name=webb&namespace=other', 'it may be in another namespace'],
    ['kind=pod&name=goen&namespace=ns', 'did you mean pod/gone -n ns (deleted)?'],
  ]) {
    const answer = await server.get(
      `/v1/why?${asked!.startsWith('kind') ? '' : 'kind=deployment&'}${asked}`,
    )
    const { detail } = (await answer.json()) as { detail: string }
    equal(detail.split('; ')[1], meant)
  }
  const elsewhere = await server.get('/v1/why?kind=deployment&name=web&namespace=ns&cluster=x')
  match(
    ((await elsewhere.json()) as { detail: string }).detail,
    /^there is no cluster x; known clusters: test$/,
  )
  const mistyped = await server.get('/v1/why?kind=deplo&name=web&namespace=ns')
  match(
    ((await mistyped.json()) as { detail: string }).detail,
    /^cluster test serves no kind deplo; of that name there is Deployment.apps\/web$/,
  )
  equal((await server.get('/v1/why?kind=pod')).status, 400)
  equal((await server.get('/v1/why?kind=&name=web&namespace=ns')).status, 400)
  const list = ((await (await server.get('/v1')).json()) as { detail: string }).detail
  match(list, /^there is no \/v1; there are \/v1\/\S+, .*\/v1\/why.*: \/openapi\.json says/)
  for (const path of ['/v2/why', '/v1/foo', '/v1/commands']) {
    const unknown = await server.get(path)
    equal(unknown.status, 404)
    equal(((await unknown.json()) as { detail: string }).detail, `there is no ${path}`)
  }
})

test('a list or a difference of a kind that nobody serves is refused, and says what may be meant (C13)', async (t) => {
  const server = await serve(t)
  const from = 'from=pos:0-1'
  const asked = (kind: string): readonly string[] => [
    ...[`/v1/objects?kind=${kind}`, `/v1/objects?kind=${kind}&gone=true`],
    ...[`/v1/objects?kind=${kind}&count=true`, `/v1/diff?${from}&kind=${kind}`],
    `/v1/deletions?kind=${kind}`,
  ]
  for (const path of asked('pots')) {
    const response = await server.get(path)
    equal(response.status, 404, path)
    const { detail } = (await response.json()) as { detail: string }
    equal(detail, 'no cluster that is asked serves a kind pots; did you mean pods?')
  }
  // One that is served, of which there is nothing, is no unknown one.
  for (const path of asked('node')) equal((await server.get(path)).status, 200, path)
})

test('an object that is not there is told by what is wrong with the question', async (t) => {
  const server = await serve(t)
  const detailOf = async (asked: string): Promise<string> => {
    const response = await server.get(`/v1/tree?${asked}`)
    equal(response.status, 404, asked)
    return ((await response.json()) as { detail: string }).detail
  }
  for (const [asked, expected] of [
    ['kind=foo&name=bar', 'cluster test serves no kind foo'],
    ['kind=pots&name=bar', 'cluster test serves no kind pots; did you mean pods?'],
    ['kind=deplo&name=x', 'cluster test serves no kind deplo; did you mean deployments.apps?'],
    ['kind=namespace&name=nosuch', 'no namespace/nosuch was ever seen'],
    ['kind=pod&name=x&namespace=', 'no pod/x was ever seen'],
    ['uid=nobody', 'no object with uid nobody was ever seen'],
    ['kind=pod&name=a&namespace=ns&cluster=nort', 'there is no cluster nort; known clusters: test'],
  ] as const) {
    equal(await detailOf(asked), expected)
  }
  await appendAll(server.log, eventsOf([...STORY, 'serve widget unmonitored']).slice(-1))
  await server.caughtUp()
  const unwatched = await detailOf('kind=widget&name=w')
  match(
    unwatched,
    /^no widget\/w was ever seen in namespace default: Widget\.example\.com is not watched: its watcher recorded no reason, .* restart it with this version, then "kinfold doctor" names the reason$/,
  )
})

test('what was seen just now is found, and nothing is said to be missing of it', async (t) => {
  const server = await serve(t)
  await appendAll(server.log, eventsOf([...STORY, 'put cm/new']).slice(-1))
  await server.caughtUp()
  const response = await server.get('/v1/why?kind=configmap&name=new&namespace=ns')
  equal(response.status, 200)
  const { history, partial } = (await response.json()) as Why
  deepEqual([history.length > 0, partial], [true, ''])
})

test('a cascade is answered from the graph alone, however far behind the index is', async (t) => {
  const server = await serve(t)
  server.log.isAway = true
  const told = eventsOf(STORY).length
  await appendAll(
    server.log,
    eventsOf([...STORY, 'delete rs/late', 'delete pod/stays']).slice(told),
  )
  const asked = async (): Promise<Cascade | undefined> => {
    const response = await server.get('/v1/cascade?uid=rs-late')
    return response.ok ? ((await response.json()) as Cascade) : undefined
  }
  await eventually('both are folded', async () => (await asked())?.isOver === true)
  const { done, remaining, since, partial } = (await asked()) as Cascade
  // What was deleted before it is not counted.
  deepEqual([done, remaining, partial], [1, 0, ''])
  ok(since !== null)
})

test('a method that a path does not take is refused with those that it does', async (t) => {
  const server = await serve(t)
  for (const [method, path, takes] of [
    ['POST', '/v1/tree?kind=pods&name=b', 'GET, HEAD'],
    ['PUT', '/readyz', 'GET, HEAD'],
    ['GET', '/v1/directives', 'POST'],
    // It would be refused for lack of a body otherwise.
    ['QUERY', '/v1/held', 'GET, HEAD'],
    ['DELETE', '/apis/kinfold.dev/v1/namespaces/ns/ownedobjects/pods:b', 'GET, HEAD'],
    ['PATCH', '/clusters/c/apis/kinfold.dev/v1/clusterownedobjects/nodes:n', 'GET, HEAD'],
  ] as const) {
    const answer = await server.get(path, { method })
    equal(answer.status, 405, path)
    equal(answer.headers.get('allow'), takes)
    match(((await answer.json()) as { detail: string }).detail, /^\/\S+ takes .*, and no /)
  }
  equal((await server.get('/:a(')).status, 404)
})

test('a plan and a cascade are answered, or say why not and what to ask instead', async (t) => {
  const server = await serve(t)
  const plan = await server.get('/v1/plan?kind=deployment&name=web&namespace=ns&limit=1')
  const { total, objects } = (await plan.json()) as Plan
  deepEqual([total, objects.length], [4, 1])
  const gone = await server.get('/v1/cascade?kind=rs&name=old&namespace=ns&uid=rs-old')
  deepEqual(((await gone.json()) as Cascade).isOver, true)
  const wrong = [
    ['/v1/cascade?kind=deployment&name=web&namespace=ns', 409, /kinfold plan delete/],
    ['/v1/plan?uid=rs-old', 409, /kinfold cascade/],
    ['/v1/plan?uid=pod-a&cascade=sideways', 400, /none of background, foreground, orphan/],
    ['/v1/plan?uid=pod-a&limit=many', 400, /no whole number/],
  ] as const
  for (const [path, status, detail] of wrong) {
    const response = await server.get(path)
    equal(response.status, status)
    match(((await response.json()) as { detail: string }).detail, detail)
  }
})

test('following a cascade that is over is one line', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/cascade?uid=rs-old&follow=true')
  equal(response.headers.get('content-type'), 'application/x-ndjson')
  equal((await response.text()).trimEnd().split('\n').length, 1)
})

test('the graph is served as DOT, whole or by uids', async (t) => {
  const server = await serve(t)
  const response = await server.get('/debug/graph?uid=pod-a&uid=pod-free')
  equal(response.headers.get('content-type'), 'text/vnd.graphviz')
  equal(response.headers.get('x-content-type-options'), 'nosniff')
  match(await response.text(), /^strict digraph full \{\n.*"pod-a" -> "rs-web-1";\n.*\}\n$/s)
  equal((await server.get('/debug/other')).status, 404)
})

test('a stream begins at its start or its end, and nowhere else', async (t) => {
  const server = await serve(t)
  equal(await (await server.get('/v1/lineage?from=end')).text(), '')
  const refused = await server.get('/v1/lineage?from=yesterday')
  equal(refused.status, 400)
  match(await refused.text(), /from yesterday is none of start, end/)
})

test('a stream that nobody reads for long waits without more and more listeners', async (t) => {
  const server = await serve(t)
  const warnings: string[] = []
  const note = ({ name }: Error): unknown => warnings.push(name)
  process.on('warning', note)
  t.after(() => process.off('warning', note))
  const text = await (await server.get('/v1/lineage')).text()
  const record = Buffer.from(await lineageOf(server.log))
  const records = Array.from({ length: 5_000 }, (_, each) => ({ key: `k${each}`, value: record }))
  await server.log.append('lineage', 0, records)
  const lines = (await (await server.get('/v1/lineage')).text()).split('\n')
  equal(lines.length, text.split('\n').length + 5_000)
  deepEqual(warnings, [])
})

async function lineageOf(log: AwayLog): Promise<Uint8Array> {
  const { entries } = await log.read('lineage', 0, 0n, { limit: 1, waitMs: 0 })
  return entries[0]?.value ?? new Uint8Array()
}

test('lineage is a stream of records, a line each', async (t) => {
  const server = await serve(t)
  const text = await (await server.get('/v1/lineage')).text()
  const lines = text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { key: string; value: { phase: string } })
  const last = new Map(lines.map(({ key, value }) => [key, value.phase]))
  equal(last.get('c/pod-gone'), 'gone')
  equal(last.get('c/pod-a'), 'observed')
})

test('health, readiness, version and metrics', async (t) => {
  const server = await serve(t)
  equal(await (await server.get('/livez')).text(), 'ok')
  equal(await (await server.get('/readyz')).text(), 'ok')
  match(await (await server.get('/readyz?verbose')).text(), /\[\+\]task\/0 ok/)
  deepEqual(await (await server.get('/version')).json(), { version: '1.2.3' })
  match(await (await server.get('/metrics')).text(), /kinfold_build_info/)
})

test('what is not ready says so with 503', async (t) => {
  const server = await serve(t, false)
  const response = await server.get('/readyz')
  equal(response.status, 503)
  match(await response.text(), /\[-\]task\/0 failed: restoring/)
})

const TOKEN = 'a-token-for-this-test'

function tokenFile(t: TestContext, text: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'kinfold-token-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'token')
  writeFileSync(file, text, { mode: 0o600 })
  return file
}

/** Another time of change, however coarse the clock of the file system is. */
function rewrite(file: string, text: string): void {
  writeFileSync(`${file}.new`, text, { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

function bearer(token: string): RequestInit {
  return { headers: { authorization: `Bearer ${token}` } }
}

test('with a token, only who shows it is answered; life and readiness are told to all, and no more of it', async (t) => {
  const token = openToken(tokenFile(t, `${TOKEN}\n`))
  const server = await serve(t, false, { address: '127.0.0.1:0', token })
  equal(await (await server.get('/livez')).text(), 'ok')
  const ready = await server.get('/readyz')
  deepEqual([ready.status, await ready.text()], [503, 'not ready'])
  const paths = [
    '/readyz?verbose',
    '/healthz',
    '/version',
    '/metrics',
    '/v1/tree?uid=pod-a',
    '/v1/lineage',
    '/debug/graph',
    '/nowhere',
    '/livez/',
  ]
  for (const path of paths) {
    for (const init of [
      {},
      bearer('wrong'),
      bearer(`${TOKEN}x`),
      { headers: { authorization: TOKEN } },
    ]) {
      const refused = await server.get(path, init)
      equal(refused.status, 401, path)
      equal(refused.headers.get('www-authenticate'), 'Bearer')
      match(((await refused.json()) as { detail: string }).detail, /kinfold takes --token-file/)
    }
    notEqual((await server.get(path, bearer(TOKEN))).status, 401, path)
  }
  const posted = await server.get('/v1/directives', { method: 'POST', body: '{}' })
  equal(posted.status, 401)
  equal((await server.get('/livez', { method: 'POST' })).status, 401)
  match(await (await server.get('/readyz', bearer(TOKEN))).text(), /task\/0 failed/)
})

test('a token file that changes counts at once, several tokens count side by side, and without it nobody is let in', async (t) => {
  const file = tokenFile(t, TOKEN)
  const token = openToken(file)
  const server = await serve(t, true, { address: '127.0.0.1:0', token })
  const status = async (shown: string): Promise<number> =>
    (await server.get('/version', bearer(shown))).status
  const next = 'another-token-that-comes'
  deepEqual([await status(TOKEN), await status(next)], [200, 401])
  rewrite(file, `${next}\n${TOKEN}\n`)
  deepEqual([await status(TOKEN), await status(next)], [200, 200])
  rewrite(file, next)
  deepEqual([await status(TOKEN), await status(next)], [401, 200])
  rmSync(file)
  deepEqual([await status(TOKEN), await status(next)], [401, 401])
  match(token.failure(), /the token file .* cannot be read/)
  writeFileSync(file, 'short')
  equal(await status('short'), 401)
  rmSync(file)
  writeFileSync(file, TOKEN, { mode: 0o600 })
  deepEqual([await status(TOKEN), token.failure()], [200, ''])
  chmodSync(file, 0o644)
  equal(await status(TOKEN), 401)
  match(token.failure(), /other users may read or change it \(mode 0644\); run "chmod 600 /)
  chmodSync(file, 0o600)
  equal(await status(TOKEN), 200)
})

test('a token file that other users may read ends the start', (t) => {
  const file = tokenFile(t, TOKEN)
  chmodSync(file, 0o644)
  throws(() => openToken(file), isInput)
  throws(() => openToken(file), /run "chmod 600 /)
})

for (const [what, text] of [
  ['empty', '\n'],
  ['short', 'secret\n'],
  ['spaced', 'two words of many letters'],
  ['endless', 'x'.repeat(10_000)],
  ['crowded', `${TOKEN}\n`.repeat(17)],
] as const) {
  test(`a token file that is ${what} is refused with a sentence`, (t) => {
    throws(
      () => openToken(tokenFile(t, text)),
      /must hold 1 to 16 lines, each a token of 16 to 8192 printable/,
    )
  })
}

test('a token file that is not there is refused with a sentence', () => {
  throws(
    () => openToken('/nowhere/token'),
    /the token file \/nowhere\/token cannot be read: ENOENT/,
  )
})

test('what is too large or too deep is refused, and the server lives on', async (t) => {
  const server = await serve(t)
  const post = async (body: string, type = 'application/json'): Promise<number> =>
    (
      await server.get('/v1/directives', {
        method: 'POST',
        headers: { 'content-type': type },
        body,
      })
    ).status
  equal((await server.get(`/v1/tree?uid=${'x'.repeat(20_000)}`)).status, 431)
  equal((await server.get('/livez', { headers: { 'x-long': 'x'.repeat(20_000) } })).status, 431)
  equal(await post('['.repeat(30_000) + ']'.repeat(30_000)), 400)
  equal(await post('{"verb":'), 400)
  equal(await post('{"__proto__":{}}'), 400)
  equal(await post(`{"why":"${'k'.repeat(300_000)}"}`), 413)
  equal(await post('keys', 'text/plain'), 415)
  equal(await post('<keys/>', 'application/xml'), 415)
  equal((await server.get('/livez')).status, 200)
})

test('whatever is refused before a route reads it is refused like all else', async (t) => {
  const server = await serve(t)
  const post = (body: string, type: string) =>
    server.get('/v1/directives', { method: 'POST', headers: { 'content-type': type }, body })
  for (const [response, status, expected] of [
    [await server.get(`/v1/tree?uid=${'x'.repeat(20_000)}`), 431, /headers and the address/],
    [await post('{"verb":', 'application/json'), 400, /^the body is not valid JSON$/],
    [await post('{"__proto__":{}}', 'application/json'), 400, /^the body is not valid JSON$/],
    [await post('', 'application/json'), 400, /^the body is empty/],
    [await post(`{"why":"${'k'.repeat(300_000)}"}`, 'application/json'), 413, /is too large$/],
    [await post('<keys/>', 'application/xml'), 415, /^the body must be JSON/],
    [await server.get('/v1/%zz'), 400, /no(t a)? valid/],
  ] as const) {
    match(response.headers.get('content-type') ?? '', /^application\/problem\+json/)
    const body = (await response.json()) as { status: number; detail: string }
    deepEqual([response.status, body.status], [status, status])
    match(body.detail, expected)
  }
})

const open = { isShown: () => true, failure: () => '' }

for (const address of ['127.0.0.1', '127.0.0.1:99999', ':7070', '[x]:1', 'a b:1', 'http://x:1']) {
  test(`${address} is no address to listen on`, () => {
    throws(() => checkHttp({ address, token: open }), isInput)
  })
}

for (const address of [
  '0.0.0.0:7070',
  '10.0.0.1:80',
  'example.com:80',
  '[::]:80',
  '127.evil.com:1',
]) {
  test(`${address} is listened on only with a token`, () => {
    throws(() => checkHttp({ address }), isInput)
    checkHttp({ address, token: open })
  })
}

for (const address of ['127.0.0.1:7070', 'localhost:0', '[::1]:80', '127.1.2.3:1']) {
  test(`${address} is listened on without one`, () => {
    checkHttp({ address })
  })
}

for (const advertise of ['graph-0', '0.0.0.0:7070', '[::]:7070', 'graph-0:0']) {
  test(`${advertise} is no address to be reached by`, () => {
    throws(() => checkHttp({ address: '127.0.0.1:0', advertise }), isInput)
  })
}

test('where other processes come, they must be told an address that leads here', () => {
  for (const address of ['0.0.0.0:7070', '[::]:7070']) {
    throws(() => checkHttp({ address, token: open, isShared: true }), isInput)
    checkHttp({ address, token: open, isShared: true, advertise: 'graph-0:7070' })
  }
  checkHttp({ address: '10.0.0.1:7070', token: open, isShared: true })
})

function isInput(error: unknown): boolean {
  return error instanceof ExitError && error.exitCode === EXIT.input
}

test('a stream that cannot be read on breaks off, and does not look whole', async (t) => {
  const server = await serve(t)
  server.log.isAway = true
  await rejects(async () => await (await server.get('/v1/history')).text())
})

/** As a browser asks for a page's own name, whatever address that has by now. */
function statusFor(url: string, host: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/lineage`, { headers: { host } }, (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    asked.on('error', reject)
    asked.end()
  })
}

test('a name that was bound anew to this machine is not answered where no token is asked for', async (t) => {
  const { url } = await serve(t)
  const hosts = ['evil.example:7070', '127.0.0.1.evil.example', '10.0.0.1:7070', 'localhost.evil']
  for (const host of hosts) equal(await statusFor(url, host), 403, host)
  for (const host of ['localhost:7070', 'LOCALHOST', '127.0.0.1:7070', '[::1]:7070', '127.8.8.8'])
    equal(await statusFor(url, host), 200, host)
})
