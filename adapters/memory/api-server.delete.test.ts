/**
 * DELETE on the in-memory API server: rules B67 to B70, as kube-apiserver v1.36 was seen to follow
 * them.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ApiFixture, CONFIG_MAPS, METADATA } from './api-server.fixture.ts'

const CONTROLLERS = '/api/v1/namespaces/default/replicationcontrollers'
const PODS = '/api/v1/namespaces/default/pods'

// Present finalizer, requested policy, then the finalizers left: by a kind whose default is
// Background, and by one that orphans.
const propagation = [
  ['none', undefined, 'gone', 'orphan'],
  ['none', 'Foreground', 'foregroundDeletion', 'foregroundDeletion'],
  ['none', 'Background', 'gone', 'gone'],
  ['none', 'Orphan', 'orphan', 'orphan'],
  ['orphan', undefined, 'orphan', 'orphan'],
  ['orphan', 'Foreground', 'foregroundDeletion', 'foregroundDeletion'],
  ['orphan', 'Background', 'gone', 'gone'],
  ['orphan', 'Orphan', 'orphan', 'orphan'],
  ['foregroundDeletion', undefined, 'foregroundDeletion', 'foregroundDeletion'],
  ['foregroundDeletion', 'Foreground', 'foregroundDeletion', 'foregroundDeletion'],
  ['foregroundDeletion', 'Background', 'gone', 'gone'],
  ['foregroundDeletion', 'Orphan', 'orphan', 'orphan'],
  // With another finalizer nothing is deleted, and only the collector's finalizer changes.
  ['a/b', undefined, 'a/b', 'a/b orphan'],
  ['a/b', 'Foreground', 'a/b foregroundDeletion', 'a/b foregroundDeletion'],
  ['a/b', 'Background', 'a/b', 'a/b'],
  ['a/b orphan', 'Foreground', 'a/b foregroundDeletion', 'a/b foregroundDeletion'],
  ['a/b orphan', 'Background', 'a/b', 'a/b'],
] as const

suite('a DELETE', () => {
  for (const [present, policy, ...expected] of propagation) {
    for (const [index, path] of [CONFIG_MAPS, CONTROLLERS].entries()) {
      const kind = index === 0 ? 'a ConfigMap' : 'a ReplicationController'
      test(`of ${kind} with finalizers ${present}, policy ${policy ?? 'default'}`, async () => {
        const api = new ApiFixture()
        const finalizers = present === 'none' ? [] : present.split(' ')
        await api.create(path, { name: 'it', finalizers })
        const options = policy === undefined ? {} : { propagationPolicy: policy }
        const { status, body } = await api.request('DELETE', `${path}/it`, options)
        equal(status, 200)
        const left = body.kind === 'Status' ? 'gone' : body.metadata.finalizers.join(' ')
        equal(left, expected[index])
        const after = await api.request('GET', `${path}/it`)
        equal(after.status, left === 'gone' ? 404 : 200)
        if (left !== 'gone') notEqual(after.body.metadata.deletionTimestamp, undefined)
      })
    }
  }

  // The old spelling of Orphan and Background.
  for (const [orphanDependents, left] of [
    [true, ['orphan']],
    [false, undefined],
  ] as const) {
    test(`with orphanDependents ${orphanDependents}`, async () => {
      const api = new ApiFixture()
      await api.create(CONTROLLERS, { name: 'it' })
      const { body } = await api.request('DELETE', `${CONTROLLERS}/it`, { orphanDependents })
      deepEqual(body.metadata.finalizers, left)
    })
  }

  const invalid = [
    [{ propagationPolicy: 'Sideways' }, 'propagationPolicy'],
    [{ propagationPolicy: 'Orphan', orphanDependents: true }, 'propagationPolicy'],
    [{ dryRun: ['Some'] }, 'dryRun'],
  ] as const
  for (const [options, field] of invalid) {
    test(`is refused with options ${JSON.stringify(options)}`, async () => {
      const api = new ApiFixture()
      await api.create(CONFIG_MAPS, { name: 'it' })
      const { status, body } = await api.request('DELETE', `${CONFIG_MAPS}/it`, options)
      deepEqual([status, body.reason, body.details.causes[0].field], [422, 'Invalid', field])
      equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 200)
    })
  }

  test('answers a Status that names what went', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create('/apis/apps/v1/namespaces/default/deployments', {
      name: 'web',
    })
    const { body } = await api.request('DELETE', '/apis/apps/v1/namespaces/default/deployments/web')
    const details = { name: 'web', group: 'apps', kind: 'deployments', uid: metadata.uid }
    const told = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
    deepEqual(body, told)
  })

  test('is refused when uid or version are not those of the record', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    for (const preconditions of [{ uid: 'another' }, { resourceVersion: '1' }]) {
      const { status, body } = await api.request('DELETE', `${CONFIG_MAPS}/it`, { preconditions })
      deepEqual([status, body.reason], [409, 'Conflict'])
      deepEqual(body.details, { name: 'it', kind: 'ConfigMap' })
    }
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 200)
  })

  test('changes nothing in a dry run that stands in the body', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'it' })
    const options = { propagationPolicy: 'Foreground', dryRun: ['All'] }
    const { status } = await api.request('DELETE', `${CONFIG_MAPS}/it`, options)
    equal(status, 200)
    deepEqual((await api.request('GET', `${CONFIG_MAPS}/it`)).body.metadata, metadata)
  })

  test('changes nothing in a dry run in the URL, without a body', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    equal((await api.request('DELETE', `${CONFIG_MAPS}/it?dryRun=All`)).status, 200)
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 200)
  })

  test('really deletes with a dry run in the URL and a body: the body hides the URL', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const options = { propagationPolicy: 'Background' }
    equal((await api.request('DELETE', `${CONFIG_MAPS}/it?dryRun=All`, options)).status, 200)
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 404)
  })

  test('takes options from the URL without a body', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const path = `${CONFIG_MAPS}/it?propagationPolicy=Foreground`
    const { body } = await api.request('DELETE', path)
    deepEqual(body.metadata.finalizers, ['foregroundDeletion'])
  })

  test('may come a second time with another policy, or without one', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const again = async (options: object) => {
      const { body } = await api.request('DELETE', `${CONFIG_MAPS}/it`, options, {
        accept: METADATA,
      })
      return body.kind === 'Status' ? 'gone' : [...body.metadata.finalizers]
    }
    deepEqual(await again({ propagationPolicy: 'Foreground' }), ['foregroundDeletion'])
    deepEqual(await again({}), ['foregroundDeletion'])
    deepEqual(await again({ propagationPolicy: 'Orphan' }), ['orphan'])
    deepEqual(await again({ propagationPolicy: 'Foreground' }), ['foregroundDeletion'])
    equal(await again({ propagationPolicy: 'Background' }), 'gone')
  })

  test('counts a generation when it marks, and marks only once', async () => {
    const api = new ApiFixture()
    const path = '/apis/apps/v1/namespaces/default/deployments'
    await api.create(path, { name: 'it', finalizers: ['a/b'] })
    const { metadata } = (await api.request('DELETE', `${path}/it`)).body
    deepEqual([metadata.generation, metadata.deletionGracePeriodSeconds], [2, 0])
    await api.clock.advance(5_000)
    deepEqual((await api.request('DELETE', `${path}/it`)).body.metadata, metadata)
  })

  test('is finished by the update that takes the last finalizer away', async () => {
    const api = new ApiFixture()
    const made = await api.create(CONFIG_MAPS, { name: 'it', finalizers: ['a/b'] })
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    const watch = `${CONFIG_MAPS}?watch=1&resourceVersion=${made.metadata.resourceVersion}`
    await using reader = await api.watch(watch)
    const operations = [
      { op: 'test', path: '/metadata/finalizers/0', value: 'a/b' },
      { op: 'remove', path: '/metadata/finalizers/0' },
    ]
    const { status, body } = await api.patch(`${CONFIG_MAPS}/it`, 'json', operations)
    deepEqual([status, body.metadata.finalizers], [200, undefined])
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 404)
    equal((await reader.next()).type, 'MODIFIED')
    const gone = await reader.next()
    // The last stored state, which still has it, under the version of the removal.
    deepEqual([gone.type, gone.object.metadata.finalizers], ['DELETED', ['a/b']])
    equal(gone.object.metadata.resourceVersion, api.server.resourceVersion)
  })

  test('is not finished by an update that leaves a finalizer', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it', finalizers: ['a/b'] })
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    await api.patch(`${CONFIG_MAPS}/it`, 'merge', { metadata: { labels: { a: 'b' } } })
    const { body } = await api.request('GET', `${CONFIG_MAPS}/it`)
    deepEqual([body.metadata.finalizers, body.metadata.labels], [['a/b'], { a: 'b' }])
  })

  test('gives a pod on a node its grace, which can only be shortened', async () => {
    const api = new ApiFixture()
    const spec = { nodeName: 'n', terminationGracePeriodSeconds: 9 }
    await api.create(PODS, { name: 'it' }, { spec })
    const grace = async (options: object) => {
      const { body } = await api.request('DELETE', `${PODS}/it`, options)
      return [body.metadata.deletionGracePeriodSeconds, body.metadata.finalizers]
    }
    deepEqual(await grace({}), [9, undefined])
    deepEqual(await grace({ propagationPolicy: 'Foreground' }), [9, undefined])
    deepEqual(await grace({ gracePeriodSeconds: 20 }), [9, undefined])
    deepEqual(await grace({ gracePeriodSeconds: 3 }), [3, undefined])
    deepEqual(await grace({ gracePeriodSeconds: 0 }), [0, undefined])
    equal((await api.request('GET', `${PODS}/it`)).status, 404)
  })

  test('of a pod on no node answers with the pod, marked and then gone', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create(PODS, { name: 'it' })
    await using reader = await api.watch(
      `${PODS}?watch=1&resourceVersion=${metadata.resourceVersion}`,
    )
    const { body } = await api.request('DELETE', `${PODS}/it`, undefined, { accept: METADATA })
    deepEqual([body.kind, body.metadata.deletionGracePeriodSeconds], ['PartialObjectMetadata', 0])
    equal((await api.request('GET', `${PODS}/it`)).status, 404)
    deepEqual(await reader.take(2), ['MODIFIED it', 'DELETED it'])
  })

  for (const resource of ['serviceaccounts', 'services', 'persistentvolumeclaims']) {
    test(`of ${resource} answers with the object, which looks alive`, async () => {
      const api = new ApiFixture()
      const path = `/api/v1/namespaces/default/${resource}`
      const { metadata } = await api.create(path, { name: 'it' })
      const { body } = await api.request('DELETE', `${path}/it`)
      deepEqual([body.metadata.uid, body.metadata.deletionTimestamp], [metadata.uid, undefined])
      equal(body.metadata.resourceVersion, api.server.resourceVersion)
      equal((await api.request('GET', `${path}/it`)).status, 404)
    })
  }

  test('of an Event knows no policy', async () => {
    const api = new ApiFixture()
    const path = '/api/v1/namespaces/default/events'
    await api.create(path, { name: 'it' })
    const options = { propagationPolicy: 'Foreground' }
    equal((await api.request('DELETE', `${path}/it`, options)).body.kind, 'Status')
  })

  test('of a collection deletes what is selected', async () => {
    const api = new ApiFixture()
    for (const name of ['a', 'b', 'c']) {
      await api.create(CONFIG_MAPS, { name, labels: { is: name === 'c' ? 'kept' : 'gone' } })
    }
    const { status } = await api.request('DELETE', `${CONFIG_MAPS}?labelSelector=is%3Dgone`)
    equal(status, 200)
    const { items } = (await api.request('GET', CONFIG_MAPS)).body
    deepEqual(
      items.map((item: { metadata: { name: string } }) => item.metadata.name),
      ['c'],
    )
  })
})

suite('a namespace', () => {
  test('goes after its content', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create('/api/v1/namespaces', { name: 'tmp' })
    await api.create('/api/v1/namespaces/tmp/configmaps', { name: 'a' })
    await api.create('/api/v1/namespaces/tmp/configmaps', { name: 'b', finalizers: ['x/y'] })
    const { body } = await api.request('DELETE', '/api/v1/namespaces/tmp')
    deepEqual(
      [body.metadata.uid, body.metadata.deletionGracePeriodSeconds, body.status.phase],
      [metadata.uid, undefined, 'Terminating'],
    )
    equal((await api.request('GET', '/api/v1/namespaces/tmp/configmaps/a')).status, 404)

    const late = { metadata: { name: 'late' } }
    const refused = await api.request('POST', '/api/v1/namespaces/tmp/configmaps', late)
    deepEqual(
      [refused.status, refused.body.details.causes[0].reason],
      [403, 'NamespaceTerminating'],
    )

    equal((await api.request('GET', '/api/v1/namespaces/tmp')).status, 200)
    const release = { metadata: { finalizers: null } }
    await api.patch('/api/v1/namespaces/tmp/configmaps/b', 'merge', release)
    equal((await api.request('GET', '/api/v1/namespaces/tmp')).status, 404)
  })

  test('of the system stays', async () => {
    const { status } = await new ApiFixture().request('DELETE', '/api/v1/namespaces/kube-system')
    equal(status, 403)
  })
})
