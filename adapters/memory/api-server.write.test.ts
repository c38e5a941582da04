/**
 * POST, PUT and PATCH on the in-memory API server: rules B70 and B71, conflicts, and the effect of
 * each kind of patch.
 */
import { deepEqual, equal, match, notEqual } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ApiFixture, CONFIG_MAPS } from './api-server.fixture.ts'

const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments'
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }

suite('a POST', () => {
  test('gives an identity that no body can', async () => {
    const api = new ApiFixture()
    const given = { name: 'it', uid: 'mine', creationTimestamp: '2001-01-01T00:00:00Z' }
    const gone = { deletionTimestamp: '2001-01-01T00:00:00Z', deletionGracePeriodSeconds: 1 }
    const { metadata } = await api.create(CONFIG_MAPS, { ...given, ...gone, selfLink: '/x' })
    match(metadata.uid, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    deepEqual(metadata, {
      name: 'it',
      namespace: 'default',
      uid: metadata.uid,
      resourceVersion: api.server.resourceVersion,
      creationTimestamp: '2023-11-14T22:13:20Z',
    })
  })

  test('makes names up', async () => {
    const { metadata } = await new ApiFixture().create(CONFIG_MAPS, { generateName: 'it-' })
    match(metadata.name, /^it-[bcdfghjklmnpqrstvwxz2456789]{5}$/)
  })

  const refusals: readonly [string, object, number, string | undefined, string][] = [
    ['no name', {}, 422, 'Invalid', 'metadata.name'],
    ['a bad name', { name: 'Bad_Name' }, 422, 'Invalid', 'metadata.name'],
    ['another namespace', { name: 'it', namespace: 'other' }, 400, 'BadRequest', ''],
    ['a version', { name: 'it', resourceVersion: '7' }, 500, undefined, ''],
    [
      'a reference without a uid',
      { name: 'it', ownerReferences: [{ ...OWNER, uid: '' }] },
      422,
      'Invalid',
      'metadata.ownerReferences.uid',
    ],
    [
      'a reference without a version',
      { name: 'it', ownerReferences: [{ ...OWNER, apiVersion: '' }] },
      422,
      'Invalid',
      'metadata.ownerReferences.apiVersion',
    ],
    [
      'two controllers',
      {
        name: 'it',
        ownerReferences: [
          { ...OWNER, controller: true },
          { ...OWNER, uid: 'v', controller: true },
        ],
      },
      422,
      'Invalid',
      'metadata.ownerReferences',
    ],
    [
      'an Event as owner',
      { name: 'it', ownerReferences: [{ ...OWNER, kind: 'Event' }] },
      422,
      'Invalid',
      'metadata.ownerReferences',
    ],
    [
      'a finalizer of no domain',
      { name: 'it', finalizers: ['foo'] },
      422,
      'Invalid',
      'metadata.finalizers[0]',
    ],
    [
      "both of the collector's finalizers",
      { name: 'it', finalizers: ['orphan', 'foregroundDeletion'] },
      422,
      'Invalid',
      'metadata.finalizers',
    ],
    ['finalizers that are no list', { name: 'it', finalizers: 'a/b' }, 400, 'BadRequest', ''],
  ]
  for (const [what, metadata, code, reason, field] of refusals) {
    test(`with ${what} is refused`, async () => {
      const { status, body } = await new ApiFixture().request('POST', CONFIG_MAPS, { metadata })
      deepEqual([status, body.reason, body.details?.causes?.[0].field ?? ''], [code, reason, field])
    })
  }

  test('drops exact duplicates of references with a warning, and keeps what only shares a uid', async () => {
    const api = new ApiFixture()
    const twice = { name: 'twice', ownerReferences: [OWNER, OWNER] }
    const { headers, body } = await api.request('POST', CONFIG_MAPS, { metadata: twice })
    match(headers['warning'] ?? '', /^299 - ".*duplicate/)
    deepEqual(body.metadata.ownerReferences, [OWNER])
    const ownerReferences = [OWNER, { ...OWNER, controller: false }]
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'alike', ownerReferences })
    deepEqual(metadata.ownerReferences, ownerReferences)
  })

  test('into no namespace is a NotFound of the namespace', async () => {
    const path = '/api/v1/namespaces/nope/configmaps'
    const { status, body } = await new ApiFixture().request('POST', path, {
      metadata: { name: 'it' },
    })
    deepEqual([status, body.details], [404, { name: 'nope', kind: 'namespaces' }])
  })

  test('of what is there already is refused', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const { status, body } = await api.request('POST', CONFIG_MAPS, { metadata: { name: 'it' } })
    deepEqual(
      [status, body.reason, body.details],
      [409, 'AlreadyExists', { name: 'it', kind: 'configmaps' }],
    )
  })

  test('in a dry run stores nothing', async () => {
    const api = new ApiFixture()
    const before = api.server.resourceVersion
    const body = { metadata: { name: 'it' } }
    equal((await api.request('POST', `${CONFIG_MAPS}?dryRun=All`, body)).status, 201)
    equal(api.server.resourceVersion, before)
    equal((await api.request('GET', `${CONFIG_MAPS}/it`)).status, 404)
  })
})

suite('an update', () => {
  test('that changes nothing takes no version', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'it' }, { data: { a: '1', b: '2' } })
    const same = { data: { b: '2', a: '1' }, metadata: { name: 'it' } }
    const { status, body } = await api.request('PUT', `${CONFIG_MAPS}/it`, same)
    deepEqual([status, body.metadata], [200, metadata])
  })

  test('is refused under a version that is not the stored one', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'it' })
    const stale = { metadata: { ...metadata, resourceVersion: '1' } }
    for (const answer of [
      await api.request('PUT', `${CONFIG_MAPS}/it`, stale),
      await api.patch(`${CONFIG_MAPS}/it`, 'merge', { metadata: { resourceVersion: '1' } }),
    ]) {
      deepEqual([answer.status, answer.body.reason], [409, 'Conflict'])
    }
  })

  test('cannot move the identity', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const uid = { metadata: { name: 'it', uid: 'another' } }
    equal((await api.request('PUT', `${CONFIG_MAPS}/it`, uid)).status, 409)
    equal((await api.patch(`${CONFIG_MAPS}/it`, 'merge', uid)).status, 422)
    const name = { metadata: { name: 'other' } }
    equal((await api.request('PUT', `${CONFIG_MAPS}/it`, name)).status, 400)
  })

  test('cannot add a finalizer to what is being deleted, nor end its deletion', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it', finalizers: ['a/b'] })
    const { metadata } = (await api.request('DELETE', `${CONFIG_MAPS}/it`)).body
    const added = { metadata: { finalizers: ['a/b', 'c/d'] } }
    equal((await api.patch(`${CONFIG_MAPS}/it`, 'merge', added)).status, 422)
    const cleared = { metadata: { deletionTimestamp: null } }
    const { body } = await api.patch(`${CONFIG_MAPS}/it`, 'merge', cleared)
    deepEqual(body.metadata, metadata)
  })

  test('counts a generation for the spec, not for metadata or status', async () => {
    const api = new ApiFixture()
    await api.create(DEPLOYMENTS, { name: 'it' }, { spec: { replicas: 1 } })
    const generation = async (path: string, patch: object) =>
      (await api.patch(`${DEPLOYMENTS}/it${path}`, 'merge', patch)).body.metadata.generation
    equal(await generation('', { metadata: { labels: { a: 'b' } } }), 1)
    equal(await generation('', { status: { replicas: 9 } }), 1)
    equal(await generation('/status', { status: { replicas: 1 }, spec: { replicas: 5 } }), 1)
    equal(await generation('', { spec: { replicas: 2 } }), 2)
    const { body } = await api.request('GET', `${DEPLOYMENTS}/it`)
    deepEqual([body.spec.replicas, body.status.replicas], [2, 1])
    const scale = await api.patch(`${DEPLOYMENTS}/it/scale`, 'merge', { spec: { replicas: 4 } })
    deepEqual([scale.body.kind, scale.body.spec.replicas], ['Scale', 4])
  })
})

suite('a PATCH', () => {
  test('whose test fails is a 422 with empty details, and changes nothing', async () => {
    const api = new ApiFixture()
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'it', ownerReferences: [OWNER] })
    const failing = [
      [{ op: 'test', path: '/metadata/uid', value: 'another' }],
      [{ op: 'test', path: '/metadata/ownerReferences/0', value: { ...OWNER, controller: false } }],
      [{ op: 'remove', path: '/metadata/ownerReferences/1' }],
    ]
    for (const operations of failing) {
      const { status, body } = await api.patch(`${CONFIG_MAPS}/it`, 'json', operations)
      deepEqual([status, body.reason, body.details], [422, 'Invalid', {}])
    }
    deepEqual((await api.request('GET', `${CONFIG_MAPS}/it`)).body.metadata, metadata)
  })

  test('whose tests hold takes references away, in descending order', async () => {
    const api = new ApiFixture()
    const ownerReferences = [OWNER, { ...OWNER, uid: 'v' }, { ...OWNER, uid: 'w' }]
    const made = await api.create(CONFIG_MAPS, { name: 'it', ownerReferences })
    const { status, body } = await api.patch(`${CONFIG_MAPS}/it`, 'json', [
      { op: 'test', path: '/metadata/uid', value: made.metadata.uid },
      { op: 'test', path: '/metadata/ownerReferences/2', value: ownerReferences[2] },
      { op: 'remove', path: '/metadata/ownerReferences/2' },
      { op: 'test', path: '/metadata/ownerReferences/0', value: OWNER },
      { op: 'remove', path: '/metadata/ownerReferences/0' },
    ])
    equal(status, 200)
    deepEqual(body.metadata.ownerReferences, [ownerReferences[1]])
    notEqual(body.metadata.resourceVersion, made.metadata.resourceVersion)
  })

  test('of the strategic kind drops a reference by its uid, if the uid of the object is right', async () => {
    const api = new ApiFixture()
    const ownerReferences = [OWNER, { ...OWNER, uid: 'v' }]
    const { metadata } = await api.create(CONFIG_MAPS, { name: 'it', ownerReferences })
    const drop = (uid: string) => ({
      metadata: { uid, ownerReferences: [{ $patch: 'delete', uid: 'u' }] },
    })
    equal((await api.patch(`${CONFIG_MAPS}/it`, 'strategic', drop('another'))).status, 422)
    const { body } = await api.patch(`${CONFIG_MAPS}/it`, 'strategic', drop(metadata.uid))
    deepEqual(body.metadata.ownerReferences, [ownerReferences[1]])
  })

  test('of nothing is a NotFound', async () => {
    const { status, body } = await new ApiFixture().patch(`${CONFIG_MAPS}/it`, 'json', [])
    deepEqual([status, body.details], [404, { name: 'it', kind: 'configmaps' }])
  })

  test('of another media type is refused', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    equal((await api.request('PATCH', `${CONFIG_MAPS}/it`, {})).status, 415)
  })
})
