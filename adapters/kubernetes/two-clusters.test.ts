/**
 * Behind one name there may be two clusters at once, as during a move: the proof of a live GET
 * depends on which of them answered (F31).
 */
import { deepEqual, equal, match, rejects } from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, createServer as createFront, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { Cluster } from '../../ports/cluster.ts'
import { openCluster } from './cluster.ts'
import { openUndiciExchange } from './connection/exchange.ts'

const SIGNAL = AbortSignal.timeout(60_000)
const KUBE_SYSTEM = '/api/v1/namespaces/kube-system'
const OWNER = '/api/v1/namespaces/shop/configmaps/owner'
const LIST = '/api/v1/configmaps?'
const TARGET = {
  ...{ group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' },
  ...{ namespace: 'shop', name: 'owner', uid: 'owner', resourceVersion: '', aggregated: false },
}

interface Front {
  readonly cluster: Cluster
  /** The requests, each with the cluster that answered. */
  readonly asked: string[]
  /** New connections lead there from now on; those that are open stay. */
  lead(to: 'a' | 'b'): void
  /** Ends those that are open. */
  cut(): void
}

/** `a` has the owner, `b` has not; both take our word. */
async function front(t: TestContext): Promise<Front> {
  const asked: string[] = []
  const servers = { a: await serving('a', [OWNER], asked), b: await serving('b', [], asked) }
  const sockets = new Set<Socket>()
  let to: 'a' | 'b' = 'a'
  const it = createFront((socket) => {
    const on = connect((servers[to].address() as AddressInfo).port, '127.0.0.1')
    for (const [one, other] of [
      [socket, on],
      [on, socket],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => sockets.delete(one))
    }
  })
  await new Promise<void>((done) => it.listen(0, '127.0.0.1', done))
  const context = {
    ...{ name: 'moving', proxyUrl: null },
    server: `http://127.0.0.1:${(it.address() as AddressInfo).port}`,
    credentials: async () => ({ headers: {}, tls: {} }),
  } as Parameters<typeof openUndiciExchange>[0]
  const cluster = openCluster({
    name: 'moving',
    exchange: openUndiciExchange(context, { listConnections: 1 }),
  })
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  t.after(async () => {
    await cluster[Symbol.asyncDispose]()
    cut()
    for (const server of [it, servers.a, servers.b]) server.close()
  })
  return {
    cluster,
    asked,
    cut,
    lead(where) {
      to = where
    },
  }
}

async function serving(name: string, paths: readonly string[], asked: string[]): Promise<Server> {
  const server = createServer(({ method, url = '' }, response) => {
    asked.push(`${name}: ${method} ${url.slice(url.lastIndexOf('/') + 1)}`)
    const known = url === KUBE_SYSTEM ? name : paths.includes(url) ? 'owner' : undefined
    response.statusCode = known === undefined ? 404 : 200
    response.setHeader('content-type', 'application/json')
    const last = url.slice(url.lastIndexOf('/') + 1)
    const namespace = url === OWNER ? 'shop' : undefined
    if (url.startsWith(LIST)) {
      const list = { kind: 'ConfigMapList', apiVersion: 'v1', items: [] }
      response.statusCode = 200
      response.end(JSON.stringify({ ...list, metadata: { resourceVersion: '1' } }))
      return
    }
    const about = { name: last, namespace, uid: known, resourceVersion: '1' }
    const found = { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: about }
    const status = { kind: 'Status', apiVersion: 'v1', reason: 'NotFound', code: 404 }
    const none = { ...status, details: { name: about.name, kind: 'configmaps' } }
    response.end(JSON.stringify(known === undefined ? none : found))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  return server
}

test('an absence that another cluster tells is none, though it was proven who is there (F31)', async (t) => {
  const { cluster, asked, lead } = await front(t)
  equal(await cluster.identify(SIGNAL), 'a')
  lead('b')
  // The connection that the proof came over is kept, and leads where it did.
  equal(await cluster.identify(SIGNAL), 'a')
  const answer = await cluster.get(TARGET, SIGNAL, 'a')
  match(JSON.stringify(answer), /"Unknown".*the endpoint is another cluster, b/)
  deepEqual(asked.slice(2), ['b: GET owner', 'b: GET kube-system'])
  equal((await cluster.get(TARGET, SIGNAL)).type, 'Absent')
  match(JSON.stringify(await cluster.read(TARGET, SIGNAL, 'a')), /another cluster/)
})

test('an empty selection of another cluster is none (F31)', async (t) => {
  const { cluster, lead, cut } = await front(t)
  const selected = async (): Promise<readonly unknown[]> => {
    const resource = { ...TARGET, scope: 'Namespaced' as const }
    const where = { namespace: '', labels: 'app=web' }
    return await Array.fromAsync(cluster.select(resource, where, 500, SIGNAL, 'a'))
  }
  equal((await selected()).length, 1)
  lead('b')
  cut()
  // The cut may cost the first call its connection.
  await rejects(selected)
  await rejects(selected, /the endpoint is another cluster, b/)
})

test('each connection is asked once where it leads, and again when it is another one (F31)', async (t) => {
  const { cluster, asked, lead, cut } = await front(t)
  for (let looks = 0; looks < 3; looks++)
    equal((await cluster.get(TARGET, SIGNAL, 'a')).type, 'Found')
  deepEqual(asked, ['a: GET owner', 'a: GET kube-system', 'a: GET owner', 'a: GET owner'])
  lead('b')
  cut()
  const first = await cluster.get(TARGET, SIGNAL, 'a')
  const second = first.type === 'Unknown' ? await cluster.get(TARGET, SIGNAL, 'a') : first
  equal(second.type, 'Unknown', JSON.stringify(second))
  lead('a')
  cut()
  let last = await cluster.get(TARGET, SIGNAL, 'a')
  if (last.type === 'Unknown') last = await cluster.get(TARGET, SIGNAL, 'a')
  equal(last.type, 'Found', JSON.stringify(last))
})
