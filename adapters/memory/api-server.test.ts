/**
 * The hooks of the in-memory API server for tests and the simulator: faults, observers, counts.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ApiFixture, CONFIG_MAPS } from './api-server.fixture.ts'

suite('the API server in memory', () => {
  test('answers as an injected fault does, until that is withdrawn', async () => {
    const api = new ApiFixture()
    const withdraw = api.server.inject(({ method }) => {
      if (method !== 'DELETE') return undefined
      return { status: 429, headers: { 'retry-after': '1' }, body: nothing() }
    })
    await api.create(CONFIG_MAPS, { name: 'it' })
    equal((await api.request('DELETE', `${CONFIG_MAPS}/it`)).status, 429)
    withdraw()
    equal((await api.request('DELETE', `${CONFIG_MAPS}/it`)).status, 200)
  })

  test('lets a fault act and hide it: the outcome is unknown, the object gone', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const withdraw = api.server.inject(async (_request, proceed) => {
      await proceed()
      return { status: 504, headers: {}, body: nothing() }
    })
    equal((await api.request('DELETE', `${CONFIG_MAPS}/it`)).status, 504)
    withdraw()
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 404)
  })

  test('tells observers of each effect while it is the last one', async () => {
    const api = new ApiFixture()
    const seen: unknown[] = []
    const stop = api.server.observe(({ kind, before, after, version }) => {
      const isThere = api.server.object('', kind.resource, 'default', 'it') !== undefined
      seen.push([kind.resource, before !== null, after !== null, isThere])
      equal(String(version), api.server.resourceVersion)
    })
    await api.create(CONFIG_MAPS, { name: 'it' })
    await api.patch(`${CONFIG_MAPS}/it`, 'merge', { data: { a: 'b' } })
    await api.request('DELETE', `${CONFIG_MAPS}/it`, { dryRun: ['All'] })
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    deepEqual(seen, [
      ['configmaps', false, true, true],
      ['configmaps', true, true, true],
      ['configmaps', true, false, false],
    ])
    stop()
    await api.create(CONFIG_MAPS, { name: 'unseen' })
    equal(seen.length, 3)
  })

  test('counts requests by verb and resource', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    for (const path of [CONFIG_MAPS, `${CONFIG_MAPS}?limit=1`, `${CONFIG_MAPS}/it`, '/version']) {
      await api.request('GET', path)
    }
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    deepEqual(Object.fromEntries(api.server.requestCounts()), {
      'POST configmaps': 1,
      'LIST configmaps': 2,
      'GET configmaps': 1,
      'DELETE configmaps': 1,
    })
  })

  test('has the three namespaces from the start, and an identity of its own', async () => {
    const api = new ApiFixture()
    const namespaces = [...api.server.objects('', 'namespaces')]
    deepEqual(
      namespaces.map(({ metadata }) => metadata.name),
      ['default', 'kube-public', 'kube-system'],
    )
    equal(new Set(namespaces.map(({ metadata }) => metadata.uid)).size, 3)
    notEqual(namespaces[2]!.metadata.uid, '')
  })

  test('lets everybody do everything', async () => {
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'
    const review = { spec: { resourceAttributes: { verb: 'delete', resource: 'pods' } } }
    const { status, body } = await new ApiFixture().request('POST', path, review)
    deepEqual([status, body.status.allowed, body.spec], [201, true, review.spec])
  })

  test('gives a token of an account that is there, and of no other', async () => {
    const api = new ApiFixture()
    const path = '/api/v1/namespaces/default/serviceaccounts'
    await api.request('POST', path, { metadata: { name: 'watcher' } })
    const given = await api.request('POST', `${path}/watcher/token`, { spec: {} })
    equal(given.status, 201)
    notEqual(given.body.status.token, '')
    equal((await api.request('POST', `${path}/reaper/token`, { spec: {} })).status, 404)
  })
})

async function* nothing(): AsyncGenerator<Uint8Array> {}
