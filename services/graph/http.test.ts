/** The endpoint answers what people ask about a small story, and says what is wrong with a question. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { ExitError } from '../../runtime/lifecycle.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask, viewsOf } from '../../testing/task-rig.ts'
import { type Cascade, createCascades } from './cascade.ts'
import { createGraphDump } from './graph-dump.ts'
import { createHistoryIndex } from './history-index.ts'
import { parseAddress, serveHttp } from './http.ts'
import { createPlanner, type Plan } from './plan.ts'
import { createQuery, type TreeNode, type Why } from './query.ts'
import { taskOf } from './viewed-partition.ts'

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
]

interface Server {
  get(path: string): Promise<Response>
}

async function serve(t: TestContext, ready: boolean = true): Promise<Server> {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, eventsOf(STORY))
  const running = runTask(log, emptyStore())
  await running.caughtUp()
  const index = createHistoryIndex(log, codec, clock, emptyStore())
  const stop = new AbortController()
  const indexing = index.run(stop.signal)
  while ((await index.lagEntries()) > 0n) await new Promise(setImmediate)
  const here = taskOf({ tasks: [running.task] })
  const views = viewsOf([running.task], 1)
  const { url, server } = await serveHttp(
    {
      query: createQuery(views, index),
      planner: createPlanner(views, codec, clock),
      cascades: createCascades(views, index, clock),
      dump: createGraphDump(views, codec, clock),
      here,
      log,
      codec,
      version: '1.2.3',
      checks: () => [{ name: 'task/0', failure: ready ? '' : 'restoring' }],
      scrape: async () => 'kinfold_build_info 1\n',
    },
    '127.0.0.1:0',
  )
  t.after(async () => {
    await server.close()
    stop.abort()
    await indexing
    await running[Symbol.asyncDispose]()
  })
  return { get: async (path) => await fetch(url + path) }
}

function names(node: TreeNode): unknown {
  return [`${node.kind}/${node.name}`, ...node.children.map(names)]
}

test('a tree goes down to the last dependent', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/tree?kind=deployment&name=web&namespace=ns')
  const { answer, partial } = (await response.json()) as { answer: TreeNode; partial: string }
  equal(partial, '')
  deepEqual(names(answer), ['Deployment/web', ['ReplicaSet/web-1', ['Pod/a'], ['Pod/b']]])
})

test('a tree goes up to owners, also to those that were never seen', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/tree?kind=pods&name=b&namespace=ns&owners=true')
  const { answer } = (await response.json()) as { answer: TreeNode }
  deepEqual(names(answer), ['Pod/b', ['ReplicaSet/web-1', ['Deployment/web']], ['Job/never']])
  equal(answer.children[1]?.phase, 'unknown')
  equal(answer.children[1]?.edge?.standing, 'unverified')
})

test('why tells of what is gone: the events, the verdict, the command', async (t) => {
  const server = await serve(t)
  const response = await server.get('/v1/why?kind=Pod&name=gone&namespace=ns')
  const { answer } = (await response.json()) as { answer: Why }
  equal(answer.phase, null)
  deepEqual(
    answer.history.map(({ change }) => change),
    ['created', 'verdict', 'verdict', 'command', 'gone'],
  )
  match(
    answer.history.find(({ change }) => change === 'command')?.text ?? '',
    /DeleteObject \(enforce\): ReplicaSet "old" is gone/,
  )
})

test('why answers by uid, and by kind with its group', async (t) => {
  const server = await serve(t)
  equal((await server.get('/v1/why?uid=pod-a')).status, 200)
  equal((await server.get('/v1/why?kind=deployments.apps&name=web&namespace=ns')).status, 200)
  equal((await server.get('/v1/why?kind=deployment.v1.apps&name=web&namespace=ns')).status, 200)
})

test('a question that cannot be answered says why', async (t) => {
  const server = await serve(t)
  const nothing = await server.get('/v1/why?kind=pod&name=nope&namespace=ns')
  equal(nothing.status, 404)
  match(
    ((await nothing.json()) as { detail: string }).detail,
    /no pod\/nope in namespace ns was ever seen; name its namespace with --namespace/,
  )
  const elsewhere = await server.get('/v1/why?kind=deployment&name=web&namespace=ns&cluster=x')
  match(
    ((await elsewhere.json()) as { detail: string }).detail,
    /no deployment\/web in namespace ns was ever seen in cluster x; there is one in test/,
  )
  equal((await server.get('/v1/why?kind=pod')).status, 400)
  equal((await server.get('/v2/why')).status, 404)
})

test('a plan and a cascade are answered, or say why not and what to ask instead', async (t) => {
  const server = await serve(t)
  const plan = await server.get('/v1/plan?kind=deployment&name=web&namespace=ns&limit=1')
  const { answer } = (await plan.json()) as { answer: Plan }
  deepEqual([answer.total, answer.objects.length], [4, 1])
  const gone = await server.get('/v1/cascade?kind=rs&name=old&namespace=ns&uid=rs-old')
  deepEqual(((await gone.json()) as { answer: Cascade }).answer.isOver, true)
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

for (const address of [
  '0.0.0.0:7070',
  '10.0.0.1:80',
  'example.com:80',
  '127.0.0.1',
  '127.0.0.1:99999',
  ':7070',
]) {
  test(`${address} is no address to listen on`, () => {
    let error: unknown
    try {
      parseAddress(address)
    } catch (thrown) {
      error = thrown
    }
    equal(error instanceof ExitError && error.exitCode, 2)
  })
}

for (const address of ['127.0.0.1:7070', 'localhost:0', '[::1]:80', '127.1.2.3:1']) {
  test(`${address} is one`, () => {
    parseAddress(address)
  })
}
