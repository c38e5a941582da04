/**
 * GET, LIST and WATCH on the in-memory API server: shapes of 404, consistent pages, 410, bookmarks,
 * forms of answers.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { ApiFixture, CONFIG_MAPS, METADATA, METADATA_LIST, TABLE } from './api-server.fixture.ts'

const NAMED = 'names what was asked'
const EMPTY = 'typed, with empty details'
const PLAIN = 'plain text'

const absences = [
  ['/api/v1/namespaces/default/configmaps/zz', NAMED],
  ['/apis/apps/v1/namespaces/default/deployments/zz', NAMED],
  ['/api/v1/nodes/zz', NAMED],
  ['/apis/apps/v1beta1/namespaces/default/deployments/zz', EMPTY],
  ['/apis/apps/v1beta1/namespaces/default/deployments', EMPTY],
  ['/apis/apps/v1/namespaces/default/foos/zz', EMPTY],
  ['/api/v1/namespaces/default/foos/zz', EMPTY],
  ['/api/v2/namespaces/default/configmaps/zz', EMPTY],
  ['/api/v1/configmaps/zz', EMPTY],
  ['/api/v1/namespaces/default/nodes/zz', EMPTY],
  ['/api/v1/namespaces/default/configmaps/zz/status', EMPTY],
  ['/apis/apps/v1beta1', EMPTY],
  ['/apis/no.such/v1/namespaces/default/foos/zz', PLAIN],
  ['/apis/no.such/v1', PLAIN],
  ['/apis/no.such', PLAIN],
  ['/nothing', PLAIN],
] as const

suite('a 404', () => {
  for (const [path, shape] of absences) {
    test(`of ${path} is ${shape}`, async () => {
      const { status, headers, body } = await new ApiFixture().request('GET', path)
      equal(status, 404)
      if (shape === PLAIN) {
        deepEqual([headers['content-type'], body], [PLAIN_TYPE, '404 page not found\n'])
        return
      }
      const group = path.startsWith('/apis/') ? { group: 'apps' } : {}
      const named = { name: 'zz', ...group, kind: path.split('/').at(-2) }
      deepEqual([body.reason, body.details], ['NotFound', shape === NAMED ? named : {}])
    })
  }
})

const PLAIN_TYPE = 'text/plain; charset=utf-8'

suite('a LIST', () => {
  test('keeps its pages at one version while writes go on', async () => {
    const api = new ApiFixture()
    for (const name of ['b', 'd', 'f', 'h']) await api.create(CONFIG_MAPS, { name })
    const { body: first } = await api.request('GET', `${CONFIG_MAPS}?limit=2`)
    deepEqual([names(first), first.metadata.remainingItemCount], [['b', 'd'], 2])

    await api.create(CONFIG_MAPS, { name: 'e' })
    await api.request('DELETE', `${CONFIG_MAPS}/f`)
    const rest = `${CONFIG_MAPS}?limit=2&continue=${first.metadata.continue}`
    const { body: second } = await api.request('GET', rest)
    deepEqual(names(second), ['f', 'h'])
    equal(second.metadata.resourceVersion, first.metadata.resourceVersion)
    equal(second.metadata.continue, undefined)
    deepEqual(names((await api.request('GET', CONFIG_MAPS)).body), ['b', 'd', 'e', 'h'])
  })

  test('ends with 410 after a compaction, with a token that goes on inconsistently', async () => {
    const api = new ApiFixture()
    for (const name of ['a', 'b', 'c']) await api.create(CONFIG_MAPS, { name })
    const { body: first } = await api.request('GET', `${CONFIG_MAPS}?limit=1`)
    await api.request('DELETE', `${CONFIG_MAPS}/b`)
    api.server.compact()
    const rest = `${CONFIG_MAPS}?limit=1&continue=${first.metadata.continue}`
    const { status, body } = await api.request('GET', rest)
    deepEqual([status, body.reason], [410, 'Expired'])
    const onwards = `${CONFIG_MAPS}?continue=${body.metadata.continue}`
    deepEqual(names((await api.request('GET', onwards)).body), ['c'])
  })

  test('stays within its namespace, or spans all', async () => {
    const api = new ApiFixture()
    await api.create('/api/v1/namespaces/kube-system/configmaps', { name: 'x' })
    await api.create(CONFIG_MAPS, { name: 'y' })
    deepEqual(names((await api.request('GET', CONFIG_MAPS)).body), ['y'])
    deepEqual(names((await api.request('GET', '/api/v1/configmaps')).body), ['y', 'x'])
  })

  const selections = [
    ['labelSelector=a%3D1', ['one']],
    ['labelSelector=a%21%3D1', ['none', 'two']],
    ['labelSelector=a', ['one', 'two']],
    ['labelSelector=%21a', ['none']],
    ['labelSelector=a%20in%20(2,3),b', ['two']],
    ['labelSelector=a%20notin%20(2)', ['none', 'one']],
    ['fieldSelector=metadata.name%3Dtwo', ['two']],
    ['fieldSelector=metadata.name%21%3Dtwo,metadata.namespace%3Ddefault', ['none', 'one']],
  ] as const
  for (const [query, expected] of selections) {
    test(`with ${decodeURIComponent(query)} selects`, async () => {
      const api = new ApiFixture()
      await api.create(CONFIG_MAPS, { name: 'none' })
      await api.create(CONFIG_MAPS, { name: 'one', labels: { a: '1' } })
      await api.create(CONFIG_MAPS, { name: 'two', labels: { a: '2', b: '' } })
      deepEqual(names((await api.request('GET', `${CONFIG_MAPS}?${query}`)).body), expected)
    })
  }

  const refusals = [
    ['resourceVersion=999', 504, 'Timeout'],
    ['resourceVersion=abc', 400, 'BadRequest'],
    ['resourceVersionMatch=NotOlderThan', 422, 'Invalid'],
    ['continue=abc', 400, 'BadRequest'],
    ['labelSelector=x%3D%3D%3D', 400, 'BadRequest'],
    ['fieldSelector=spec.foo%3Dx', 400, 'BadRequest'],
  ] as const
  for (const [query, code, reason] of refusals) {
    test(`with ${decodeURIComponent(query)} is refused`, async () => {
      const { status, body } = await new ApiFixture().request('GET', `${CONFIG_MAPS}?${query}`)
      deepEqual([status, body.reason], [code, reason])
    })
  }

  test('of a collection that is empty has a version all the same', async () => {
    const api = new ApiFixture()
    const { body } = await api.request('GET', CONFIG_MAPS, undefined, { accept: METADATA_LIST })
    deepEqual(body, {
      kind: 'PartialObjectMetadataList',
      apiVersion: 'meta.k8s.io/v1',
      metadata: { resourceVersion: api.server.resourceVersion },
      items: [],
    })
  })
})

suite('an answer', () => {
  test('in metadata form has no body', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' }, { data: { secret: 'x' } })
    const one = await api.request('GET', `${CONFIG_MAPS}/it`, undefined, { accept: METADATA })
    deepEqual(Object.keys(one.body), ['kind', 'apiVersion', 'metadata'])
    equal(one.body.kind, 'PartialObjectMetadata')
    const list = await api.request('GET', CONFIG_MAPS, undefined, { accept: METADATA_LIST })
    deepEqual(list.body.items, [one.body])
  })

  test('is refused in a form of the other shape, and in a type that is not had', async () => {
    const api = new ApiFixture()
    const accepts = [METADATA, 'application/xml']
    for (const accept of accepts) {
      equal((await api.request('GET', CONFIG_MAPS, undefined, { accept })).status, 406)
    }
    const several = `application/vnd.kubernetes.protobuf,${METADATA_LIST},application/json`
    const { body } = await api.request('GET', CONFIG_MAPS, undefined, { accept: several })
    equal(body.kind, 'PartialObjectMetadataList')
  })

  test('as a table has the columns of its kind', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' }, { data: { a: '1' } })
    await api.clock.advance(90_000)
    const { body } = await api.request('GET', CONFIG_MAPS, undefined, { accept: TABLE })
    const columns = body.columnDefinitions.map((column: { name: string }) => column.name)
    deepEqual(
      [columns, body.rows[0].cells],
      [
        ['Name', 'Data', 'Age'],
        ['it', 1, '90s'],
      ],
    )
    equal(body.rows[0].object.metadata.name, 'it')
  })

  test('about an Event is the same in both groups', async () => {
    const api = new ApiFixture()
    const involvedObject = { kind: 'Pod', name: 'p' }
    const path = 'namespaces/default/events'
    const made = await api.create(
      `/api/v1/${path}`,
      { name: 'e' },
      { involvedObject, message: 'm' },
    )
    const { body } = await api.request('GET', `/apis/events.k8s.io/v1/${path}/e`)
    deepEqual(
      [body.metadata.uid, body.regarding, body.note],
      [made.metadata.uid, involvedObject, 'm'],
    )
  })
})

suite('a WATCH', () => {
  test('tells what comes, changes and goes, from just after its version', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'before' })
    await using reader = await api.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${api.server.resourceVersion}`,
      { accept: METADATA },
    )
    await api.create(CONFIG_MAPS, { name: 'it' })
    await api.create('/api/v1/namespaces/kube-system/configmaps', { name: 'elsewhere' })
    await api.patch(`${CONFIG_MAPS}/it`, 'merge', { metadata: { labels: { a: 'b' } } })
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    deepEqual(await reader.take(3), ['ADDED it', 'MODIFIED it', 'DELETED it'])
  })

  test('sees a change of labels as coming and going', async () => {
    const api = new ApiFixture()
    const from = api.server.resourceVersion
    await api.create(CONFIG_MAPS, { name: 'it' })
    for (const a of ['1', '2', '1']) {
      await api.patch(`${CONFIG_MAPS}/it`, 'merge', { metadata: { labels: { a } } })
    }
    await api.request('DELETE', `${CONFIG_MAPS}/it`)
    const path = `${CONFIG_MAPS}?watch=1&resourceVersion=${from}&labelSelector=a%3D1`
    await using reader = await api.watch(path)
    deepEqual(await reader.take(4), ['ADDED it', 'DELETED it', 'ADDED it', 'DELETED it'])
  })

  test('from a compacted version says 410 within a 200, and ends', async () => {
    const api = new ApiFixture()
    const from = api.server.resourceVersion
    await api.create(CONFIG_MAPS, { name: 'it' })
    api.server.compact()
    await using reader = await api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${from}`)
    const { type, object } = await reader.next()
    deepEqual([type, object.code, object.reason], ['ERROR', 410, 'Expired'])
    equal(await reader.next(), undefined)
  })

  test('that the history leaves behind is cut off, and cannot be resumed', async () => {
    const api = new ApiFixture({ historyLimit: 4 })
    const from = api.server.resourceVersion
    await using slow = await api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${from}`)
    await api.create(CONFIG_MAPS, { name: 'a-0' })
    equal((await slow.next()).object.metadata.name, 'a-0')
    for (let i = 1; i <= 9; i++) await api.create(CONFIG_MAPS, { name: `a-${i}` })
    equal(await slow.next(), undefined)
    await using again = await api.watch(`${CONFIG_MAPS}?watch=1&resourceVersion=${from}`)
    equal((await again.next()).object.code, 410)
  })

  test('begins with what is there, and marks its end when asked', async () => {
    const api = new ApiFixture()
    await api.create(CONFIG_MAPS, { name: 'it' })
    const initial = 'sendInitialEvents=true&resourceVersionMatch=NotOlderThan'
    await using reader = await api.watch(
      `${CONFIG_MAPS}?watch=1&${initial}&allowWatchBookmarks=true`,
      { accept: METADATA },
    )
    equal((await reader.next()).type, 'ADDED')
    const end = await reader.next()
    deepEqual(end, {
      type: 'BOOKMARK',
      object: {
        kind: 'PartialObjectMetadata',
        apiVersion: 'meta.k8s.io/v1',
        metadata: {
          resourceVersion: api.server.resourceVersion,
          annotations: { 'k8s.io/initial-events-end': 'true' },
        },
      },
    })
    await api.create(CONFIG_MAPS, { name: 'later' })
    deepEqual(await reader.take(1), ['ADDED later'])
    const lax = await api.request('GET', `${CONFIG_MAPS}?watch=1&sendInitialEvents=true`)
    equal(lax.status, 422)
  })

  test('gets a bookmark each minute, one before its end, and ends in time', async () => {
    const api = new ApiFixture()
    const from = api.server.resourceVersion
    await using reader = await api.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=${from}&allowWatchBookmarks=true&timeoutSeconds=90`,
    )
    // Another kind moves the version on.
    await api.create('/api/v1/namespaces', { name: 'other' })
    const bookmarks: string[] = []
    const reading = (async () => {
      for (let line = await reader.next(); line !== undefined; line = await reader.next()) {
        bookmarks.push(`${line.type} ${line.object.metadata.resourceVersion}`)
      }
    })()
    const expected = `BOOKMARK ${api.server.resourceVersion}`
    await api.clock.advance(59_000)
    deepEqual(bookmarks, [])
    await api.clock.advance(1_000)
    deepEqual(bookmarks, [expected])
    await api.clock.advance(30_000)
    await reading
    deepEqual(bookmarks, [expected, expected])
  })

  test('from a version in the future is silent: no event, no bookmark, no error', async () => {
    const api = new ApiFixture()
    await using reader = await api.watch(
      `${CONFIG_MAPS}?watch=1&resourceVersion=99&allowWatchBookmarks=true&timeoutSeconds=90`,
    )
    const reading = reader.next()
    await api.create(CONFIG_MAPS, { name: 'it' })
    await api.clock.advance(90_000)
    equal(await reading, undefined)
  })

  test('throws the reason of its signal', async () => {
    const api = new ApiFixture()
    const stop = new AbortController()
    const request = { method: 'GET', headers: {}, body: null }
    const path = `${CONFIG_MAPS}?watch=1&resourceVersion=1`
    const { body } = await api.server.handle({ ...request, path }, stop.signal)
    const next = body[Symbol.asyncIterator]().next()
    stop.abort(new Error('enough'))
    await rejects(Promise.resolve(next), /enough/)
    equal(api.clock.sleeping, 0)
  })
})

suite('discovery', () => {
  test('tells the same in its old and in its aggregated form', async () => {
    const api = new ApiFixture()
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList'
    const told = async (path: string) => {
      const { headers, body } = await api.request('GET', path, undefined, { accept })
      match(headers['content-type'] ?? '', /as=APIGroupDiscoveryList/)
      return body.items.flatMap(resourcesIn)
    }
    const aggregated = [...(await told('/api')), ...(await told('/apis'))]
    const { groups } = (await api.request('GET', '/apis')).body
    const listed: string[] = []
    for (const path of ['/api/v1', ...groups.map(pathOfGroup)]) {
      const { groupVersion, resources } = (await api.request('GET', path)).body
      const own = resources.filter((it: { name: string }) => !it.name.includes('/'))
      listed.push(...own.map((it: { name: string }) => `${groupVersion} ${it.name}`))
    }
    ok(listed.includes('apps/v1 deployments') && listed.includes('v1 pods'))
    deepEqual(aggregated.sort(), listed.sort())
  })

  test('has health and version', async () => {
    const api = new ApiFixture()
    for (const path of ['/healthz', '/livez', '/readyz']) {
      equal((await api.request('GET', path)).body, 'ok')
    }
    match((await api.request('GET', '/version')).body.gitVersion, /^v1\.36/)
  })
})

interface Named {
  readonly metadata: { readonly name: string }
}

function names(list: { readonly items: readonly Named[] }): string[] {
  return list.items.map(({ metadata }) => metadata.name)
}

interface Group {
  readonly metadata: { readonly name?: string }
  readonly versions: readonly {
    readonly version: string
    readonly resources: readonly { readonly resource: string }[]
  }[]
}

function resourcesIn({ metadata, versions }: Group): string[] {
  return versions.flatMap(({ version, resources }) => {
    const groupVersion = metadata.name === undefined ? version : `${metadata.name}/${version}`
    return resources.map(({ resource }) => `${groupVersion} ${resource}`)
  })
}

function pathOfGroup(group: { preferredVersion: { groupVersion: string } }): string {
  return `/apis/${group.preferredVersion.groupVersion}`
}
