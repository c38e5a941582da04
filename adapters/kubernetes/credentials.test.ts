/**
 * Shows how requests are handled while credentials are renewed: reads wait and are sent again,
 * writes do neither.
 *
 * What must stay true: a plugin that takes long, or never ends, is a promise that the test resolves
 * or does not; a test's wait ends by a limit of the exchange, never by one of the test.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import type { CommandSettled } from '../../core/model/event.ts'
import { ANY_HERE, serveHttp } from '../../playground/http.ts'
import type { NamedResource } from '../../ports/cluster.ts'
import { type Exchange, ExchangeError, type ExchangeRequest } from '../../ports/exchange.ts'
import { systemClock } from '../../runtime/clock.ts'
import { createReaper } from '../../services/reaper/reaper.ts'
import { World } from '../../testing/rig/reaper-world.ts'
import { MemoryLog } from '../memory/log.ts'
import { textOf } from './call.ts'
import { openCluster } from './cluster.ts'
import { type ExchangeOptions, openUndiciExchange } from './connection/exchange.ts'
import type { Credentials } from './connection/kubeconfig.ts'
import { openRestorer } from './restorer.ts'

const DEADLINE_MS = 10_000
const GET: ExchangeRequest = { method: 'GET', path: '/', headers: {}, body: null, purpose: 'list' }
const DELETE: ExchangeRequest = { ...GET, method: 'DELETE', path: '/one', purpose: 'write' }

/** A server that takes one token, and a plugin that gives `old` until it is asked afresh. */
async function rig(
  afresh: () => Promise<string>,
  options: Partial<ExchangeOptions> = {},
  first: () => Promise<string> = async () => 'old',
) {
  const seen: string[] = []
  const server = createServer((request, response) => {
    const { authorization } = request.headers
    seen.push(`${request.method} ${authorization}`)
    const isTaken = authorization === 'Bearer new'
    response.writeHead(isTaken ? 200 : 401, { 'content-type': 'application/json' }).end('{}')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  let isAfresh = false
  const context = {
    name: 'test',
    server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    proxyUrl: null,
    credentials: async (asked: boolean): Promise<Credentials> => {
      isAfresh ||= asked
      const token = isAfresh ? await afresh() : await first()
      return { headers: { authorization: `Bearer ${token}` }, tls: {} }
    },
  }
  const exchange = openUndiciExchange(context, options)
  return {
    exchange,
    seen,
    [Symbol.asyncDispose]: async () => {
      await exchange[Symbol.asyncDispose]()
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

const never = () => new Promise<never>(() => undefined)

async function statusOf(exchange: Exchange, request: ExchangeRequest): Promise<number> {
  const response = await exchange.request(request, AbortSignal.timeout(DEADLINE_MS))
  await textOf(response)
  return response.status
}

for (const method of ['DELETE', 'PATCH', 'POST', 'PUT'] as const) {
  test(`a ${method} that is answered 401 is handed back at once, and the next one has new credentials`, async () => {
    const plugin = Promise.withResolvers<string>()
    await using it = await rig(() => plugin.promise)
    // The plugin has not answered yet.
    equal(await statusOf(it.exchange, { ...DELETE, method }), 401)
    plugin.resolve('new')
    equal(await statusOf(it.exchange, { ...DELETE, method }), 200)
    deepEqual(it.seen, [`${method} Bearer old`, `${method} Bearer new`])
  })
}

test('a read waits for new credentials and is sent again, a review by POST too', async () => {
  const plugin = Promise.withResolvers<string>()
  await using it = await rig(() => plugin.promise)
  const reads = [GET, { ...GET, method: 'POST' } as const].map((one) => statusOf(it.exchange, one))
  plugin.resolve('new')
  deepEqual(await Promise.all(reads), [200, 200])
})

test('a write waits for a renewal for its time only, and goes with what there is', async () => {
  await using it = await rig(never, { writeWaitMs: 20 })
  equal(await statusOf(it.exchange, DELETE), 401)
  equal(await statusOf(it.exchange, DELETE), 401)
  deepEqual(it.seen, ['DELETE Bearer old', 'DELETE Bearer old'])
})

test('a write without any credentials is not sent', async () => {
  await using it = await rig(never, { writeWaitMs: 20 }, never)
  await rejects(statusOf(it.exchange, DELETE), isTooSlow(20))
  deepEqual(it.seen, [])
})

for (const when of ['at first', 'after a 401']) {
  test(`what waits for a plugin that hangs ${when} ends with its signal`, async () => {
    const stop = new AbortController()
    const hang = (): Promise<never> => {
      stop.abort(new Error('enough'))
      return never()
    }
    await using it = await rig(hang, {}, when === 'at first' ? hang : async () => 'old')
    await rejects(it.exchange.request(GET, stop.signal), /enough/)
  })
}

test('a plugin that hangs ends by a limit of its own, and is asked anew', async () => {
  let asked = 0
  const first = (): Promise<string> => (++asked === 1 ? never() : Promise.resolve('new'))
  await using it = await rig(never, { credentialsTimeoutMs: 20 }, first)
  await rejects(statusOf(it.exchange, GET), isTooSlow(20))
  equal(await statusOf(it.exchange, GET), 200)
  equal(asked, 2)
})

test('a plugin that hangs does not hold up the end', async () => {
  await using it = await rig(never, {}, never)
  const asked = it.exchange.request(GET, AbortSignal.timeout(DEADLINE_MS))
  await it.exchange[Symbol.asyncDispose]()
  await rejects(asked, /are closed/)
})

test('what is to be restored is sent once more with new credentials, however long they take', async () => {
  const plugin = Promise.withResolvers<string>()
  await using it = await rig(() => plugin.promise, { writeWaitMs: 1 })
  await using restorer = openRestorer({ name: 'test', exchange: it.exchange })
  const place: NamedResource = {
    ...{ group: '', version: 'v1', kind: 'ConfigMap', resource: 'configmaps' },
    scope: 'Namespaced',
    namespace: 'shop',
    name: 'one',
  }
  const made = restorer.create(place, '{}', false, AbortSignal.timeout(DEADLINE_MS))
  while (it.seen.length < 2) await new Promise((go) => setImmediate(go))
  plugin.resolve('new')
  await made
  deepEqual(it.seen, [
    ...['POST Bearer old', 'GET Bearer old', 'GET Bearer new', 'POST Bearer new'],
  ])
})

test('a DELETE whose credentials ran out is not sent after a pause that was pressed meanwhile', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const plugin = Promise.withResolvers<string>()
  const clock = systemClock()
  await using log = new MemoryLog({ partitions: 1, clock })
  const order = async (key: string, verb: 'epoch' | 'pause'): Promise<void> => {
    const said = {
      protection: null,
      mode: null,
      cluster: world.id,
      kind: null,
      number: 1,
      connected: true,
    }
    const value = world.codec.encode({ type: 'Control', ...said, who: 'test', why: '', verb })
    const topic = verb === 'epoch' ? 'control' : 'orders'
    await log.append(topic, 0, [{ key: `${key}/${world.id}`, value }])
  }
  let deletes = 0
  world.server.inject(async ({ method }) => {
    if (method !== 'DELETE' || ++deletes > 1) return undefined
    await order('pause', 'pause')
    const body = (async function* () {
      yield Buffer.from('{}')
    })()
    return { status: 401, headers: { 'content-type': 'application/json' }, body }
  })
  await using face = await serveHttp(world.server, ANY_HERE)
  let asked = 0
  await using exchange = openUndiciExchange({
    name: 'blue',
    server: face.url,
    proxyUrl: null,
    credentials: async (afresh) => {
      if (afresh) await plugin.promise
      return { headers: { authorization: `Bearer ${++asked}` }, tls: {} }
    },
  })
  await order('cluster', 'epoch')
  const cluster = openCluster({ name: 'blue', exchange })
  const clusters = () => ({ id: world.id, cluster })
  const random = { next: () => 0.5 }
  const reaper = createReaper({ log, codec: world.codec, clock, random, config: {}, clusters })
  const stop = new AbortController()
  const ended = reaper.run(stop.signal)
  await log.append('commands', 0, [world.produced(world.deleteOf(pod))])
  const { entries } = await log.read('events', 0, 0n, { limit: 1, waitMs: DEADLINE_MS })
  plugin.resolve('')
  stop.abort()
  await ended
  ok(entries[0]?.value, 'the command was not settled while the plugin took its time')
  const settled = world.codec.decode(entries[0].value) as CommandSettled
  deepEqual([settled.outcome, settled.reason, deletes], ['blocked', 'paused', 1])
  equal(world.exists('pod'), true)
})

function isTooSlow(limitMs: number): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof ExchangeError)
    equal(error.code, 'CREDENTIALS')
    match(error.message, new RegExp(`they took longer than ${limitMs} ms`))
    return true
  }
}
