/** Lists: when one is taken, what it publishes, and when it is not believed. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { ExchangeResponse } from '../../ports/exchange.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import type { Break } from '../../testing/rig/watcher-rig.ts'
import { answered, silence, WatcherRig } from '../../testing/rig/watcher-rig.ts'
import { connectionRecord } from './kind/marks.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const KIND = { group: '', kind: 'ConfigMap' }

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(objects: number, config: object = {}): Promise<void> {
  rig = new WatcherRig({ config })
  for (let index = 0; index < objects; index++) await rig.create(CONFIG_MAPS, `o${index}`)
  rig.start()
  await rig.synced()
  rig.forget()
}

async function relist(number: number): Promise<void> {
  await rig.askRelist(rig.watcher.status().clusterId ?? '', KIND, number)
  await rig.clock.advance(1_000)
}

function lists(): number {
  return rig.requests.filter((request) => request === 'LIST configmaps').length
}

/**
 * Answers lists of config maps, the first `times` of them; `undefined` leaves them to the server.
 */
function onList(times: number, answer: (path: string) => ExchangeResponse | undefined): Break {
  let left = times
  return ({ path }) => {
    const isList =
      path.includes('/configmaps?') &&
      !path.includes('watch') &&
      !path.includes('limit=1&') &&
      !path.endsWith('limit=1')
    if (!isList || left === 0) return undefined
    left--
    return answer(path)
  }
}

test('what `control` asks for is listed once, in full', async () => {
  await started(2)
  await relist(1)
  await rig.clock.advance(30_000)
  equal(lists(), 1)
  deepEqual((await rig.told('ConfigMap')).slice(5), [
    'SyncStarted',
    'ObjectUpdated o0',
    'ObjectUpdated o1',
    'SyncFinished',
  ])
})

test('a request is not done again after a restart, one that was not finished is', async () => {
  await started(2)
  await relist(1)
  await rig.clock.advance(10_000)
  await rig.stop()
  rig.forget()
  rig.start()
  await rig.synced()
  equal(lists(), 0)
  rig.broken = onList(1_000, () => answered(500, {}))
  await relist(2)
  await rig.clock.advance(10_000)
  await rig.crash()
  rig.broken = () => undefined
  rig.forget()
  rig.start()
  await rig.synced()
  equal(lists(), 1)
})

test('each kind is listed once an hour, in turn; what is unchanged counts as listed by its touch', async () => {
  await started(3)
  const kinds = rig.watcher.status().kinds.length
  await rig.clock.advance(62 * 60_000)
  const listed = rig.requests.filter((request) => /^LIST (?!apiservices)/.test(request))
  const perKind = new Map<string, number>()
  for (const request of listed) perKind.set(request, (perKind.get(request) ?? 0) + 1)
  equal(perKind.size, kinds - 1)
  ok([...perKind.values()].every((count) => count <= 2))
  deepEqual((await rig.told('ConfigMap')).slice(6, 9), ['SyncStarted', 'Touched 3', 'SyncFinished'])
  const touched = (await rig.events()).find((event) => event.type === 'Touched')
  ok(touched?.type === 'Touched' && touched.sync !== null)
})

test('a version that expired under a watch is relisted', async () => {
  // The turn of each kind once an hour comes no sooner.
  await started(2, { antiEntropyMs: 24 * 60 * 60_000 })
  let isOnce = true
  rig.broken = ({ path }) => {
    if (!path.includes('/configmaps?') || !path.includes('watch=') || !isOnce) return undefined
    isOnce = false
    return answered(200, `${JSON.stringify({ type: 'ERROR', object: gone })}\n`)
  }
  await rig.until(() => !isOnce, 'the server ends the watch')
  await rig.clock.advance(2_000)
  equal(lists(), 1)
  deepEqual((await rig.told('ConfigMap')).slice(5), ['SyncStarted', 'Touched 2', 'SyncFinished'])
})

const gone = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'Expired', code: 410 }
const notFound = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'NotFound',
  code: 404,
}
const initializing = { ...notFound, reason: 'TooManyRequests', code: 429 }
const failures: readonly (readonly [string, () => ExchangeResponse])[] = [
  ['a 500', () => answered(500, {})],
  ['a typed 404', () => answered(404, notFound)],
  ['an untyped 404', () => answered(404, '404 page not found', { 'content-type': 'text/plain' })],
  ['a 403', () => answered(403, { ...notFound, reason: 'Forbidden', code: 403 })],
  ['storage that is initializing', () => answered(429, initializing, { 'retry-after': '1' })],
  ['a page of a proxy', () => answered(200, '<html>', { 'content-type': 'text/html' })],
  [
    'a cut',
    () => {
      throw new ExchangeError('CUT', 'The connection was cut.')
    },
  ],
]

for (const [name, fail] of failures) {
  test(`a list that meets ${name} is never finished, and taken again after a wait`, async () => {
    await started(2)
    rig.broken = onList(3, fail)
    await relist(1)
    await rig.clock.advance(500)
    deepEqual((await rig.told('ConfigMap')).slice(5), [])
    ok(rig.kind('ConfigMap')?.reason)
    await rig.until(() => rig.kind('ConfigMap')?.state === 'watching', 'the list is complete')
    equal(lists(), 4)
    deepEqual((await rig.told('ConfigMap')).slice(5, 6), ['SyncStarted'])
    deepEqual((await rig.told('ConfigMap')).at(-1), 'SyncFinished')
  })
}

test('a list that breaks off on its way is never finished', async () => {
  await started(7, { listPageSize: 3 })
  let pages = 0
  rig.broken = onList(2, () => (++pages === 2 ? answered(500, {}) : undefined))
  await relist(1)
  const told = (): Promise<readonly string[]> => rig.told('ConfigMap')
  equal((await told()).filter((line) => line === 'SyncFinished').length, 1)
  equal((await told()).filter((line) => line === 'SyncStarted').length, 2)
  await rig.until(() => rig.kind('ConfigMap')?.state === 'watching', 'the list is complete')
  equal((await told()).filter((line) => line === 'SyncFinished').length, 2)
  equal((await told()).filter((line) => line === 'SyncStarted').length, 3)
})

test('other kinds go on while one cannot be listed', async () => {
  rig = new WatcherRig()
  rig.broken = onList(1_000_000, () => answered(429, initializing))
  rig.start()
  await rig.until(() => rig.watcher.status().kinds.length > 1, 'discovery answers')
  await rig.clock.advance(60_000)
  const states = rig.watcher.status().kinds.filter((kind) => kind.state !== 'watching')
  deepEqual(
    states.map((kind) => kind.kind),
    ['ConfigMap'],
  )
  await rig.create('/api/v1/namespaces/default/secrets', 's')
  await rig.clock.advance(0)
  equal((await rig.told('Secret')).at(-1), 'ObjectAdded s')
})

const emptied = (): ExchangeResponse =>
  answered(200, {
    kind: 'ConfigMapList',
    apiVersion: 'v1',
    metadata: { resourceVersion: rig.server.resourceVersion },
    items: [],
  })

test('a list that is suddenly empty is taken twice before it is finished, over another connection', async () => {
  await started(2)
  const purposes: string[] = []
  const empty = onList(1, emptied)
  rig.broken = (request) => {
    if (request.path.includes('/configmaps?limit=500')) purposes.push(request.purpose)
    return empty(request)
  }
  await relist(1)
  equal(lists(), 2)
  deepEqual(purposes, ['list', 'confirm'])
  deepEqual((await rig.told('ConfigMap')).slice(5), [
    'SyncStarted',
    'SyncStarted',
    'ObjectUpdated o0',
    'ObjectUpdated o1',
    'SyncFinished',
  ])
})

test('a list that is empty twice is believed', async () => {
  await started(2)
  rig.broken = onList(2, emptied)
  await relist(1)
  equal(lists(), 2)
  deepEqual((await rig.told('ConfigMap')).slice(5), ['SyncStarted', 'SyncStarted', 'SyncFinished'])
  equal(rig.kind('ConfigMap')?.objects, 0)
})

test('a watch that says nothing for three minutes is checked and opened again', async () => {
  await started(1)
  let mute = 0
  rig.broken = ({ path }) => {
    if (!path.includes('/configmaps?') || !path.includes('watch=')) return undefined
    mute++
    return { ...answered(200, ''), body: silence() }
  }
  await rig.until(() => mute === 1, 'the server ends the first watch')
  rig.forget()
  await rig.clock.advance(181_000)
  equal(mute, 2)
  ok(rig.requests.includes('CHECK configmaps'))
  rig.broken = () => undefined
  await rig.create(CONFIG_MAPS, 'missed')
  await rig.clock.advance(200_000)
  ok((await rig.told('ConfigMap')).includes('ObjectAdded missed'))
})

test('a kind whose lists hang keeps no other one from being listed in its turn', async () => {
  const hour = 3_600_000
  await started(0, { kinds: ['configmaps', 'pods', 'services', 'secrets'], antiEntropyMs: hour })
  rig.broken = ({ path }) =>
    path.includes('/configmaps?limit=500') ? { ...answered(200, ''), body: silence() } : undefined
  await relist(1)
  rig.forget()
  for (let passedMs = 0; passedMs < 3 * hour; passedMs += 60_000) await rig.clock.advance(60_000)
  for (const kind of ['pods', 'services', 'secrets']) {
    const times = rig.requests.filter((request) => request === `LIST ${kind}`).length
    ok(times >= 2, `${kind} was listed ${times} times in three hours`)
  }
})

test('a relist that is asked for while `control` takes nothing is not lost with a crash', async () => {
  await started(1)
  const cluster = rig.watcher.status().clusterId ?? ''
  // Whichever process wrote it: the watcher publishes the opposite, and after that record the graph
  // asks.
  const late = { cluster, number: 1, connected: false, why: 'late' }
  await rig.log.append('control', 0, [connectionRecord(rig.codec, late)])
  rig.stuck = 'control'
  await rig.askRelist(cluster, KIND, 1)
  await rig.clock.advance(12_000)
  await rig.crash()
  rig.stuck = null
  rig.start()
  await rig.synced()
  await rig.clock.advance(300_000)
  equal(lists(), 1)
})

test('what is vouched for fits into a record, however long its uids are', async () => {
  await started(0, { kinds: ['configmaps'] })
  const items = Array.from({ length: 400 }, (_, index) => ({
    metadata: {
      ...{ name: `o${index}`, namespace: 'default', resourceVersion: '1' },
      uid: `${index}${'€'.repeat(1_000)}`,
    },
  }))
  const list = { kind: 'ConfigMapList', apiVersion: 'v1', items }
  const metadata = { resourceVersion: '999999' }
  const isOfKind = (path: string): boolean => /configmaps\?limit=(500|1)$/.test(path)
  rig.broken = ({ path }) => (isOfKind(path) ? answered(200, { ...list, metadata }) : undefined)
  await relist(1)
  equal(rig.kind('ConfigMap')?.objects, 400)
  await rig.clock.advance(2 * 3_600_000)
  equal(rig.failure, undefined)
  ok((await rig.told('ConfigMap')).filter((told) => told.startsWith('Touched')).length > 1)
})
