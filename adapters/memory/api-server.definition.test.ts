/**
 * Custom resources on the in-memory API server: served when their CustomResourceDefinition is
 * created, deleted with it.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ApiFixture } from './api-server.fixture.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WIDGETS = '/apis/example.com/v1/namespaces/default/widgets'
const NAME = 'widgets.example.com'
const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget' }

function spec(...versions: readonly string[]): object {
  return {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'widgets', kind: 'Widget' },
    versions: versions.map((name, index) => ({ name, served: true, storage: index === 0 })),
  }
}

async function defined(...versions: readonly string[]): Promise<ApiFixture> {
  const api = new ApiFixture()
  await api.create(DEFINITIONS, { name: NAME }, { spec: spec(...versions) })
  return api
}

suite('a custom resource', () => {
  test('is served from the moment of its definition', async () => {
    const api = await defined('v1')
    const absent = await api.request('GET', `${WIDGETS}/it`)
    deepEqual(absent.body.details, { name: 'it', group: 'example.com', kind: 'widgets' })
    const made = await api.create(WIDGETS, { name: 'it' }, { ...WIDGET, spec: { size: 1 } })
    equal(made.metadata.generation, 1)
    const { body } = await api.request('GET', '/apis/example.com/v1')
    deepEqual(
      body.resources.map((it: { name: string }) => it.name),
      ['widgets'],
    )
  })

  test('answers plain text where its group does not serve something', async () => {
    const api = await defined('v1')
    for (const path of [
      '/apis/example.com/v1beta1/namespaces/default/widgets/it',
      '/apis/example.com/v1/namespaces/default/widgetz/it',
      '/apis/example.com/v1/widgets/it',
    ]) {
      const { status, body } = await api.request('GET', path)
      deepEqual([status, body], [404, '404 page not found\n'])
    }
  })

  test('is the same object under each served version, and in none that is not', async () => {
    const api = await defined('v2', 'v1')
    const { metadata } = await api.create(WIDGETS, { name: 'it' }, WIDGET)
    const path = '/apis/example.com/v2/namespaces/default/widgets/it'
    const { body } = await api.request('GET', path)
    deepEqual([body.apiVersion, body.metadata.uid], ['example.com/v2', metadata.uid])
    await api.patch(`${DEFINITIONS}/${NAME}`, 'merge', { spec: spec('v2') })
    equal((await api.request('GET', `${WIDGETS}/it`)).body, '404 page not found\n')
    equal((await api.request('GET', path)).status, 200)
  })

  test('knows no strategic merge, and no update without a version', async () => {
    const api = await defined('v1')
    await api.create(WIDGETS, { name: 'it' }, WIDGET)
    equal((await api.patch(`${WIDGETS}/it`, 'strategic', {})).status, 415)
    equal((await api.patch(`${WIDGETS}/it`, 'merge', { spec: { size: 2 } })).status, 200)
    const replaced = { ...WIDGET, metadata: { name: 'it' } }
    equal((await api.request('PUT', `${WIDGETS}/it`, replaced)).status, 422)
  })
})

suite('a definition', () => {
  test('takes its objects along, tells of each, ends the watch and unserves the kind', async () => {
    const api = await defined('v1')
    const from = api.server.resourceVersion
    for (const name of ['a', 'b']) await api.create(WIDGETS, { name }, WIDGET)
    await using reader = await api.watch(`${WIDGETS}?watch=1&resourceVersion=${from}`)
    // Its policy is ignored: a CustomResourceDefinition never waits for dependents, nor orphans
    // them.
    const options = { propagationPolicy: 'Foreground' }
    const { body } = await api.request('DELETE', `${DEFINITIONS}/${NAME}`, options)
    deepEqual(body.metadata.finalizers, ['customresourcecleanup.apiextensions.k8s.io'])
    deepEqual(await reader.take(5), ['ADDED a', 'ADDED b', 'DELETED a', 'DELETED b', 'END'])
    equal((await api.request('GET', `${WIDGETS}/a`)).body, '404 page not found\n')
    equal((await api.request('GET', `${DEFINITIONS}/${NAME}`)).status, 404)
  })

  test('waits for objects that wait for finalizers', async () => {
    const api = await defined('v1')
    await api.create(WIDGETS, { name: 'it', finalizers: ['a/b'] }, WIDGET)
    await api.request('DELETE', `${DEFINITIONS}/${NAME}`)
    equal((await api.request('GET', `${DEFINITIONS}/${NAME}`)).status, 200)
    const late = await api.request('POST', WIDGETS, { ...WIDGET, metadata: { name: 'late' } })
    equal(late.status, 403)
    await api.patch(`${WIDGETS}/it`, 'merge', { metadata: { finalizers: null } })
    equal((await api.request('GET', `${WIDGETS}/it`)).body, '404 page not found\n')
    equal((await api.request('GET', `${DEFINITIONS}/${NAME}`)).status, 404)
  })

  test('that comes again serves other objects, and no history of the first ones', async () => {
    const api = await defined('v1')
    await api.create(WIDGETS, { name: 'it' }, WIDGET)
    const from = Number(api.server.resourceVersion) - 1
    await api.request('DELETE', `${DEFINITIONS}/${NAME}`)
    await api.create(DEFINITIONS, { name: NAME }, { spec: spec('v1') })
    deepEqual((await api.request('GET', WIDGETS)).body.items, [])
    await using reader = await api.watch(`${WIDGETS}?watch=1&resourceVersion=${from}`)
    equal((await reader.next()).object.code, 410)
  })

  test('must be named for its resource', async () => {
    const body = { metadata: { name: 'wrong' }, spec: spec('v1') }
    equal((await new ApiFixture().request('POST', DEFINITIONS, body)).status, 422)
  })
})
