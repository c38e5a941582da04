/** Kinds that enter and leave discovery. */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { memoryExchange } from '../../../adapters/memory/exchange.ts'
import { answered, WatcherRig } from '../../../testing/rig/watcher-rig.ts'

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
const WIDGETS = '/apis/x.io/v1/namespaces/default/widgets'

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  spec: {
    group: 'x.io',
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object' } },
      },
    ],
  },
}
const [v1] = definition.spec.versions
const inTwoVersions = {
  ...definition,
  spec: { ...definition.spec, versions: [v1, { ...v1, name: 'v2', storage: false }] },
}
const widget = { apiVersion: 'x.io/v1', kind: 'Widget' }

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(options: ConstructorParameters<typeof WatcherRig>[0] = {}): Promise<void> {
  rig = new WatcherRig(options)
  rig.start()
  await rig.synced()
}

async function defined(): Promise<void> {
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  for (const name of ['w1', 'w2']) await rig.create(WIDGETS, name, widget)
  await rig.until(() => rig.kind('Widget')?.state === 'watching', 'the new kind is watched')
}

test('a kind that is defined is watched from then on', async () => {
  await started()
  await defined()
  deepEqual(await rig.told('Widget'), [
    'KindServed',
    'SyncStarted',
    'ObjectAdded w1',
    'ObjectAdded w2',
    'SyncFinished',
  ])
})

test('discovery is asked as soon as a definition comes or goes, and every 30 s while none does', async () => {
  await started()
  await rig.clock.advance(60_000)
  const before = rig.watcher.status().counters.discoveries
  await rig.clock.advance(60_000)
  equal(rig.watcher.status().counters.discoveries, before + 2)
  // Two requests for discovery are 3 s apart at least.
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  await rig.clock.advance(4_000)
  equal(rig.kind('Widget')?.state, 'watching')
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  await rig.clock.advance(10_000)
  equal(rig.kind('Widget'), undefined)
})

test('discovery is asked as soon as a list of definitions has told one that no watch did', async () => {
  rig = new WatcherRig()
  let made = false
  rig.broken = async ({ path }) => {
    // Created between the first answer of discovery and the first list of
    // CustomResourceDefinitions.
    if (!made && path.startsWith(`${DEFINITIONS}?limit=`)) {
      made = true
      await rig.create(DEFINITIONS, 'widgets.x.io', definition)
    }
    return undefined
  }
  rig.start()
  await rig.clock.advance(8_000)
  equal(rig.kind('ConfigMap')?.state, 'watching')
  equal(rig.kind('Widget')?.state, 'watching')
})

test('a kind is told gone after what it had, though the log was away for 8 s', async () => {
  await started({ config: { queuedRecords: 20 } })
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  for (let each = 0; each < 100; each++) await rig.create(WIDGETS, `w${each}`, widget)
  await rig.until(() => rig.kind('Widget')?.state === 'watching', 'the new kind is watched')
  await rig.clock.advance(60_000)
  rig.stuck = 'events'
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  await rig.clock.advance(8_000)
  rig.stuck = null
  await rig.clock.advance(120_000)
  const told = await rig.told('Widget')
  equal(told.filter((each) => each.startsWith('ObjectDeleted')).length, 100)
  equal(told.at(-1), 'KindGone')
})

test('a kind is told gone after what it had, though its watch is 9 s behind that of definitions', async () => {
  rig = new WatcherRig()
  let isHeld = false
  const released = Promise.withResolvers<void>()
  rig.broken = async (request) => {
    if (!request.path.startsWith('/apis/x.io/v1/widgets?watch')) return undefined
    const given = await memoryExchange(rig.server).request(request, new AbortController().signal)
    return { ...given, body: late(given.body) }
  }
  async function* late(body: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
    for await (const chunk of body) {
      if (isHeld) await released.promise
      yield chunk
    }
  }
  rig.start()
  await rig.synced()
  await defined()
  await rig.clock.advance(60_000)
  isHeld = true
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  await rig.clock.advance(9_000)
  released.resolve()
  await rig.clock.advance(120_000)
  deepEqual((await rig.told('Widget')).slice(-3), [
    'ObjectDeleted w1',
    'ObjectDeleted w2',
    'KindGone',
  ])
})

test('a kind that goes is told gone after all it had, and relisted when it comes again', async () => {
  await started()
  await defined()
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  await rig.until(() => rig.kind('Widget') === undefined, 'the kind is gone')
  await rig.clock.advance(10_000)
  deepEqual((await rig.told('Widget')).slice(5), [
    'ObjectDeleted w1',
    'ObjectDeleted w2',
    'KindGone',
  ])
  ok(!(await rig.watermarks()).some((mark) => mark.kind === 'Widget'))
  await defined()
  deepEqual((await rig.told('Widget')).slice(8), [
    'KindServed',
    'SyncStarted',
    'ObjectAdded w1',
    'ObjectAdded w2',
    'SyncFinished',
  ])
})

test('a kind that a watcher told of before it died is told gone by the next one', async () => {
  await started({ config: { watermarkMs: 3_600_000 } })
  await defined()
  await rig.crash()
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
  equal((await rig.told('Widget')).at(-1), 'KindGone')
})

test('of a kind nothing is told before its watermark is on the log', async () => {
  await started()
  rig.stuck = 'watermarks'
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  await rig.clock.advance(60_000)
  deepEqual(await rig.told('Widget'), [])
  rig.stuck = null
  await rig.until(() => rig.kind('Widget')?.state === 'watching', 'the new kind is watched')
})

for (const topic of ['events', 'watermarks'] as const) {
  test(`a kind that is served again keeps its watermark though ${topic} took nothing for long`, async () => {
    await started({ config: { watermarkMs: 120_000 } })
    await defined()
    await rig.clock.advance(120_000)
    if (topic === 'events') rig.stuck = topic
    await rig.remove(`${DEFINITIONS}/widgets.x.io`)
    await rig.until(() => rig.kind('Widget') === undefined, 'the kind is gone')
    rig.stuck = topic
    // The round begins before it is served again in the one case, and while its watermark is on its
    // way in the other.
    if (topic === 'events') await rig.clock.advance(120_000)
    await rig.create(DEFINITIONS, 'widgets.x.io', definition)
    await rig.clock.advance(120_000)
    rig.stuck = null
    await rig.until(() => rig.kind('Widget') !== undefined, 'it is served again')
    await rig.clock.advance(240_000)
    const { entries } = await rig.log.read('watermarks', 0, 0n, { limit: 1_000, waitMs: 0 })
    const ofWidget = entries.filter(({ key }) => key.includes('Widget'))
    ok(ofWidget.length > 2)
    deepEqual(
      ofWidget.filter(({ value }) => value === null),
      [],
    )
  })
}

test('a kind that comes again with another plural is told gone by the next watcher when this one could not', async () => {
  await started()
  await defined()
  await rig.clock.advance(10_000)
  const before = (await rig.told('Widget')).length
  rig.stuck = 'events'
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  const names = { ...definition.spec.names, plural: 'awidgets' }
  const spec = { ...definition.spec, names }
  await rig.create(DEFINITIONS, 'awidgets.x.io', { ...definition, spec })
  await rig.clock.advance(120_000)
  await rig.crash()
  rig.stuck = null
  rig.start()
  await rig.synced()
  deepEqual((await rig.told('Widget')).slice(before), [
    'KindGone',
    'KindServed',
    'SyncStarted',
    'SyncFinished',
  ])
})

test('nothing is left running of kinds that came and went', async () => {
  await started()
  await rig.clock.advance(60_000)
  const before = rig.clock.sleeping
  for (let round = 0; round < 10; round++) {
    await defined()
    ok(rig.clock.sleeping > before)
    await rig.remove(`${DEFINITIONS}/widgets.x.io`)
    await rig.until(() => rig.kind('Widget') === undefined, 'the kind is gone')
  }
  await rig.clock.advance(60_000)
  equal(rig.clock.sleeping, before)
})

test('a kind that went while nobody watched is told gone at the next start', async () => {
  await started()
  await defined()
  await rig.clock.advance(10_000)
  await rig.stop()
  await rig.remove(`${DEFINITIONS}/widgets.x.io`)
  rig.start()
  await rig.synced()
  await rig.clock.advance(10_000)
  equal((await rig.told('Widget')).at(-1), 'KindGone')
})

test('where one version cannot be listed another one is', async () => {
  await started()
  const [v1] = definition.spec.versions
  const versions = [v1, { ...v1, name: 'v2', storage: false }]
  const spec = { ...definition.spec, versions }
  let dead = ''
  rig.broken = ({ path }) => {
    const [, version = ''] = /^\/apis\/x.io\/(v[12])\/widgets\?limit/.exec(path) ?? []
    if (dead === '') dead = version
    return version !== '' && version === dead ? answered(429, { kind: 'Status' }) : undefined
  }
  await rig.create(DEFINITIONS, 'widgets.x.io', { ...definition, spec })
  await rig.create(WIDGETS, 'w1', widget)
  await rig.until(() => rig.kind('Widget')?.state === 'watching', 'it is watched all the same')
  ok((await rig.told('Widget')).includes('ObjectAdded w1'))
  ok(rig.watcher.status().counters.failures > 0)
})

test('one answer that misses a kind is not enough', async () => {
  await started()
  await defined()
  let misses = 0
  let looks = 0
  rig.broken = ({ path }) => {
    // Every second answer misses the kinds, so none of them is missed twice.
    if (path !== '/apis' || ++looks % 2 === 0) return undefined
    misses++
    return answered(200, {
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [
        {
          metadata: { name: 'apps' },
          versions: [
            {
              version: 'v1',
              freshness: 'Current',
              resources: [
                {
                  resource: 'deployments',
                  responseKind: { group: '', version: '', kind: 'Deployment' },
                  scope: 'Namespaced',
                  singularResource: 'deployment',
                  verbs: ['delete', 'get', 'list', 'watch'],
                },
              ],
            },
          ],
        },
      ],
    })
  }
  await rig.until(() => misses === 1, 'discovery is asked')
  await rig.clock.advance(120_000)
  ok(misses > 1)
  ok(!(await rig.told('Widget')).includes('KindGone'))
  ok(!(await rig.told('ReplicaSet')).includes('KindGone'))
})

const broken = [
  ['fails', () => answered(503, {})],
  [
    'is empty',
    () =>
      answered(200, {
        kind: 'APIGroupDiscoveryList',
        apiVersion: 'apidiscovery.k8s.io/v2',
        metadata: {},
        items: [],
      }),
  ],
] as const

for (const [how, answer] of broken) {
  test(`a discovery that ${how} changes nothing`, async () => {
    await started()
    const kinds = rig.watcher.status().kinds.length
    rig.broken = ({ path }) =>
      path.startsWith('/api') && path.split('/').length === 2 ? answer() : undefined
    await rig.clock.advance(120_000)
    equal(rig.watcher.status().kinds.length, kinds)
    ok(rig.watcher.status().reason.startsWith('Discovery failed'))
    ok(!(await rig.events()).some((event) => event.type === 'KindGone'))
  })
}

test('every kind is told as aggregated while API services may not be listed, and that is said once', async () => {
  rig = new WatcherRig()
  // As discovery asks; their monitor lists with a limit.
  rig.broken = ({ path }) => (path.endsWith('/apiservices') ? answered(403, {}) : undefined)
  rig.start()
  await rig.synced()
  await rig.clock.advance(15 * 60_000)
  const isAggregated = (): Promise<readonly boolean[]> =>
    rig.events().then((events) => {
      return events.flatMap((event) => (event.type === 'KindServed' ? [event.aggregated] : []))
    })
  const told = await isAggregated()
  ok(told.length > 0 && !told.includes(false))
  const said = rig.notes.filter(({ message }) => /other servers/.test(message))
  equal(said.length, 1)
  rig.broken = () => undefined
  await rig.clock.advance(15 * 60_000)
  const since = (await isAggregated()).slice(told.length)
  ok(since.length > 0 && !since.includes(true))
})

test('a kind whose lists have no resourceVersion is not watched, until its server is mended', async () => {
  rig = new WatcherRig()
  let isOdd = true
  rig.broken = ({ path }) =>
    isOdd && path.startsWith('/apis/x.io/v1/widgets')
      ? answered(200, { kind: 'WidgetList', apiVersion: 'x.io/v1', metadata: {}, items: [] })
      : undefined
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  rig.start()
  await rig.until(() => rig.watcher.status().unwatched.some(isWidget), 'it is given up')
  const { unwatched, kinds } = rig.watcher.status()
  equal(unwatched.find(isWidget)?.reason, 'its lists have no resourceVersion')
  equal(kinds.some(isWidget), false)
  deepEqual(await rig.told('Widget'), ['KindServed', 'KindServed'])
  // Once an hour its server is asked again, and nothing is published about that.
  await rig.clock.advance(2 * 3_600_000)
  deepEqual(await rig.told('Widget'), ['KindServed', 'KindServed'])
  isOdd = false
  await rig.clock.advance(2 * 3_600_000)
  equal(rig.kind('Widget')?.state, 'watching')
})

for (const odd of ['v1', 'v2']) {
  test(`a kind whose lists have no resourceVersion in ${odd} alone is watched by its other version`, async () => {
    rig = new WatcherRig()
    withoutVersion([odd])
    await rig.create(DEFINITIONS, 'widgets.x.io', inTwoVersions)
    rig.start()
    await rig.until(() => rig.kind('Widget')?.state === 'watching', 'it is watched')
    equal(rig.watcher.status().unwatched.some(isWidget), false)
  })

  test(`a kind without resourceVersion in any version is watched once only ${odd} has none`, async () => {
    rig = new WatcherRig()
    withoutVersion(['v1', 'v2'])
    await rig.create(DEFINITIONS, 'widgets.x.io', inTwoVersions)
    rig.start()
    // Three lists of each version, and longer and longer between them.
    await rig.clock.advance(3 * 60_000)
    equal(rig.watcher.status().unwatched.some(isWidget), true)
    withoutVersion([odd])
    await rig.clock.advance(2 * 3_600_000)
    await rig.until(() => rig.kind('Widget')?.state === 'watching', 'it is watched')
  })
}

test('a kind to ignore is not watched', async () => {
  await started({ config: { ignoreKinds: ['pods'] } })
  const { kinds, unwatched } = rig.watcher.status()
  equal(
    kinds.some(({ resource }) => resource === 'pods'),
    false,
  )
  equal(
    unwatched.find(({ resource }) => resource === 'pods')?.reason,
    'it is among the kinds to ignore',
  )
})

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews'

/** The account may list and watch all but these resources; null: the server does not answer. */
function mayAllBut(denied: () => readonly string[] | null, asked: string[] = []): void {
  rig.broken = ({ path, body }) => {
    if (path !== REVIEWS) return undefined
    const { spec } = JSON.parse(String(body)) as {
      readonly spec: { readonly resourceAttributes: { verb: string; resource: string } }
    }
    const { verb, resource } = spec.resourceAttributes
    asked.push(`${verb} ${resource}`)
    const list = denied()
    if (list === null) return answered(500, { kind: 'Status', status: 'Failure', code: 500 })
    return answered(201, { kind: 'R', status: { allowed: !list.includes(resource) } })
  }
}

function reasonOf(resource: string): string | undefined {
  return rig.watcher.status().unwatched.find((each) => each.resource === resource)?.reason
}

test('of the kinds allowed those are watched that the account may list and watch, later ones too (C16)', async () => {
  rig = new WatcherRig({ config: { onlyAllowed: true } })
  const asked: string[] = []
  mayAllBut(() => ['secrets', 'gadgets'], asked)
  rig.start()
  await rig.synced()
  equal(rig.kind('ConfigMap')?.state, 'watching')
  equal(reasonOf('secrets'), 'this account may not list and watch it')
  equal(rig.requests.filter((each) => / secrets/.test(each)).length, 0)
  // No right is asked about twice a minute.
  const first = asked.length
  await rig.clock.advance(31_000)
  equal(asked.length, first)
  await defined()
  deepEqual(
    asked.slice(first).filter((each) => !each.endsWith('secrets')),
    ['list widgets', 'watch widgets'],
  )
  equal((await rig.told('Widget'))[0], 'KindServed')
})

test('a right that is granted later is used within two minutes, and one taken away is no absence', async () => {
  rig = new WatcherRig({ config: { onlyAllowed: true } })
  let denied = ['secrets']
  mayAllBut(() => denied)
  rig.start()
  await rig.synced()
  denied = ['configmaps']
  await rig.clock.advance(120_000)
  equal(rig.kind('Secret')?.state, 'watching')
  // Its watch still runs; a server that refuses it is what makes the process unready.
  equal(rig.kind('ConfigMap')?.state, 'watching')
  deepEqual(
    (await rig.told('ConfigMap')).filter((each) => each === 'KindGone'),
    [],
  )
})

test('where a review is not answered nothing of the round counts: no kind is left out or dropped', async () => {
  rig = new WatcherRig({ config: { onlyAllowed: true } })
  let denied: readonly string[] | null = []
  mayAllBut(() => denied)
  rig.start()
  await rig.synced()
  await rig.stop()
  denied = null
  rig.start()
  await rig.clock.advance(60_000)
  match(rig.watcher.status().reason, /^Discovery failed: .*selfsubjectaccessreviews/)
  deepEqual(rig.watcher.status().unwatched, [])
  denied = []
  await rig.synced()
  deepEqual(
    (await rig.told('ConfigMap')).filter((each) => each === 'KindGone'),
    [],
  )
})

test('one list without a resourceVersion is a failure like any other', async () => {
  rig = new WatcherRig()
  let left = 2
  rig.broken = ({ path }) =>
    path.startsWith('/apis/x.io/v1/widgets?limit') && left-- > 0
      ? answered(200, { kind: 'WidgetList', apiVersion: 'x.io/v1', metadata: {}, items: [] })
      : undefined
  await rig.create(DEFINITIONS, 'widgets.x.io', definition)
  rig.start()
  await rig.until(() => rig.kind('Widget')?.state === 'watching', 'it is watched')
  equal(rig.watcher.status().unwatched.some(isWidget), false)
})

function withoutVersion(odd: readonly string[]): void {
  rig.broken = ({ path }) => {
    const version = odd.find((each) => path.startsWith(`/apis/x.io/${each}/widgets`))
    const body = { kind: 'WidgetList', apiVersion: `x.io/${version}`, metadata: {}, items: [] }
    return version === undefined ? undefined : answered(200, body)
  }
}

function isWidget({ kind }: { readonly kind: string }): boolean {
  return kind === 'Widget'
}
