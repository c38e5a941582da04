/**
 * What every Cluster promises, shown on a server that serves ConfigMaps, Namespaces, Events and
 * Deployments and allows everything. Other objects may be there; nothing else writes ConfigMaps or
 * Deployments meanwhile.
 *
 * What must stay true: it knows no adapter, asks nothing of a server that the real kube-apiserver
 * does not do, and never waits by the clock. Every test makes objects under names of its own.
 *
 * Not here: how each odd answer is read (adapters/kubernetes/answer.test.ts), sockets
 * (exchange.contract.ts).
 */
import { deepEqual, equal, match, notEqual, ok, rejects } from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Target } from '../core/model/command.ts'
import { compareVersions, type ObjectMeta } from '../core/model/object.ts'
import type { KindReads } from '../core/model/rule/rule.ts'
import {
  type Cluster,
  ClusterError,
  type DeleteOptions,
  type ListPage,
  type MergeOptions,
  type ReapAnswer,
  type Resource,
  type WatchEvent,
  type Watched,
} from './cluster.ts'
import { MARKED } from './record/projection.ts'

export interface ClusterFixture extends AsyncDisposable {
  readonly cluster: Cluster
  /**
   * The same server, its watches asked to end after a few seconds; without it bookmarks and ends
   * are not tested.
   */
  readonly briefWatches?: Cluster | undefined
  /**
   * Raw, as a user who may do anything. The body is sent as JSON, the answer's is returned parsed.
   */
  request(method: string, path: string, body?: unknown): Promise<RawAnswer>
  /**
   * Makes every version before now too old for a watch of ConfigMaps; without it that is not
   * tested.
   */
  readonly compact?: (() => Promise<void>) | undefined
}

export interface RawAnswer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read into it, and fail where a field is missing.
  readonly body: any
}

export interface ClusterContractOptions {
  /** Why it cannot run here. */
  readonly skip?: string | undefined
}

const DEADLINE_MS = 60_000
const NAMESPACE = 'default'

const CONFIG_MAPS: Resource = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  kind: 'ConfigMap',
  scope: 'Namespaced',
}
const NAMESPACES: Resource = {
  group: '',
  version: 'v1',
  resource: 'namespaces',
  kind: 'Namespace',
  scope: 'Cluster',
}
const DEPLOYMENTS: Resource = {
  group: 'apps',
  version: 'v1',
  resource: 'deployments',
  kind: 'Deployment',
  scope: 'Namespaced',
}

export function clusterContract(
  name: string,
  open: () => Promise<ClusterFixture>,
  options: ClusterContractOptions = {},
): void {
  describe(`the cluster ${name}`, { skip: options.skip ?? false }, () => {
    let fixture: ClusterFixture
    before(async () => {
      fixture = await open()
    })
    after(async () => {
      await fixture?.[Symbol.asyncDispose]()
    })
    const given: Given = () => fixture
    describe('tells who it is', () => identity(given))
    describe('lists', () => lists(given))
    describe('watches', () => watches(given))
    describe('gets', () => gets(given))
    describe('deletes', () => deletes(given))
    describe('patches', () => patches(given))
    describe('projects', () => projects(given))
  })
}

type Given = () => ClusterFixture

function identity(given: Given): void {
  test('by the uid of kube-system', async () => {
    const { body } = await given().request('GET', '/api/v1/namespaces/kube-system')
    equal(await given().cluster.identify(deadline()), body.metadata.uid)
  })

  test('and its kinds, with scope, versions and verbs', async () => {
    const { kinds, failed } = await given().cluster.discover(deadline())
    deepEqual(failed, [])
    const expected = [CONFIG_MAPS, NAMESPACES, DEPLOYMENTS].map(({ version, ...rest }) => ({
      ...rest,
      versions: [version],
      ambiguous: false,
      aggregated: false,
    }))
    for (const kind of expected) {
      const found = kinds.find((it) => it.group === kind.group && it.kind === kind.kind)
      ok(found !== undefined, `${kind.kind} is not discovered`)
      const { verbs, shortNames, ...rest } = found
      deepEqual(rest, kind)
      for (const verb of ['list', 'watch', 'delete', 'patch']) ok(verbs.includes(verb), verb)
      ok(shortNames.length > 0, `${kind.kind} has a short name`)
    }
  })

  test('and no subresource, and no kind twice', async () => {
    const { kinds } = await given().cluster.discover(deadline())
    ok(kinds.every(({ resource }) => !resource.includes('/')))
    equal(new Set(kinds.map(({ group, kind }) => `${group}/${kind}`)).size, kinds.length)
  })

  test('and what we may do', async () => {
    equal(await given().cluster.mayI('delete', CONFIG_MAPS, deadline()), true)
  })

  test('and that it has no lock, without an effect on what that was tried on', async () => {
    const { cluster, request } = given()
    const path = '/api/v1/namespaces/kube-system/configmaps'
    const before = await cluster.probeLock(deadline())
    match(before.type === 'Open' ? before.reason : '', /there is no ConfigMap/)
    const annotations = { 'kinfold.dev/protected': 'true' }
    const made = await request('POST', path, { metadata: { name: 'kinfold-lock', annotations } })
    equal(made.status, 201)
    const after = await cluster.probeLock(deadline())
    match(after.type === 'Open' ? after.reason : '', /let a DELETE pass/)
    const { status, body } = await request('GET', `${path}/kinfold-lock`)
    deepEqual([status, body.metadata.uid], [200, made.body.metadata.uid])
    equal(body.metadata.deletionTimestamp, undefined)
    await request('DELETE', `${path}/kinfold-lock`)
  })

  test('and how its clock stands to ours', async () => {
    const skewMs = await given().cluster.clockSkewMs(deadline())
    ok(skewMs !== null && Math.abs(skewMs) < DEADLINE_MS, `${skewMs}`)
  })
}

function lists(given: Given): void {
  test('page by page, at one version, each object once and metadata only', async () => {
    const made = await Promise.all(
      Array.from({ length: 7 }, (_, index) => make(given(), `listed-${index}`)),
    )
    const pages = await listed(given().cluster.list(CONFIG_MAPS, 3, deadline()))
    ok(pages.length >= 3)
    ok(pages.every(({ objects }) => objects.length <= 3))
    equal(new Set(pages.map(({ resourceVersion }) => resourceVersion)).size, 1)
    deepEqual(
      pages.map(({ more }) => more),
      pages.map((_, index) => index < pages.length - 1),
    )
    const objects = pages.flatMap((page) => page.objects)
    equal(new Set(objects.map(({ uid }) => uid)).size, objects.length)
    for (const object of made) deepEqual(find(objects, object.uid), object)
    ok(isNotBefore(pages[0]!.resourceVersion, made[6]!.resourceVersion))
  })

  test('cluster-scoped kinds, their namespace empty', async () => {
    const pages = await listed(given().cluster.list(NAMESPACES, 500, deadline()))
    const namespace = pages.flatMap((page) => page.objects).find((it) => it.name === 'kube-system')
    deepEqual([namespace?.namespace, namespace?.scope], ['', 'Cluster'])
  })

  test('with the references as they are stored: absent is null, false is false', async () => {
    const owner = await make(given(), 'references-owner')
    const references = [reference(owner), { ...reference(owner, 'b'), controller: false }]
    const { uid } = await make(given(), 'references', { ownerReferences: references })
    const pages = await listed(given().cluster.list(CONFIG_MAPS, 500, deadline()))
    const object = find(
      pages.flatMap((page) => page.objects),
      uid,
    )
    deepEqual(
      object?.ownerReferences.map((it) => [it.uid, it.controller, it.blockOwnerDeletion]),
      [
        [owner.uid, null, null],
        ['b', false, null],
      ],
    )
  })

  test('nothing of a resource that is not served', async () => {
    const unserved = { ...CONFIG_MAPS, group: 'nowhere.example.com' }
    await rejects(listed(given().cluster.list(unserved, 500, deadline())), hasCode('NOT_SERVED'))
  })

  test('by labels and namespace, page by page, what is selected and nothing else', async () => {
    const { cluster, request } = given()
    const made = await Promise.all(
      ['red', 'red', 'red', 'blue'].map(async (colour, index) => {
        return await make(given(), `labelled-${index}`, { labels: { colour } })
      }),
    )
    const selected = async (labels: string, namespace: string): Promise<readonly string[]> => {
      const pages = cluster.select(CONFIG_MAPS, { namespace, labels }, 2, deadline())
      return (await listed(pages))
        .flatMap(({ objects }) => objects.map(({ uid }) => uid))
        .toSorted()
    }
    const red = made.slice(0, 3).map(({ uid }) => uid)
    deepEqual(await selected('colour=red', NAMESPACE), red.toSorted())
    deepEqual(await selected('colour in (red),colour', ''), red.toSorted())
    deepEqual(await selected('colour=blue', NAMESPACE), [made[3]?.uid])
    deepEqual(await selected('colour', 'kube-system'), [])
    const { body: system } = await request('GET', '/api/v1/namespaces/kube-system')
    const home = system.metadata.uid
    const bounds = { namespace: NAMESPACE, labels: 'colour=blue' }
    const [page] = await listed(cluster.select(CONFIG_MAPS, bounds, 2, deadline(), home))
    deepEqual(page?.objects.length, 1)
  })

  test('nothing by a selector that cannot be read', async () => {
    const wrong = { namespace: '', labels: 'colour===red' }
    await rejects(
      listed(given().cluster.select(CONFIG_MAPS, wrong, 500, deadline())),
      hasCode('BAD_REQUEST'),
    )
  })

  test('and tells the current version without listing', async () => {
    const made = await make(given(), 'current')
    const version = await given().cluster.currentVersion(CONFIG_MAPS, deadline())
    ok(isNotBefore(version, made.resourceVersion))
  })
}

function watches(given: Given): void {
  test('what comes, changes and goes, from just after a version', async () => {
    const { cluster, request } = given()
    await make(given(), 'before-the-watch')
    const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
    const added = await make(given(), 'watched')
    const changed = await request('PUT', pathOf(added), body('watched', { finalizers: [HOLD] }))
    equal(changed.status, 200)
    equal((await request('PUT', pathOf(added), body('watched', {}))).status, 200)
    equal((await request('DELETE', pathOf(added))).status, 200)

    const events = await watchUntil(cluster, CONFIG_MAPS, from, (it) => it.type === 'Deleted')
    const told = events.filter((it) => it.type !== 'Bookmark')
    deepEqual(
      told.map(({ type, object }) => [type, object.name, object.uid, object.finalizers.length]),
      [
        ['Added', 'watched', added.uid, 0],
        ['Modified', 'watched', added.uid, 1],
        ['Modified', 'watched', added.uid, 0],
        ['Deleted', 'watched', added.uid, 0],
      ],
    )
    deepEqual(told[0]?.object, added)
    const versions = told.map(({ object }) => object.resourceVersion)
    ok(versions.every((it, index) => index === 0 || isNotBefore(it, versions[index - 1]!)))
    equal(new Set(versions).size, 4)
  })

  test('whole: the body of what is deleted as it was last, and of nothing else', async () => {
    const { cluster, request } = given()
    const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
    const added = await make(given(), 'whole')
    const last = { ...body('whole', {}), data: { color: 'blue' } }
    equal((await request('PUT', pathOf(added), last)).status, 200)
    equal((await request('DELETE', pathOf(added))).status, 200)
    const whole = { ...CONFIG_MAPS, whole: true }
    const isLast = (it: WatchEvent): boolean => it.type === 'Deleted' && isNamed(it, 'whole')
    const events = await watchUntil(cluster, whole, from, isLast)
    const shown = events
      .filter((it) => isNamed(it, 'whole'))
      .map((it) => [it.type, 'text' in it && JSON.parse(it.text ?? '').object.data])
    deepEqual(shown, [
      ['Added', false],
      ['Modified', false],
      ['Deleted', { color: 'blue' }],
    ])
  })

  test('what happens while it is open', async () => {
    const { cluster } = given()
    const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
    const watching = watchUntil(cluster, CONFIG_MAPS, from, (it) => isNamed(it, 'live'))
    await make(given(), 'live')
    ok((await watching).some((it) => isNamed(it, 'live')))
  })

  test('until its signal aborts', async () => {
    const { cluster } = given()
    const stop = new AbortController()
    const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
    const next = cluster.watch(CONFIG_MAPS, from, stop.signal)[Symbol.asyncIterator]().next()
    stop.abort(new Stopped())
    await rejects(Promise.resolve(next), Stopped)
  })

  test('with bookmarks, to a quiet end that the server makes', async (context) => {
    const { briefWatches, request } = given()
    if (briefWatches === undefined) return context.skip('the fixture has no brief watches')
    const from = await briefWatches.currentVersion(NAMESPACES, deadline())
    const create = async (name: string) =>
      equal((await request('POST', '/api/v1/namespaces', { metadata: { name } })).status, 201)
    await create('bookmarked-1')
    const events: WatchEvent[] = []
    for await (const batch of briefWatches.watch(NAMESPACES, from, deadline())) {
      // The real server bookmarks only events of the kind that it saw while the watch was open.
      if (batch.some((it) => isNamed(it, 'bookmarked-1'))) await create('bookmarked-2')
      events.push(...batch)
    }
    const added = events.find((it) => isNamed(it, 'bookmarked-2'))
    const last = events.at(-1)
    ok(added?.type === 'Added')
    ok(last?.type === 'Bookmark', 'no bookmark came')
    ok(isNotBefore(last.resourceVersion, added.object.resourceVersion))
  })

  test('nothing of a resource that is not served', async () => {
    const unserved = { ...CONFIG_MAPS, group: 'nowhere.example.com' }
    const watching = watchUntil(given().cluster, unserved, '1', () => false)
    await rejects(watching, hasCode('NOT_SERVED'))
  })

  test('not from a version that is too old', async (context) => {
    const { cluster, compact } = given()
    if (compact === undefined) return context.skip('the fixture cannot compact')
    const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
    for (const name of ['compacted-1', 'compacted-2', 'compacted-3']) await make(given(), name)
    await compact()
    const watching = watchUntil(cluster, CONFIG_MAPS, from, () => false)
    await rejects(watching, hasCode('EXPIRED'))
  })
}

function gets(given: Given): void {
  const get = (target: Target) => given().cluster.get(target, deadline())

  test('what is there, whatever uid was meant', async () => {
    const made = await make(given(), 'got')
    deepEqual(await get(target(made)), { type: 'Found', object: made, code: 200 })
    deepEqual(await get({ ...target(made), uid: 'another' }), {
      type: 'Found',
      object: made,
      code: 200,
    })
  })

  test('with the body, as the server has it', async () => {
    const made = await make(given(), 'read')
    const answer = await given().cluster.read(target(made), deadline())
    if (answer.type !== 'Found') throw new Error(`it was answered ${answer.type}`)
    const { text, ...rest } = answer
    deepEqual(rest, { type: 'Found', object: made, code: 200 })
    const { body } = await given().request('GET', pathOf(made))
    deepEqual(JSON.parse(text), body)
  })

  test('no body of what is absent', async () => {
    const answer = await given().cluster.read(absent(CONFIG_MAPS), deadline())
    deepEqual(answer, { type: 'Absent', code: 404 })
  })

  for (const resource of [CONFIG_MAPS, DEPLOYMENTS, NAMESPACES]) {
    test(`the absence of one of ${resource.resource}`, async () => {
      deepEqual(await get(absent(resource)), { type: 'Absent', code: 404 })
    })
  }

  const proofless: Record<string, Target> = {
    'an unserved group': { ...absent(CONFIG_MAPS), group: 'nowhere.example.com' },
    'an unserved version': { ...absent(DEPLOYMENTS), version: 'v1beta1' },
    'an unknown resource': { ...absent(CONFIG_MAPS), resource: 'foos', kind: 'Foo' },
    'a namespaced kind without a namespace': { ...absent(CONFIG_MAPS), namespace: '' },
  }
  for (const [what, target] of Object.entries(proofless)) {
    test(`no absence out of ${what}`, async () => {
      const answer = await get(target)
      deepEqual([answer.type, answer.code], ['Unknown', 404])
      ok(answer.type === 'Unknown' && !answer.transient)
    })
  }
}

function deletes(given: Given): void {
  const remove = (object: ObjectMeta, changed: Partial<DeleteOptions> = {}) =>
    given().cluster.delete(target(object), { ...guard(object), ...changed }, deadline())

  test('an object that is as it was judged', async () => {
    const made = await make(given(), 'deleted')
    deepEqual(await remove(made), { type: 'Removed', code: 200 })
    deepEqual(await remove(made), { type: 'Absent', code: 404 })
  })

  test('nothing under another uid or a stale version', async () => {
    const made = await make(given(), 'guarded')
    const stale = String(BigInt(made.resourceVersion) - 1n)
    for (const wrong of [{ uid: 'another' }, { resourceVersion: stale }]) {
      const answer = await remove(made, wrong)
      deepEqual([answer.type, answer.code], ['Conflict', 409])
    }
    deepEqual(await current(given(), made), made)
  })

  test('nothing in a dry run', async () => {
    const made = await make(given(), 'rehearsed')
    deepEqual(await remove(made, { dryRun: true }), { type: 'WouldGo', code: 200 })
    deepEqual(await current(given(), made), made)
    const answer = await remove(made, { dryRun: true, uid: 'another' })
    equal(answer.type, 'Conflict')
  })

  test('what has finalizers by marking it', async () => {
    const made = await make(given(), 'held', { finalizers: [HOLD] })
    const answer = await remove(made)
    ok(answer.type === 'Changed')
    equal(answer.object.uid, made.uid)
    notEqual(answer.object.deletedAt, null)
    notEqual(answer.object.resourceVersion, made.resourceVersion)
    deepEqual(answer.object.finalizers, [HOLD])
  })

  test('by the policy that it is told', async () => {
    const made = await make(given(), 'foreground')
    const answer = await remove(made, { propagationPolicy: 'Foreground' })
    ok(answer.type === 'Changed')
    deepEqual(answer.object.finalizers, ['foregroundDeletion'])
  })

  test('in the background nothing that has finalizers of a policy alone', async () => {
    for (const [index, finalizer] of ['orphan', 'foregroundDeletion'].entries()) {
      const made = await make(given(), `policy-${index}`, { finalizers: [finalizer] })
      const answer = await remove(made)
      deepEqual([answer.type, answer.code], ['Conflict', 409])
      deepEqual(await current(given(), made), made)
      const foreground = await remove(made, { propagationPolicy: 'Foreground' })
      equal(foreground.type, 'Changed')
    }
  })

  test('nothing by paths that are not served', async () => {
    const made = await make(given(), 'misplaced')
    const wrong = { ...target(made), version: 'v9' }
    const answer = await given().cluster.delete(wrong, guard(made), deadline())
    deepEqual([answer.type, answer.code], ['Unknown', 404])
  })
}

function patches(given: Given): void {
  const REFERENCE = '/metadata/ownerReferences/0'
  const drop = async (object: ObjectMeta, uid: string, value: unknown, dryRun = false) =>
    await given().cluster.patch(
      target(object),
      [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'test', path: REFERENCE, value },
        { op: 'remove', path: REFERENCE },
      ],
      dryRun,
      deadline(),
    )
  const owned = async (name: string) => {
    const owner = await make(given(), `${name}-owner`)
    const stored = { ...reference(owner), controller: true }
    return { stored, object: await make(given(), name, { ownerReferences: [stored] }) }
  }

  test('a reference away whose tests hold', async () => {
    const { object, stored } = await owned('dropped')
    const answer = await drop(object, object.uid, stored)
    ok(answer.type === 'Changed')
    deepEqual([answer.object.uid, answer.object.ownerReferences], [object.uid, []])
    deepEqual(await current(given(), object), answer.object)
  })

  test('nothing in a dry run', async () => {
    const { object, stored } = await owned('patch-rehearsed')
    deepEqual(await drop(object, object.uid, stored, true), { type: 'WouldGo', code: 200 })
    deepEqual(await current(given(), object), object)
  })

  test('nothing whose test fails', async () => {
    const { object, stored } = await owned('tested')
    const { controller: _, ...without } = stored
    const failing: [string, unknown][] = [
      ['another', stored],
      [object.uid, { ...stored, controller: false }],
      [object.uid, without],
    ]
    for (const [uid, value] of failing) {
      const answer = await drop(object, uid, value)
      deepEqual([answer.type, answer.code], ['Conflict', 422])
    }
    deepEqual(await current(given(), object), object)
  })

  test('a reference away by its place, of the version that was read only', async () => {
    const { object } = await owned('placed')
    const answers: string[] = []
    for (const version of [`${object.resourceVersion}0`, object.resourceVersion]) {
      const answer = await given().cluster.patch(
        target(object),
        [
          { op: 'test', path: '/metadata/uid', value: object.uid },
          { op: 'test', path: '/metadata/resourceVersion', value: version },
          { op: 'remove', path: REFERENCE },
        ],
        false,
        deadline(),
      )
      answers.push(answer.type)
    }
    deepEqual(answers, ['Conflict', 'Changed'])
  })

  test('nothing that is absent', async () => {
    const { object, stored } = await owned('patched-late')
    const elsewhere = { ...object, name: 'patched-too-late' }
    deepEqual(await drop(elsewhere, object.uid, stored), { type: 'Absent', code: 404 })
  })

  test('annotations into the version that was read only, as a merge', async () => {
    const { cluster, request } = given()
    const made = await make(given(), 'annotated', { annotations: { other: 'stays' } })
    const { uid, resourceVersion } = made
    const merge = (more: Partial<MergeOptions>): Promise<ReapAnswer> => {
      const change = { annotations: { 'example.com/at': 'now' } }
      const options = { uid, resourceVersion, change, dryRun: false, ...more }
      return cluster.merge(target(made), options, deadline())
    }
    deepEqual(await merge({ dryRun: true }), { type: 'WouldGo', code: 200 })
    equal((await merge({ resourceVersion: `${Number(resourceVersion) + 1}` })).type, 'Conflict')
    deepEqual(await current(given(), made), made)
    const answer = await merge({})
    ok(answer.type === 'Changed')
    deepEqual([answer.object.uid, answer.object.resourceVersion === resourceVersion], [uid, false])
    const { body } = await request('GET', pathOf(made))
    deepEqual(body.metadata.annotations, { other: 'stays', 'example.com/at': 'now' })
    equal((await merge({})).type, 'Conflict')
    const elsewhere = { ...target(made), name: 'annotated-nowhere' }
    const change = { annotations: { a: 'b' } }
    const absent = { uid, resourceVersion, change, dryRun: false }
    equal((await cluster.merge(elsewhere, absent, deadline())).type, 'Absent')
  })

  test('a status alone, with all else as it is', async () => {
    const { cluster, request } = given()
    const path = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments`
    const labels = { app: 'merged' }
    const template = {
      metadata: { labels },
      spec: { containers: [{ name: 'a', image: 'a.example/a' }] },
    }
    const spec = { replicas: 0, selector: { matchLabels: labels }, template }
    const made = await request('POST', path, { metadata: { name: 'merged' }, spec })
    equal(made.status, 201)
    const { uid, resourceVersion } = made.body.metadata
    const at = { ...DEPLOYMENTS, namespace: NAMESPACE, name: 'merged' }
    const where = { ...at, uid, resourceVersion, aggregated: false }
    const change = { status: { observedGeneration: 7 } }
    const options = { uid, resourceVersion, change, dryRun: false }
    equal((await cluster.merge(where, options, deadline())).type, 'Changed')
    const { body } = await request('GET', `${path}/merged`)
    deepEqual([body.status.observedGeneration, body.spec.replicas], [7, 0])
  })

  test('the last finalizer away, and the object goes', async () => {
    const { cluster, request } = given()
    const made = await make(given(), 'released', { finalizers: [HOLD] })
    await request('DELETE', pathOf(made))
    const operations = [
      { op: 'test', path: '/metadata/uid', value: made.uid },
      { op: 'test', path: '/metadata/finalizers/0', value: HOLD },
      { op: 'remove', path: '/metadata/finalizers/0' },
    ] as const
    const answer = await cluster.patch(target(made), operations, false, deadline())
    equal(answer.type, 'Removed')
    equal((await cluster.get(target(made), deadline())).type, 'Absent')
  })

  test('no object to warn about it, but adds an Event, and only one however often', async () => {
    const { cluster, request } = given()
    const made = await make(given(), 'warned')
    const told = { type: 'Warning', reason: 'Odd', message: 'ownerRef [v1/ConfigMap]' } as const
    for (const _ of [1, 2]) {
      equal((await cluster.writeEvent(target(made), told, deadline())).type, 'Changed')
    }
    const { body } = await request('GET', `/api/v1/namespaces/${NAMESPACE}/events`)
    const events = body.items.filter((it: Regarding) => it.involvedObject.uid === made.uid)
    equal(events.length, 1)
    const [event] = events
    deepEqual([event.type, event.reason, event.message], Object.values(told))
    match(event.involvedObject.apiVersion, /^v1$/)
    deepEqual(await current(given(), made), made)
  })
}

const COLOR = 'data.color'
const READS: KindReads = {
  ...{ group: '', kind: 'ConfigMap', labels: ['shade'], annotations: [], fields: [COLOR] },
  ...{ namespace: '', digest: 'colors' },
}

function projects(given: Given): void {
  const projecting = async (work: (cluster: Cluster) => Promise<void>): Promise<void> => {
    const { cluster } = given()
    cluster.project({ ...MARKED, kinds: [READS] })
    try {
      await work(cluster)
    } finally {
      cluster.project(MARKED)
    }
  }
  const colored = async (name: string): Promise<ObjectMeta> => {
    const written = { ...body(name, { labels: { shade: 'dark' } }), data: { color: 'blue' } }
    const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
    equal((await given().request('POST', path, written)).status, 201)
    return await current(given(), { name })
  }

  test('to one apart from another what it projects itself', async () => {
    await projecting(async (cluster) => {
      const made = await colored('apart')
      const { cluster: shared } = given()
      const apart = shared.apart()
      equal((await current({ ...given(), cluster: apart }, made)).projected?.reads, 'colors')
      apart.project(MARKED)
      equal((await current({ ...given(), cluster: apart }, made)).projected, null)
      equal((await current(given(), made)).projected?.reads, 'colors')
      await apart[Symbol.asyncDispose]()
      equal((await current({ ...given(), cluster }, made)).name, 'apart')
    })
  })

  test('the fields and labels that rules read, alike in every answer', async () => {
    await projecting(async (cluster) => {
      const made = await colored('colored')
      deepEqual(made.projected, {
        reads: 'colors',
        fields: [{ key: COLOR, value: 'blue' }],
        policy: null,
      })
      deepEqual(made.labels, [{ key: 'shade', value: 'dark' }])
      const pages = await listed(cluster.list(CONFIG_MAPS, 3, deadline()))
      const objects = pages.flatMap((page) => page.objects)
      deepEqual(find(objects, made.uid), made)
      ok(objects.every(({ projected: of }) => of?.reads === 'colors'))
      const selection = { namespace: NAMESPACE, labels: 'shade=dark' }
      const [selected] = await listed(cluster.select(CONFIG_MAPS, selection, 3, deadline()))
      deepEqual(find(selected?.objects ?? [], made.uid), made)
      const read = await cluster.read(target(made), deadline())
      deepEqual(read.type === 'Found' && read.object, made)
      const operations = [
        { op: 'test', path: '/metadata/uid', value: made.uid },
        { op: 'add', path: '/metadata/finalizers', value: [HOLD] },
      ] as const
      const patched = await cluster.patch(target(made), operations, false, deadline())
      ok(patched.type === 'Changed')
      deepEqual(patched.object.projected, made.projected)
      const deleted = await cluster.delete(target(made), guard(patched.object), deadline())
      ok(deleted.type === 'Changed')
      deepEqual(deleted.object.projected, made.projected)
      const path = pathOf(made)
      equal((await given().request('PUT', path, body('colored', {}))).status, 200)
    })
  })

  test('the same in each event of a watch, and the body only of what is deleted', async () => {
    await projecting(async (cluster) => {
      const from = await cluster.currentVersion(CONFIG_MAPS, deadline())
      const made = await colored('watched-color')
      const last = { ...body('watched-color', {}), data: { color: 'red' } }
      equal((await given().request('PUT', pathOf(made), last)).status, 200)
      equal((await given().request('DELETE', pathOf(made))).status, 200)
      const isLast = (it: WatchEvent): boolean =>
        it.type === 'Deleted' && isNamed(it, 'watched-color')
      for (const whole of [false, true]) {
        const events = await watchUntil(cluster, { ...CONFIG_MAPS, whole }, from, isLast)
        const shown = events.flatMap((it) => {
          if (it.type === 'Bookmark' || !isNamed(it, 'watched-color')) return []
          return [[it.type, it.object.projected?.fields[0]?.value, 'text' in it]]
        })
        deepEqual(shown, [
          ['Added', 'blue', false],
          ['Modified', 'red', false],
          ['Deleted', 'red', whole],
        ])
      }
    })
  })

  test('nothing of other kinds', async () => {
    await projecting(async (cluster) => {
      const pages = await listed(cluster.list(NAMESPACES, 500, deadline()))
      ok(pages.every(({ objects }) => objects.every(({ projected: of }) => of === null)))
    })
  })
}

class Stopped extends Error {}

interface Regarding {
  readonly involvedObject: { readonly uid: string }
}

interface Written {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
  readonly finalizers?: readonly string[]
  readonly ownerReferences?: readonly object[]
}

/** Nothing removes it but a test. */
const HOLD = 'kinfold.example.com/hold'

function deadline(): AbortSignal {
  return AbortSignal.timeout(DEADLINE_MS)
}

/** Creates a ConfigMap and returns the content of a GET of it. */
async function make(fixture: ClusterFixture, name: string, written: Written = {}) {
  const path = `/api/v1/namespaces/${NAMESPACE}/configmaps`
  const { status } = await fixture.request('POST', path, body(name, written))
  equal(status, 201)
  return await current(fixture, { name })
}

async function current(
  { cluster }: ClusterFixture,
  { name }: { name: string },
): Promise<ObjectMeta> {
  const answer = await cluster.get({ ...absent(CONFIG_MAPS), name }, deadline())
  ok(answer.type === 'Found', `${name} is not there`)
  return answer.object
}

function body(name: string, written: Written): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, ...written } }
}

function pathOf({ name }: ObjectMeta): string {
  return `/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`
}

function reference({ name, uid }: ObjectMeta, otherUid: string = uid) {
  return { apiVersion: 'v1', kind: 'ConfigMap', name, uid: otherUid }
}

function target({ group, kind, namespace, name, version, resource, uid }: ObjectMeta): Target {
  return {
    ...{ group, kind, namespace, name, version, resource, uid },
    resourceVersion: '',
    aggregated: false,
  }
}

function absent({ group, version, resource, kind, scope }: Resource): Target {
  return {
    ...{ group, version, resource, kind },
    namespace: scope === 'Namespaced' ? NAMESPACE : '',
    name: 'nobody-made-this',
    uid: 'nobody',
    resourceVersion: '',
    aggregated: false,
  }
}

function guard({ uid, resourceVersion }: ObjectMeta): DeleteOptions {
  return { uid, resourceVersion, propagationPolicy: 'Background', dryRun: false }
}

async function listed(pages: AsyncIterable<ListPage>): Promise<ListPage[]> {
  return await Array.fromAsync(pages)
}

function find(objects: readonly ObjectMeta[], uid: string): ObjectMeta | undefined {
  return objects.find((object) => object.uid === uid)
}

/** Everything up to the first event of which `isLast` holds. */
async function watchUntil(
  cluster: Cluster,
  resource: Watched,
  from: string,
  isLast: (event: WatchEvent) => boolean,
): Promise<WatchEvent[]> {
  const events: WatchEvent[] = []
  for await (const batch of cluster.watch(resource, from, deadline())) {
    events.push(...batch)
    if (batch.some(isLast)) break
  }
  return events
}

function isNamed(event: WatchEvent, name: string): boolean {
  return event.type !== 'Bookmark' && event.object.name === name
}

function isNotBefore(version: string, earlier: string): boolean {
  const order = compareVersions(version, earlier)
  return order !== undefined && order >= 0
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => {
    ok(error instanceof ClusterError)
    equal(error.code, code)
    return true
  }
}
