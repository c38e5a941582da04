/**
 * Shows the Cluster's requests, and how it reads lists, watches and discoveries that real servers
 * rarely give.
 *
 * What must stay true: every answer is spelled out here; the answers of a real server are shown by
 * cluster.cluster.test.ts.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Target } from '../../core/model/command.ts'
import { type Cluster, ClusterError, type Resource } from '../../ports/cluster.ts'
import { type Exchange, ExchangeError, type ExchangeRequest } from '../../ports/exchange.ts'
import { MARKED } from '../../ports/record/projection.ts'
import { openCluster } from './cluster.ts'

const PODS: Resource = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  scope: 'Namespaced',
}
const POD: Target = {
  ...{ group: '', version: 'v1', kind: 'Pod', resource: 'pods', namespace: 'shop', name: 'web' },
  ...{ uid: 'uid-1', resourceVersion: '7', aggregated: false },
}
const GUARD = {
  uid: 'uid-1',
  resourceVersion: '7',
  propagationPolicy: 'Background',
  dryRun: false,
} as const
const SIGNAL = AbortSignal.timeout(30_000)

describe('a cluster sends', () => {
  test('a DELETE with both preconditions, its policy, and a dry run in the body', async () => {
    const { cluster, sent } = scripted(() => [
      200,
      { kind: 'Status', apiVersion: 'v1', status: 'Success' },
    ])
    await cluster.delete(POD, GUARD, SIGNAL)
    await cluster.delete(POD, { ...GUARD, dryRun: true }, SIGNAL)
    await cluster.delete(POD, { ...GUARD, gracePeriodSeconds: 0 }, SIGNAL)
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      preconditions: { uid: 'uid-1', resourceVersion: '7' },
      propagationPolicy: 'Background',
    }
    const path = '/api/v1/namespaces/shop/pods/web'
    deepEqual(
      sent.map((it) => [it.method, it.path, JSON.parse(it.body ?? ''), it.purpose]),
      [
        ['DELETE', path, body, 'write'],
        ['DELETE', `${path}?dryRun=All`, { ...body, dryRun: ['All'] }, 'write'],
        ['DELETE', path, { ...body, gracePeriodSeconds: 0 }, 'write'],
      ],
    )
    match(sent[0]?.headers['accept'] ?? '', /^application\/json;as=PartialObjectMetadata;/)
  })

  test('a PATCH with its tests first, and who we are', async () => {
    const { cluster, sent } = scripted(() => [200, pod('web', '8')])
    const operations = [
      { op: 'test', path: '/metadata/uid', value: 'uid-1' },
      { op: 'remove', path: '/metadata/ownerReferences/0' },
    ] as const
    await cluster.patch(POD, operations, true, SIGNAL)
    equal(sent[0]?.path, '/api/v1/namespaces/shop/pods/web?fieldManager=kinfold&dryRun=All')
    equal(sent[0]?.headers['content-type'], 'application/json-patch+json')
    deepEqual(JSON.parse(sent[0]?.body ?? ''), operations)
  })

  test('nothing that has no guard', async () => {
    const { cluster, sent } = scripted(() => [200, {}])
    const remove = [{ op: 'remove', path: '/metadata/finalizers/0' }] as const
    await rejects(cluster.patch(POD, remove, false, SIGNAL), /never sent/)
    await rejects(cluster.delete(POD, { ...GUARD, uid: '' }, SIGNAL), /never sent/)
    await rejects(cluster.delete(POD, { ...GUARD, resourceVersion: '' }, SIGNAL), /never sent/)
    deepEqual(sent, [])
  })

  test('nothing to where no object can be', async () => {
    const { cluster, sent } = scripted(() => [200, {}])
    const nowhere = { ...POD, name: '' }
    const answers = [
      await cluster.get(nowhere, SIGNAL),
      await cluster.delete(nowhere, GUARD, SIGNAL),
    ]
    ok(answers.every((it) => it.type === 'Unknown' && !it.transient))
    deepEqual(sent, [])
  })

  const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices'
  const WIDGET = { ...POD, group: 'x.io', kind: 'Widget', resource: 'widgets' }
  const services = (spec: object): object => ({ kind: 'APIServiceList', items: [{ spec }] })
  const own = services({ group: 'x.io', version: 'v1' })
  const remote = services({ group: 'x.io', version: 'v1', service: { name: 'there' } })
  const unnamed: [string, Partial<Target>, object | null, string][] = [
    ['in the core group', {}, null, 'Absent'],
    ['of an own kind', WIDGET, own, 'Absent'],
    ['of a kind that another server answers for', WIDGET, remote, 'Unknown'],
    ['of one in a version that no API service names', { ...WIDGET, version: 'v2' }, own, 'Unknown'],
    ['of one without an API service', WIDGET, { kind: 'APIServiceList', items: [] }, 'Unknown'],
    ['where the list is another one', WIDGET, { ...own, kind: 'PodList' }, 'Unknown'],
    ['of a kind known to be aggregated', { ...WIDGET, aggregated: true }, null, 'Unknown'],
    ['in a namespace that cannot be', { namespace: 'a/b' }, null, 'Unknown'],
  ]
  for (const [what, changed, list, expected] of unnamed) {
    test(`a name that no object can have, ${what}: ${expected}`, async () => {
      for (const name of ['.', '..', 'a/b', 'a%', 'a%2Fb']) {
        const { cluster, sent } = scripted(() => [200, list ?? {}])
        const { type } = await cluster.get({ ...POD, ...changed, name }, SIGNAL)
        const paths = sent.map(({ path }) => path)
        deepEqual([name, type, ...paths], [name, expected, ...(list === null ? [] : [SERVICES])])
      }
    })
  }

  test('a name that no object can have, where API services may not be listed: Unknown', async () => {
    for (const [status, body] of [
      [403, {}],
      [404, {}],
      [200, {}],
      [503, {}],
    ] as const) {
      const { cluster } = scripted(() => [status, body])
      const answer = await cluster.get({ ...WIDGET, name: 'a/b' }, SIGNAL)
      equal(answer.type, 'Unknown')
      if (answer.type === 'Unknown') match(answer.reason, /no object can be called widgets\/a\/b; /)
    }
  })

  test('a warning about a cluster-scoped object to the namespace default', async () => {
    const { cluster, sent } = scripted(() => [503, {}])
    const told = { type: 'Warning', reason: 'R', message: 'x'.repeat(2_000) } as const
    const node = { ...POD, namespace: '', kind: 'Node', resource: 'nodes', name: 'Up:Er' }
    const answer = await cluster.writeEvent(node, told, SIGNAL)
    deepEqual([answer.type, answer.code], ['Unknown', 503])
    const body = JSON.parse(sent[0]?.body ?? '')
    equal(sent[0]?.path, '/api/v1/namespaces/default/events')
    match(body.metadata.name, /^kinfold-[0-9a-f]{16}$/)
    deepEqual([body.metadata.namespace, body.message.length], ['default', 1_024])
    deepEqual([body.involvedObject.namespace, body.involvedObject.name], ['', 'Up:Er'])
  })

  test('calls plainly where a server refuses to choose from several types (F26)', async () => {
    const whole = { kind: 'Pod', apiVersion: 'v1', ...pod('web', '8') }
    const { cluster, sent } = scripted(({ headers }) =>
      headers['accept'] === 'application/json' ? [200, whole] : [406, {}],
    )
    equal((await cluster.get(POD, SIGNAL)).type, 'Found')
    equal((await cluster.delete(POD, GUARD, SIGNAL)).type, 'Removed')
    const guard = [{ op: 'test', path: '/metadata/uid', value: POD.uid } as const]
    equal((await cluster.patch(POD, guard, false, SIGNAL)).type, 'Changed')
    deepEqual(
      sent.map(({ method }) => method),
      ['GET', 'GET', 'DELETE', 'DELETE', 'PATCH', 'PATCH'],
    )
    equal(sent[3]?.body, sent[2]?.body)
  })

  test('an answer that broke off is unknown, with the status that came', async () => {
    const { cluster } = scripted(() => [200, cut('{"kind":')])
    const answer = await cluster.delete(POD, GUARD, SIGNAL)
    ok(answer.type === 'Unknown' && answer.transient)
    equal(answer.code, 200)
  })
})

describe('a cluster lists', () => {
  const listed = (cluster: Cluster) => Array.fromAsync(cluster.list(PODS, 2, SIGNAL))

  test('all pages, asking for metadata and never for version 0', async () => {
    const { cluster, sent } = scripted(({ path }) =>
      path.includes('continue')
        ? [200, list([pod('c', '3')])]
        : [200, list([pod('a', '1'), pod('b', '2')], 'n+/=')],
    )
    const pages = await listed(cluster)
    deepEqual(
      pages.map((it) => [
        it.objects.map(({ name }) => name).join(),
        it.resourceVersion,
        it.more,
        it.remaining,
      ]),
      [
        ['a,b', '9', true, 1],
        ['c', '9', false, null],
      ],
    )
    deepEqual(
      sent.map((it) => [it.path, it.purpose]),
      [
        ['/api/v1/pods?limit=2', 'list'],
        ['/api/v1/pods?limit=2&continue=n%2B%2F%3D', 'list'],
      ],
    )
  })

  test('whole objects where a server knows no metadata, and plainly where it refuses to choose', async () => {
    const whole = {
      kind: 'PodList',
      apiVersion: 'v1',
      metadata: { resourceVersion: '9' },
      items: [pod('a', '1')],
    }
    const { cluster, sent } = scripted(({ headers }) =>
      headers['accept'] === 'application/json' ? [200, whole] : [406, {}],
    )
    equal((await listed(cluster))[0]?.objects[0]?.name, 'a')
    equal(sent.length, 2)
  })

  test('whole objects where rules read their fields, fewer on a page; metadata has none', async () => {
    const metadata = { name: 'a', namespace: 'shop', uid: 'uid-1', resourceVersion: '1' }
    // As API servers write them: items of a list have no kind of their own.
    const item = { metadata, spec: { nodeName: 'node-1' } }
    const whole = { ...list([item]), kind: 'PodList', apiVersion: 'v1' }
    for (const [answer, expected] of [
      [whole, { reads: 'x', fields: [{ key: 'spec.nodeName', value: 'node-1' }], policy: null }],
      [list([item]), null],
    ] as const) {
      const { cluster, sent } = scripted(() => [200, answer])
      const reads = { labels: [], annotations: [], fields: ['spec.nodeName'], digest: 'x' }
      cluster.project({ ...MARKED, kinds: [{ group: '', kind: 'Pod', namespace: '', ...reads }] })
      const [page] = await Array.fromAsync(cluster.list(PODS, 500, SIGNAL))
      deepEqual(page?.objects[0]?.projected, expected)
      deepEqual(
        [sent[0]?.path, sent[0]?.headers],
        ['/api/v1/pods?limit=100', { accept: 'application/json' }],
      )
    }
  })

  const failures: [string, (request: ExchangeRequest) => Scripted, string][] = [
    [
      'an expired token',
      ({ path }) => (path.includes('continue') ? [410, {}] : [200, list([], 'n')]),
      'EXPIRED',
    ],
    [
      'pages of two versions',
      ({ path }) => [200, path.includes('continue') ? list([], '', '10') : list([], 'n', '9')],
      'EXPIRED',
    ],
    ['a token that leads back to itself', () => [200, list([], 'n')], 'UNREADABLE'],
    ['a resource that is not served', () => [404, '404 page not found'], 'NOT_SERVED'],
    ['401', () => [401, {}], 'UNAUTHORIZED'],
    ['403', () => [403, {}], 'FORBIDDEN'],
    ['429', () => [429, {}], 'THROTTLED'],
    ['500', () => [500, {}], 'UNAVAILABLE'],
    ['a version of the future', () => [504, tooNew()], 'TOO_NEW'],
    ['no connection', () => new ExchangeError('UNREACHABLE', 'away'), 'UNREACHABLE'],
    ['no credentials', () => new ExchangeError('CREDENTIALS', 'none'), 'UNAUTHORIZED'],
    ['a cut answer', () => [200, cut('{"kind":"PodList"')], 'UNREADABLE'],
    ['half of a document', () => [200, JSON.stringify(list([])).slice(0, 30)], 'UNREADABLE'],
    ['an HTML page', () => [200, '<html></html>', 'text/html'], 'UNREADABLE'],
    ['one object', () => [200, pod('a', '1')], 'UNREADABLE'],
    [
      'a list of another group',
      () => [200, { ...list([]), kind: 'PodList', apiVersion: 'apps/v1' }],
      'UNREADABLE',
    ],
    ['a list without a version', () => [200, list([], '', '')], 'UNVERSIONED'],
    ['a list without items', () => [200, { ...list([]), items: undefined }], 'UNREADABLE'],
    ['an item that is none', () => [200, list([{}])], 'UNREADABLE'],
  ]
  for (const [what, answer, code] of failures) {
    test(`nothing out of ${what}`, async () => {
      await rejects(listed(scripted(answer).cluster), hasCode(code))
    })
  }
})

describe('a cluster watches', () => {
  const watched = async (...body: (string | object)[]) => {
    const { cluster } = scripted(() => [
      200,
      body.map((it) => (typeof it === 'string' ? it : line(it))).join(''),
    ])
    const events: string[] = []
    let end = 'end'
    try {
      for await (const batch of cluster.watch(PODS, '1', SIGNAL)) {
        events.push(
          ...batch.map((it) =>
            it.type === 'Bookmark' ? `@${it.resourceVersion}` : `${it.type} ${it.object.name}`,
          ),
        )
      }
    } catch (error) {
      end = error instanceof ClusterError ? error.code : String(error)
    }
    return [...events, end]
  }
  const added = { type: 'ADDED', object: pod('a', '2') }
  const bookmark = { type: 'BOOKMARK', object: partial({ resourceVersion: '3' }) }
  const error = (code: number, status: object = {}) => ({
    type: 'ERROR',
    object: { kind: 'Status', apiVersion: 'v1', status: 'Failure', code, ...status },
  })

  const rows: [string, (string | object)[], string[]][] = [
    ['to a clean end', [added, bookmark], ['Added a', '@3', 'end']],
    ['past empty lines', ['\n', added, '\n'], ['Added a', 'end']],
    ['until its version expires', [added, error(410)], ['Added a', 'EXPIRED']],
    ['until the server says 500', [error(500)], ['UNAVAILABLE']],
    ['not from the future', [error(504, tooNew())], ['TOO_NEW']],
    ['until an error without a code', [{ type: 'ERROR', object: {} }], ['UNREADABLE']],
    ['until a line that is cut', [added, '{"type":"DELETED"'], ['Added a', 'UNREADABLE']],
    ['until a line that is no JSON', [added, 'oops\n', added], ['Added a', 'UNREADABLE']],
    ['until a line that is no event', [added, '[]\n'], ['Added a', 'UNREADABLE']],
    ['until an event of no known type', [{ ...added, type: 'MOVED' }], ['UNREADABLE']],
    [
      'until an object of another kind',
      [{ type: 'ADDED', object: { ...pod('a', '2'), kind: 'Node', apiVersion: 'v1' } }],
      ['UNREADABLE'],
    ],
    [
      'until an object without metadata',
      [{ type: 'DELETED', object: partial({ name: 'a' }) }],
      ['UNREADABLE'],
    ],
    [
      'until a bookmark without a version',
      [{ type: 'BOOKMARK', object: partial({}) }],
      ['UNREADABLE'],
    ],
  ]
  for (const [how, body, expected] of rows) {
    test(how, async () => deepEqual(await watched(...body), expected))
  }

  test('with bookmarks, for a time that varies', async () => {
    const { cluster, sent } = scripted(() => [200, ''])
    await Array.fromAsync(cluster.watch(PODS, '5', SIGNAL))
    const query = '?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=440'
    equal(sent[0]?.path, `/api/v1/pods${query}`)
    equal(sent[0]?.purpose, 'watch')
  })

  const refusals: [Scripted, string][] = [
    [[410, {}], 'EXPIRED'],
    [[404, '404 page not found'], 'NOT_SERVED'],
    [[403, {}], 'FORBIDDEN'],
    [[200, '<html></html>', 'text/html'], 'UNREADABLE'],
    [[200, cut(line(added))], 'UNREACHABLE'],
    [new ExchangeError('TIMEOUT', 'slow'), 'UNREACHABLE'],
  ]
  for (const [answer, code] of refusals) {
    test(`nothing, or no further, when answered ${code}`, async () => {
      const { cluster } = scripted(() => answer)
      await rejects(Array.fromAsync(cluster.watch(PODS, '1', SIGNAL)), hasCode(code))
    })
  }
})

describe('a cluster discovers', () => {
  const resource = (name: string, kind: string, more: object = {}) => ({
    resource: name,
    responseKind: { group: 'ignored', version: 'v1', kind },
    scope: 'Namespaced',
    verbs: ['get', 'list'],
    ...more,
  })
  const core = aggregated({ '': { v1: [resource('pods', 'Pod', { shortNames: ['po'] })] } })
  const discovered = async (groups: object, services: Scripted = [404, {}], api: object = core) => {
    const { cluster } = scripted(({ path }) => {
      if (path === '/api') return [200, api]
      return path === '/apis' ? [200, groups] : services
    })
    return await cluster.discover(SIGNAL)
  }

  test('versions of a kind, preferred first, and no subresources', async () => {
    const groups = aggregated({
      'example.com': {
        v2: [
          resource('widgets', 'Widget', {
            scope: 'Cluster',
            subresources: [{ subresource: 'status' }],
          }),
        ],
        v1: [resource('widgets', 'Widget'), resource('old', 'Old'), { resource: 'mute' }],
      },
    })
    const { kinds, failed } = await discovered(groups)
    const common = { verbs: ['get', 'list'], aggregated: false, ambiguous: false, shortNames: [] }
    deepEqual(kinds, [
      {
        ...common,
        group: '',
        kind: 'Pod',
        resource: 'pods',
        scope: 'Namespaced',
        versions: ['v1'],
        shortNames: ['po'],
      },
      {
        ...common,
        group: 'example.com',
        kind: 'Widget',
        resource: 'widgets',
        scope: 'Cluster',
        versions: ['v2', 'v1'],
      },
      {
        ...common,
        group: 'example.com',
        kind: 'Old',
        resource: 'old',
        scope: 'Namespaced',
        versions: ['v1'],
      },
    ])
    deepEqual(failed, [])
  })

  test('a stale group as failed, not as gone', async () => {
    const groups = aggregated({
      'example.com': { v1: [] },
      'example.org': { v1: [resource('as', 'A')] },
    })
    groups.items[0]!.versions[0]!.freshness = 'Stale'
    const { kinds, failed } = await discovered(groups)
    deepEqual([kinds.length, failed], [2, ['example.com/v1']])
  })

  test('a kind of two resources as ambiguous', async () => {
    const groups = aggregated({ 'example.com': { v1: [resource('as', 'A'), resource('bs', 'A')] } })
    const { kinds } = await discovered(groups)
    deepEqual([kinds.length, kinds[1]?.ambiguous, kinds[1]?.resource], [2, true, 'as'])
  })

  const create = (name: string) => ({ ...resource(name, 'A'), verbs: ['create'] })
  const pairs: [string, ReturnType<typeof resource>[], boolean, string][] = [
    ['that can only be created', [resource('as', 'A'), create('requests')], false, 'as'],
    ['that can only be created, told first', [create('a1'), resource('as', 'A')], false, 'as'],
    ['of which each can only be created', [create('as'), create('bs')], true, 'as'],
    ['of which each can be read', [create('a'), resource('b', 'A'), resource('c', 'A')], true, 'b'],
  ]
  for (const [what, resources, isAmbiguous, taken] of pairs) {
    test(`a kind with a second resource ${what}, as ${isAmbiguous ? '' : 'not '}ambiguous`, async () => {
      const { kinds } = await discovered(aggregated({ 'example.com': { v1: resources } }))
      deepEqual(
        kinds.slice(1).map(({ ambiguous, resource }) => [ambiguous, resource]),
        [[isAmbiguous, taken]],
      )
    })
  }

  test('what another server answers for', async () => {
    const groups = aggregated({ 'example.com': { v1: [resource('as', 'A')] } })
    const spec = { group: 'example.com', version: 'v1' }
    const items = [
      { spec: { group: '', version: 'v1' } },
      { spec: { ...spec, service: { name: 's' } } },
    ]
    const answer: Scripted = [200, { kind: 'APIServiceList', items }]
    const { kinds, isAggregationKnown } = await discovered(groups, answer)
    deepEqual(
      kinds.map((it) => it.aggregated),
      [false, true],
    )
    equal(isAggregationKnown, true)
  })

  const registration = 'apiregistration.k8s.io'
  const unknowns: [string, ReturnType<typeof aggregated>, Scripted, boolean][] = [
    ['may not be read', aggregated({ [registration]: { v1: [] } }), [403, {}], false],
    ['may not be read, and are not told of', aggregated({}), [403, {}], false],
    ['are told of and not found', aggregated({ [registration]: { v1: [] } }), [404, {}], false],
    ['are not there at all', aggregated({}), [404, {}], true],
  ]
  for (const [what, groups, answer, isKnown] of unknowns) {
    test(`${isKnown ? 'no' : 'every'} kind as aggregated when API services ${what}`, async () => {
      const more = aggregated({ 'example.com': { v1: [resource('as', 'A')] } })
      const both = { ...groups, items: [...groups.items, ...more.items] }
      const { kinds, isAggregationKnown } = await discovered(both, answer)
      deepEqual(
        kinds.map((it) => it.aggregated),
        [!isKnown, !isKnown],
      )
      equal(isAggregationKnown, isKnown)
    })
  }

  test('kinds of each version alone, where there is no aggregated discovery', async () => {
    const plain = (name: string, kind: string) => ({
      name,
      kind,
      namespaced: true,
      verbs: ['list'],
    })
    const answers: Record<string, Scripted> = {
      '/api': [200, { kind: 'APIVersions', versions: ['v1'] }],
      '/api/v1': [
        200,
        { kind: 'APIResourceList', resources: [plain('pods', 'Pod'), plain('pods/status', 'Pod')] },
      ],
      '/apis': [
        200,
        {
          kind: 'APIGroupList',
          groups: [
            {
              name: 'example.com',
              versions: ['v1', 'v2', 'v3'].map((it) => ({ groupVersion: `example.com/${it}` })),
              preferredVersion: { groupVersion: 'example.com/v2' },
            },
          ],
        },
      ],
      '/apis/example.com/v1': [200, { kind: 'APIResourceList', resources: [plain('as', 'A')] }],
      '/apis/example.com/v2': [200, { kind: 'APIResourceList', resources: [plain('as', 'A')] }],
    }
    const { cluster } = scripted(({ path, headers }) =>
      headers['accept'] === 'application/json' ? (answers[path] ?? [503, {}]) : [406, {}],
    )
    // Without knowing which versions are aggregated there is no discovery.
    await rejects(cluster.discover(SIGNAL), hasCode('UNAVAILABLE'))
    answers['/apis/apiregistration.k8s.io/v1/apiservices'] = [403, {}]
    const { kinds, failed } = await cluster.discover(SIGNAL)
    deepEqual(
      kinds.map((it) => [it.kind, it.versions]),
      [
        ['Pod', ['v1']],
        ['A', ['v2', 'v1']],
      ],
    )
    deepEqual(failed, ['example.com/v3'])
  })

  const failures: [string, object, object][] = [
    ['no group', core, aggregated({})],
    ['no core', aggregated({}), core],
    ['groups without kinds', core, aggregated({ 'example.com': { v1: [] } })],
    ['what is no discovery', core, { kind: 'Status', apiVersion: 'v1' }],
  ]
  for (const [what, api, groups] of failures) {
    test(`never ${what}`, async () => {
      await rejects(discovered(groups, [404, {}], api), hasCode('UNREADABLE'))
    })
  }
})

describe('a cluster is told', () => {
  test('apart by the uid of kube-system and nothing else', async () => {
    const answers: Scripted[] = [
      [200, partial({ name: 'kube-system', uid: 'id-1' })],
      [200, partial({ name: 'kube-system' })],
      [200, partial({ name: 'kube-public', uid: 'id-2' })],
      [404, {}],
    ]
    const { cluster } = scripted(() => answers.shift()!)
    equal(await cluster.identify(SIGNAL), 'id-1')
    for (const code of ['UNREADABLE', 'UNREADABLE', 'NOT_SERVED']) {
      await rejects(cluster.identify(SIGNAL), hasCode(code))
    }
  })

  test('what it may do only by a review that says so', async () => {
    const answers: Scripted[] = [
      [201, { status: { allowed: true } }],
      [201, { status: { allowed: false } }],
      [201, { status: {} }],
      [201, {}],
      [500, {}],
    ]
    const { cluster } = scripted(() => answers.shift()!)
    const ask = () => cluster.mayI('delete', PODS, SIGNAL)
    deepEqual([await ask(), await ask(), await ask()], [true, false, false])
    for (const code of ['UNREADABLE', 'UNAVAILABLE']) await rejects(ask(), hasCode(code))
  })

  test('the time by its Date header, of an answer that only an API server gives (T17)', async () => {
    const { cluster } = scripted(() => [200, partial({ name: 'kube-system', uid: 'id-1' })])
    equal(await cluster.clockSkewMs(SIGNAL), 60_500)
    const others = [
      [200, 'Welcome!', 'UNREADABLE'],
      [200, {}, 'UNREADABLE'],
      [401, {}, 'UNAUTHORIZED'],
      [403, {}, 'FORBIDDEN'],
      [404, {}, 'NOT_SERVED'],
      [502, {}, 'UNAVAILABLE'],
    ] as const
    for (const [status, body, code] of others) {
      const gateway = scripted(() => [status, body])
      await rejects(gateway.cluster.clockSkewMs(SIGNAL), hasCode(code))
    }
  })
})

/** A status, a body and its type; or what the exchange rejects with. */
type Scripted = readonly [status: number, body: unknown, type?: string] | Error

const NOW = Date.parse('2026-01-01T00:00:00Z')

function scripted(answer: (request: ExchangeRequest) => Scripted) {
  const sent: ExchangeRequest[] = []
  const exchange: Exchange = {
    request: async (request) => {
      sent.push(request)
      const given = answer(request)
      if (given instanceof Error) throw given
      const [status, body, type = 'application/json'] = given
      const date = 'Thu, 01 Jan 2026 00:01:00 GMT'
      return { status, headers: { 'content-type': type, date }, body: bytes(body) }
    },
    [Symbol.asyncDispose]: async () => {},
  }
  const cluster = openCluster({
    name: 'test',
    exchange,
    clock: { now: () => NOW },
    random: { next: () => 0.5 },
  })
  return { cluster, sent }
}

/** A body that breaks off. */
interface Cut {
  readonly cut: string
}

function cut(text: string): Cut {
  return { cut: text }
}

async function* bytes(body: unknown): AsyncGenerator<Uint8Array> {
  if (typeof body === 'object' && body !== null && 'cut' in body) {
    yield Buffer.from(String(body.cut))
    throw new ExchangeError('CUT', 'broken off')
  }
  yield Buffer.from(typeof body === 'string' ? body : JSON.stringify(body))
}

function partial(metadata: object): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

function pod(name: string, resourceVersion: string): object {
  return partial({ name, namespace: 'shop', uid: 'uid-1', resourceVersion })
}

function list(items: object[], token: string = '', resourceVersion: string = '9'): object {
  const metadata =
    token === '' ? { resourceVersion } : { resourceVersion, continue: token, remainingItemCount: 1 }
  return { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', metadata, items }
}

function line(event: object): string {
  return `${JSON.stringify(event)}\n`
}

function tooNew(): object {
  const details = { causes: [{ reason: 'ResourceVersionTooLarge' }] }
  return {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code: 504,
    reason: 'Timeout',
    details,
  }
}

function aggregated(groups: Record<string, Record<string, object[]>>) {
  const items = Object.entries(groups).map(([name, versions]) => ({
    metadata: name === '' ? {} : { name },
    versions: Object.entries(versions).map(([version, resources]) => ({
      version,
      resources,
      freshness: 'Current',
    })),
  }))
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
  }
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => {
    if (!(error instanceof ClusterError)) throw error
    equal(error.code, code)
    return true
  }
}
