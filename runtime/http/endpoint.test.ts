/**
 * What every process' endpoint promises beside its answers: when it gives up waiting, and what
 * becomes of requests that it refuses.
 */
import { deepEqual, doesNotMatch, equal, match, ok, rejects } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { failed, passed, SORTS, warned } from '../health.ts'
import { EXIT } from '../lifecycle.ts'
import type { Fields } from '../logger.ts'
import type { Authority } from './authority.ts'
import { type EndpointParts, type HttpSettings, type Served, serveEndpoint } from './endpoint.ts'
import type { HttpToken } from './http-token.ts'
import { Problem } from './problem.ts'

/** As docs/operate/config.md says. */
const WITHIN_MS = 30_000

async function serve(
  t: TestContext,
  more: Partial<HttpSettings>,
  lines: Fields[] = [],
  add: EndpointParts['add'] = () => undefined,
  checks: EndpointParts['checks'] = () => [],
): Promise<Served> {
  const logger = { log: (_level: string, _message: string, fields = {}) => void lines.push(fields) }
  const parts = { version: 'test', checks, scrape: async () => '' }
  const served = await serveEndpoint(
    { ...parts, add, logger, clock: new ManualClock() },
    { address: '127.0.0.1:0', ...more },
  )
  t.after(async () => await served.server.close())
  return served
}

test('whatever does not arrive is given up within the time that is documented, looks for such included', async (t) => {
  const { server } = (await serve(t, {})).server
  const [interval] = Object.getOwnPropertySymbols(server)
    .filter((symbol) => symbol.description === 'http.server.connectionsCheckingInterval')
    .map((symbol) => (server as unknown as Record<symbol, { _repeat: number }>)[symbol])
  const lookMs = interval?._repeat ?? Number.NaN
  for (const [name, limitMs] of Object.entries({
    headers: server.headersTimeout,
    request: server.requestTimeout,
    idle: server.keepAliveTimeout,
  })) {
    ok(limitMs > 0 && limitMs + lookMs <= WITHIN_MS, `${name}: ${limitMs} + ${lookMs} ms`)
  }
})

test('refused requests are counted and logged, without what was shown', async (t) => {
  const lines: Fields[] = []
  const token = { isShown: () => false, failure: () => '' }
  const { url, status } = await serve(t, { token }, lines)
  const shown = 'a-secret-that-is-wrong'
  for (let time = 0; time < 5; time++) {
    const headers = { authorization: `Bearer ${shown}` }
    equal((await fetch(`${url}/version?token=${shown}`, { headers })).status, 401)
  }
  equal((await fetch(`${url}/livez`)).status, 200)
  deepEqual(
    [...status().refused],
    [
      [401, 5],
      [403, 0],
    ],
  )
  deepEqual(lines, [
    { address: '127.0.0.1', method: 'GET', route: '/version', code: 401, times: 1 },
  ])
  doesNotMatch(JSON.stringify(lines), new RegExp(shown))
})

test('a stream whose reader left while it was asked who that is takes no place', async (t) => {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<undefined>()
  const gone = Promise.withResolvers<void>()
  const authority = {
    async identify() {
      asked.resolve()
      await answered.promise
      return { name: 'ann', uid: '', groups: [], extra: {} }
    },
    may: async () => true,
  }
  const { url, status, server } = await serve(t, { authority }, [], (routes) => {
    routes.get('/stream', { config: { isStream: () => true } }, async (_request, reply) => {
      reply.hijack()
    })
  })
  server.server.on('request', (_request, response) => response.once('close', () => gone.resolve()))
  const leaving = new AbortController()
  const left = fetch(`${url}/stream`, { signal: leaving.signal }).catch(() => undefined)
  await asked.promise
  leaving.abort()
  await Promise.all([left, gone.promise])
  answered.resolve(undefined)
  for (let turn = 0; turn < 10; turn++) await setImmediate()
  equal(status().streams, 0)
})

function tokenOf(secret: string): HttpToken {
  return { isShown: (shown) => shown === `Bearer ${secret}`, failure: () => '' }
}

test('who shows a token for the metrics may read them, and nothing else (T25)', async (t) => {
  const asked: (string | undefined)[] = []
  const authority: Authority = {
    async identify({ authorization }) {
      asked.push(authorization)
      return undefined
    },
    may: async () => true,
  }
  const settings = { token: tokenOf('all'), metricsToken: tokenOf('metrics'), authority }
  const { url } = await serve(t, settings, [], (routes) => {
    routes.get('/v1/why', async () => 'why')
    routes.post('/v1/pause', async () => 'paused')
  })
  const ask = async (path: string, secret: string, method = 'GET'): Promise<number> => {
    const headers = { authorization: `Bearer ${secret}` }
    return (await fetch(url + path, { method, headers })).status
  }
  const statuses = async (secret: string): Promise<readonly number[]> => [
    await ask('/metrics', secret),
    await ask('/metrics?name=x', secret),
    await ask('/metrics', secret, 'HEAD'),
    await ask('/livez', secret),
    await ask('/readyz', secret),
    await ask('/readyz?verbose', secret),
    await ask('/version', secret),
    await ask('/v1/why', secret),
    await ask('/v1/pause', secret, 'POST'),
    await ask('/nowhere', secret),
  ]
  deepEqual(await statuses('metrics'), [200, 200, 200, 200, 200, 403, 403, 403, 403, 403])
  deepEqual(asked, [], 'no cluster is shown it')
  deepEqual(await statuses('all'), [200, 200, 200, 200, 200, 200, 200, 200, 200, 404])
  deepEqual(await statuses('none'), [401, 401, 401, 200, 200, 401, 401, 401, 401, 401])
})

test('one that is in the file of the others, too, may what they may', async (t) => {
  const both = { token: tokenOf('same'), metricsToken: tokenOf('same') }
  const { url } = await serve(t, both)
  const headers = { authorization: 'Bearer same' }
  equal((await fetch(`${url}/version`, { headers })).status, 200)
})

test('a token for the metrics is refused where everything else would be open', async (t) => {
  await rejects(serve(t, { metricsToken: tokenOf('metrics') }), {
    exitCode: EXIT.input,
    message: /--http-metrics-token-file: .*name a file of tokens for that as well/,
  })
})

/** Says of everybody that it is who its token names; `bob` alone may see all. */
const BOB_SEES_ALL: Authority = {
  async identify({ authorization = '' }) {
    return { name: authorization.replace('Bearer ', ''), uid: '', groups: [], extra: {} }
  },
  may: async ({ name }) => name === 'bob',
}

test('T11: of no check is a name or a reason shown to who may not see all', async (t) => {
  const make = [passed, warned, failed]
  const settings = { authority: BOB_SEES_ALL, isReadingReviewed: true }
  for (const path of ['/readyz', '/healthz']) {
    for (const [index, made] of make.entries()) {
      const checks = SORTS.flatMap((sort) => [
        made(sort, 'of topsecret'),
        made(`${sort}/topsecret/topsecret`, 'of topsecret'),
      ])
      const { url } = await serve(t, settings, [], undefined, () => checks)
      const ask = async (name: string): Promise<string> => {
        const headers = { authorization: `Bearer ${name}` }
        return await (await fetch(`${url}${path}?verbose`, { headers })).text()
      }
      const shown = await ask('ann')
      doesNotMatch(shown, /topsecret/)
      equal(shown.split('\n').length, SORTS.length + 2, `${index}`)
      equal((await ask('bob')).split('topsecret').length, 1 + 4 * SORTS.length)
    }
  }
})

test('names of other tenants are for who may see all; others get states and counts (T11)', async (t) => {
  const authority: Authority = {
    async identify({ authorization = '' }) {
      const name = authorization.replace('Bearer ', '')
      return { name, uid: '', groups: [], extra: {} }
    },
    may: async ({ name }, cluster, { resource }) => {
      if (name === 'away') throw new Problem(503, 'no cluster can say')
      return name === 'bob' && cluster === null && resource === 'graphs'
    },
  }
  const checks = [
    ...[passed('synced/c/pods'), passed('synced/c/nodes')],
    warned('blocked/c/refused', 'ConfigMap/topsecret of victim'),
  ]
  const settings = { authority, isReadingReviewed: true }
  const { url } = await serve(t, settings, [], undefined, () => checks)
  const ask = async (path: string, name: string): Promise<readonly [number, string]> => {
    const response = await fetch(url + path, { headers: { authorization: `Bearer ${name}` } })
    return [response.status, await response.text()]
  }
  const counts = '[+]synced ok: 2\n[!]blocked warning: 1\nreadyz check passed\n'
  for (const path of ['/readyz?verbose', '/healthz?verbose']) {
    deepEqual(await ask(path, 'ann'), [200, counts])
    deepEqual(await ask(path, 'away'), [200, counts])
    match((await ask(path, 'bob'))[1], /topsecret/)
  }
  equal((await ask('/metrics', 'ann'))[0], 403)
  equal((await ask('/metrics', 'bob'))[0], 200)
})
