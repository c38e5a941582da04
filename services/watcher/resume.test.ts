/** Starts, restarts and rewinds: their epochs, and where they resume. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import type { WatcherStarted } from '../../core/model/event.ts'
import { ExchangeError, type ExchangeResponse } from '../../ports/exchange.ts'
import { protectKey } from '../../ports/record/control-key.ts'
import { answered, WatcherRig } from '../../testing/rig/watcher-rig.ts'
import { DEFAULT_CONFIG } from './config.ts'
import { WatcherError } from './identity.ts'

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(options: ConstructorParameters<typeof WatcherRig>[0] = {}): Promise<void> {
  rig = new WatcherRig(options)
  await rig.create(CONFIG_MAPS, 'a')
  rig.start()
  await rig.synced()
}

async function restarted(): Promise<void> {
  rig.forget()
  rig.start()
  await rig.synced()
}

async function reigns(): Promise<readonly WatcherStarted[]> {
  const events = await rig.events()
  return events.filter((event): event is WatcherStarted => event.type === 'WatcherStarted')
}

/** Lists of collections that are watched; discovery lists APIServices by itself. */
function lists(): readonly string[] {
  return rig.requests.filter((request) => /^LIST (?!apiservices)/.test(request))
}

test('a restart in quiet makes no list', async () => {
  await started()
  await rig.clock.advance(10_000)
  await rig.stop()
  await restarted()
  deepEqual(lists(), [])
  const { kinds, counters } = rig.watcher.status()
  const checks = rig.requests.filter((request) => request.startsWith('CHECK '))
  equal(new Set(checks).size, kinds.length)
  // And one with each heartbeat.
  ok(checks.length <= kinds.length + counters.heartbeats, `${checks.length} checks`)
})

for (const how of ['stop', 'crash'] as const) {
  test(`what happened after a ${how} is told by the watch that goes on`, async () => {
    await started()
    await rig.clock.advance(10_000)
    await rig[how]()
    await rig.create(CONFIG_MAPS, 'b')
    await rig.remove(`${CONFIG_MAPS}/a`)
    await restarted()
    deepEqual(lists(), [])
    deepEqual((await rig.told('ConfigMap')).slice(-3), [
      'KindServed',
      'ObjectAdded b',
      'ObjectDeleted a',
    ])
  })
}

async function protect(subject: string, verb: 'protect' | 'unprotect' = 'protect'): Promise<void> {
  const rest = {
    kind: null,
    number: 1,
    connected: false,
    protection: null,
    mode: null,
    who: 'ann',
    why: '',
  }
  const value = rig.codec.encode({ type: 'Control', verb, cluster: '', ...rest })
  await rig.log.append('orders', 0, [{ key: protectKey('', subject), value }])
}

/** As many as `lists` may show. */
function watchedKinds(): number {
  return rig.watcher.status().kinds.filter(({ kind }) => kind !== 'APIService').length
}

async function labelsTold(): Promise<unknown> {
  const events = await rig.events()
  const last = events.findLast(
    (event) => 'object' in event && event.object?.kind === 'ConfigMap' && event.object.name === 'a',
  )
  return last !== undefined && 'object' in last ? last.object?.labels : undefined
}

test('a label that is protected from now on is told of everything, without a restart', async () => {
  await started()
  await rig.patch(`${CONFIG_MAPS}/a`, { metadata: { labels: { tier: 'gold', other: 'x' } } })
  await rig.clock.advance(10_000)
  deepEqual(await labelsTold(), [])
  rig.forget()
  await protect('label/tier')
  await rig.until(
    async () => (await labelsTold()) !== undefined && lists().length > 0,
    'it relists',
  )
  await rig.synced()
  deepEqual(await labelsTold(), [{ key: 'tier', value: 'gold' }])
  equal(lists().length, watchedKinds())
  equal(rig.failure, undefined)
})

test('what is protected by name alone has nothing listed again', async () => {
  await started()
  await rig.clock.advance(10_000)
  rig.forget()
  await protect('namespace/prod')
  await rig.clock.advance(10_000)
  deepEqual(lists(), [])
})

test('nobody goes on from what was told with other labels', async () => {
  await started()
  await rig.clock.advance(10_000)
  await rig.stop()
  await protect('annotation/keep')
  await restarted()
  equal(lists().length, watchedKinds())
  await rig.clock.advance(10_000)
  await rig.stop()
  await restarted()
  deepEqual(lists(), [])
})

test('a watermark covers only what the log has acknowledged', async () => {
  await started()
  await rig.clock.advance(10_000)
  const stood = (await rig.watermarks()).find((mark) => mark.kind === 'ConfigMap')
  rig.stuck = 'events'
  await rig.create(CONFIG_MAPS, 'b')
  await rig.clock.advance(70_000)
  ok(rig.kind('ConfigMap')?.resourceVersion !== stood?.resourceVersion)
  deepEqual(
    (await rig.watermarks()).find((mark) => mark.kind === 'ConfigMap'),
    stood,
  )
  await rig.crash()
  rig.stuck = null
  await restarted()
  ok((await rig.told('ConfigMap')).includes('ObjectAdded b'))
  deepEqual(lists(), [])
})

test('nothing is asked or told before it is acknowledged who watches', async () => {
  rig = new WatcherRig()
  rig.stuck = 'events'
  rig.start()
  await rig.clock.advance(30_000)
  // Whose cluster it is, and what its clock says; of no object.
  deepEqual([...new Set(rig.requests)], ['GET /api/v1/namespaces/kube-system'])
  equal(rig.watcher.status().connected, false)
  rig.stuck = null
  await rig.synced()
})

test('versions that the server has forgotten are listed anew', async () => {
  await started()
  await rig.clock.advance(10_000)
  await rig.stop()
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.create(CONFIG_MAPS, 'b')
  rig.server.compact()
  await restarted()
  equal(lists().filter((request) => request === 'LIST configmaps').length, 1)
  deepEqual((await rig.told('ConfigMap')).slice(-3), [
    'SyncStarted',
    'ObjectAdded b',
    'SyncFinished',
  ])
  equal((await reigns()).at(-1)?.clusterEpoch, 1)
})

test('each start has a higher epoch, whatever became of the one before', async () => {
  rig = new WatcherRig()
  for (let round = 0; round < 3; round++) {
    rig.start()
    await rig.until(async () => (await reigns()).length > round, 'it has started')
    await rig.crash()
  }
  rig.start()
  await rig.synced()
  const epochs = (await reigns()).map((reign) => reign.epoch)
  deepEqual(
    epochs,
    [...epochs].sort((a, b) => a - b),
  )
  equal(new Set(epochs).size, 4)
  const ofLast = (await rig.events()).filter((event) => 'epoch' in event).at(-1)
  equal(ofLast !== undefined && 'epoch' in ofLast && ofLast.epoch, epochs.at(-1))
})

test('nothing is told before its partition knows who watches', async () => {
  rig = new WatcherRig({ partitions: 3 })
  rig.start()
  await rig.synced()
  await rig.stop()
  await restarted()
  let epoch = 0
  for (const event of await rig.events()) {
    if (event.type === 'WatcherStarted') epoch = event.epoch
    else if ('epoch' in event) equal(event.epoch, epoch)
  }
  ok(epoch > 0)
})

test('a mark that a succeeded watcher wrote later is not believed', async () => {
  await started()
  await rig.stop()
  const [mark] = (await rig.watermarks()).filter((each) => each.kind === 'ConfigMap')
  ok(mark)
  const late = { ...mark, epoch: mark.epoch - 1, resourceVersion: '999' }
  const key = `${mark.cluster}//ConfigMap`
  await rig.log.append('watermarks', 0, [{ key, value: rig.codec.encode(late) }])
  await restarted()
  deepEqual(lists(), ['LIST configmaps'])
  equal((await reigns()).at(-1)?.clusterEpoch, 1)
})

test('a watcher that loses its lease stops telling and takes it again with a higher epoch', async () => {
  await started()
  const { epoch } = rig.watcher.status()
  rig.lease.revoke()
  await rig.until(() => rig.watcher.status().epoch > epoch, 'it reigns again')
  await rig.synced()
  equal((await reigns()).length, 2)
})

/** As after a restore of etcd: the same cluster, some writes ago. */
async function restored(writes: readonly string[]): Promise<void> {
  rig.server = rig.newServer(1)
  for (const name of writes) await rig.create(CONFIG_MAPS, name)
}

test('a version below where a watch stood is a restore: a new epoch of the cluster, and lists', async () => {
  await started()
  for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(10_000)
  await rig.stop()
  await restored(['a', 'b'])
  await restarted()
  const [before, , after] = await reigns()
  equal(before?.clusterEpoch, 1)
  equal(after?.clusterEpoch, 2)
  ok(after !== undefined && before !== undefined && after.epoch > before.epoch)
  ok(lists().includes('LIST configmaps'))
  deepEqual((await rig.told('ConfigMap')).slice(-4), [
    'SyncStarted',
    'ObjectAdded a',
    'ObjectAdded b',
    'SyncFinished',
  ])
  equal(rig.watcher.status().counters.rewinds, 1)
  await rig.stop()
  await restarted()
  equal((await reigns()).at(-1)?.clusterEpoch, 2)
  deepEqual(lists(), [])
})

test('a restore under a running watcher is noticed when its watches break', async () => {
  await started()
  for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(10_000)
  await restored(['a'])
  rig.cut()
  await rig.until(() => rig.watcher.status().clusterEpoch === 2, 'the restore is noticed')
  await rig.synced()
  deepEqual((await rig.told('ConfigMap')).slice(-3), [
    'SyncStarted',
    'ObjectAdded a',
    'SyncFinished',
  ])
})

test('a restore behind watches that hang on to what is no more is noticed within two beats', async () => {
  await started()
  for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(10_000)
  await restored(['a'])
  await rig.clock.advance(2 * DEFAULT_CONFIG.heartbeatMs)
  equal(rig.watcher.status().clusterEpoch, 2)
  await rig.synced()
  deepEqual((await rig.told('ConfigMap')).slice(-3), [
    'SyncStarted',
    'ObjectAdded a',
    'SyncFinished',
  ])
})

test('another server that counts its own versions hides no restore', async () => {
  const api = 'apiregistration.k8s.io/v1'
  const spec = { group: 'apps', version: 'v1', service: { name: 'other' } }
  const services = { kind: 'APIServiceList', apiVersion: api, items: [{ spec }] }
  const far = { metadata: { resourceVersion: '999999' }, items: [] }
  const elsewhere = (path: string): ExchangeResponse | undefined => {
    if (path.endsWith('/apiservices')) return answered(200, services)
    const { pathname, searchParams } = new URL(path, 'http://rig')
    const [, resource] = /^\/apis\/apps\/v1\/(\w+)$/.exec(pathname) ?? []
    if (resource === undefined) return undefined
    if (searchParams.has('watch')) return { ...answered(200, ''), body: silent() }
    const kind = resource === 'deployments' ? 'PartialObjectMetadataList' : ''
    return kind === '' ? undefined : answered(200, { kind, apiVersion: 'meta.k8s.io/v1', ...far })
  }
  rig = new WatcherRig()
  rig.broken = ({ path }) => elsewhere(path)
  await rig.create(CONFIG_MAPS, 'a')
  await rig.create(CONFIG_MAPS, 'b')
  rig.start()
  await rig.synced()
  equal(rig.kind('Deployment')?.resourceVersion, '999999')
  await restored([])
  await rig.clock.advance(2 * DEFAULT_CONFIG.heartbeatMs)
  equal(rig.watcher.status().clusterEpoch, 2)
})

test('a server that is too busy to say its version keeps its heartbeat while its watches hold', async () => {
  await started()
  const checks = () => rig.requests.filter((request) => request.startsWith('CHECK ')).length
  rig.broken = ({ path }) => (/limit=1(&|$)/.test(path) ? answered(429, {}) : undefined)
  const { heartbeats } = rig.watcher.status().counters
  const before = checks()
  await rig.clock.advance(6 * DEFAULT_CONFIG.heartbeatMs)
  ok(checks() > before)
  ok(rig.watcher.status().counters.heartbeats >= heartbeats + 5)
  ok(rig.watcher.status().connected)
  // Once its watches broke it may be another one.
  rig.cut()
  await rig.clock.advance(6 * DEFAULT_CONFIG.heartbeatMs)
  ok(!rig.watcher.status().connected)
})

test('a list that holds a uid whose deletion was seen is a restore, however far its version is', async () => {
  await started()
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(10_000)
  await restored(['a', 'b', 'c', 'd', 'e', 'f'])
  const { clusterId } = rig.watcher.status()
  await rig.askRelist(clusterId ?? '', { group: '', kind: 'ConfigMap' }, 1)
  await rig.until(() => rig.watcher.status().clusterEpoch === 2, 'the restore is noticed')
  await rig.synced()
  equal(rig.kind('ConfigMap')?.objects, 6)
})

test('another cluster behind the same name ends the watcher, and the log is told', async () => {
  await started()
  rig.server = rig.newServer(2)
  await rig.until(() => rig.failure !== undefined, 'the watcher ends')
  ok(rig.failure instanceof WatcherError)
  equal(rig.failure.code, 'IDENTITY_CHANGED')
  equal(rig.watcher.status().connected, false)
  const last = (await rig.control()).at(-1)
  equal(last?.connected, false)
  const clusterIds = new Set(
    (await rig.events()).flatMap((e) => ('cluster' in e ? [e.cluster] : [])),
  )
  equal(clusterIds.size, 1)
})

const LOOKS = [
  { what: 'a beat asks for its version', path: /limit=1(&|$)/, begin: () => undefined },
  { what: 'a watch goes on', path: /limit=1(&|$)/, begin: () => rig.cut(), heartbeatMs: 60_000 },
  {
    what: 'it is listed',
    path: /configmaps\?limit=500/,
    begin: () =>
      rig.askRelist(rig.watcher.status().clusterId ?? '', { group: '', kind: 'ConfigMap' }, 1),
  },
]
const SILENT = [
  { how: '', unanswered: 0 },
  { how: ', though it does not say at first who it is', unanswered: 10 },
]
const COMING = LOOKS.flatMap((look) => SILENT.map((silent) => ({ ...look, ...silent })))
for (const { what, path, begin, how, unanswered, ...config } of COMING) {
  test(`another cluster that comes in between just before ${what} is no restore${how} (F30)`, async () => {
    await started({ config })
    for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
    await rig.clock.advance(10_000)
    const other = rig.newServer(2)
    let left = unanswered
    rig.broken = (request) => {
      if (path.test(request.path)) rig.server = other
      const isAsked = rig.server === other && request.path.endsWith('/kube-system')
      return isAsked && left-- > 0 ? answered(503, {}) : undefined
    }
    // A watch has just delivered an event.
    await rig.create(CONFIG_MAPS, 'e')
    await begin()
    await rig.until(() => rig.failure !== undefined, 'the watcher ends')
    ok(rig.failure instanceof WatcherError)
    equal(rig.failure.code, 'IDENTITY_CHANGED')
    deepEqual(new Set((await rig.control()).map(({ number }) => number)), new Set([1]))
  })
}

test('a restore that is seen once is not forgotten while the server neither says who it is nor its version', async () => {
  await started()
  for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(10_000)
  // A watch has just delivered an event, and stays connected to a server that no longer exists.
  await rig.create(CONFIG_MAPS, 'e')
  rig.server = rig.newServer(1)
  await rig.create(CONFIG_MAPS, 'a')
  let next: 'version' | 'identity' | 'nothing' = 'version'
  rig.broken = ({ path }) => {
    if (/limit=1(&|$)/.test(path)) {
      if (next !== 'version') return answered(429, {})
      next = 'identity'
    }
    if (!path.endsWith('/kube-system') || next !== 'identity') return undefined
    next = 'nothing'
    return answered(503, {})
  }
  await rig.until(() => next === 'nothing', 'it was seen')
  const { heartbeats } = rig.watcher.status().counters
  await rig.clock.advance(30_000)
  equal(rig.watcher.status().counters.heartbeats, heartbeats)
  equal(rig.watcher.status().connected, false)
  rig.broken = () => undefined
  await rig.until(() => rig.watcher.status().clusterEpoch === 2, 'it is told')
})

test('a cluster that cannot be seen has no heartbeat, and the log is told until it can again', async () => {
  await started()
  rig.broken = () => {
    throw new ExchangeError('UNREACHABLE', 'No route.')
  }
  rig.cut()
  await rig.clock.advance(20_000)
  equal(rig.watcher.status().connected, false)
  equal((await rig.control()).at(-1)?.connected, false)
  const beats = rig.watcher.status().counters.heartbeats
  await rig.clock.advance(60_000)
  equal(rig.watcher.status().counters.heartbeats, beats)
  rig.broken = () => undefined
  await rig.until(() => rig.watcher.status().connected, 'it is back')
  equal((await rig.control()).at(-1)?.connected, true)
})

test('a cluster that cannot be reached at first is waited for', async () => {
  rig = new WatcherRig()
  rig.broken = () => {
    throw new ExchangeError('UNREACHABLE', 'No route.')
  }
  rig.start()
  await rig.clock.advance(60_000)
  equal(rig.watcher.status().clusterId, null)
  ok(rig.watcher.status().reason.includes('No route'))
  rig.broken = () => undefined
  await rig.synced()
})

test('a heartbeat tells how long ago each kind was heard of', async () => {
  await started()
  await rig.clock.advance(12_000)
  const beats = (await rig.events()).filter((event) => event.type === 'Heartbeat')
  const ages = beats.map((beat) => beat.kinds.find(({ kind }) => kind === 'Pod')?.ageMs ?? 0)
  const last = ages.at(-1) ?? 0
  ok(last >= 5_000)
  equal(last - (ages.at(-2) ?? 0), 5_000)
  equal(beats.at(-1)?.kinds.length, rig.watcher.status().kinds.length)
})

test('the connection is told again within a minute when control loses its end (F39)', async () => {
  await started()
  await rig.clock.advance(20_000)
  rig.log.cutOff('control', 0, 0n)
  deepEqual(await rig.control(), [])
  for (let seconds = 0; seconds < 61; seconds += 5) await rig.clock.advance(5_000)
  const last = (await rig.control()).at(-1)
  deepEqual([last?.verb, last?.connected, last?.number], ['epoch', true, 1])
})

async function* silent(): AsyncGenerator<Uint8Array> {
  await new Promise(() => undefined)
}

/** The server is set back to where it was, and written on. */
async function setBack(writes: readonly string[]): Promise<void> {
  rig.server = rig.newServer(1)
  for (const name of writes) await rig.create(CONFIG_MAPS, name)
}

test('what is told anew after a restore begins no other epoch of the cluster', async () => {
  await started()
  for (const name of ['b', 'c', 'd']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(10_000)
  await setBack(['a'])
  rig.cut()
  await rig.until(() => rig.watcher.status().clusterEpoch === 2, 'the restore is noticed')
  await rig.synced()
  await rig.clock.advance(10_000)
  await protect('label/precious')
  await rig.clock.advance(10_000)
  await rig.synced()
  equal(rig.watcher.status().clusterEpoch, 2)
})

test('a restore that was found is not forgotten with the lease', async () => {
  await started()
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(10_000)
  // No version shows it: a list finds an object whose deletion was observed.
  await setBack(['a', 'b', 'c', 'd', 'e', 'f'])
  const { clusterId } = rig.watcher.status()
  await rig.askRelist(clusterId ?? '', { group: '', kind: 'ConfigMap' }, 1)
  await rig.until(() => rig.watcher.status().counters.rewinds > 0, 'the restore is found')
  rig.lease.revoke()
  await rig.until(() => rig.watcher.status().clusterEpoch === 2, 'another reign begins')
  await rig.synced()
  equal(rig.watcher.status().counters.rewinds, 1)
  // Reapers know before any watcher holds the lease again.
  const said = (await rig.control()).filter(({ verb, number }) => verb === 'epoch' && number === 2)
  equal(said[0]?.connected, false)
  equal(said[0]?.why, 'the cluster went back in time')
})

test('an empty list is taken twice also after a restart', async () => {
  await started()
  await rig.clock.advance(10_000)
  await rig.stop()
  await restarted()
  rig.forget()
  let lies = 1
  rig.broken = ({ path }) => {
    if (!/configmaps\?limit=500/.test(path) || lies-- <= 0) return undefined
    const { resourceVersion } = rig.kind('ConfigMap') ?? {}
    const empty = { kind: 'PartialObjectMetadataList', apiVersion: 'meta.k8s.io/v1', items: [] }
    return answered(200, { ...empty, metadata: { resourceVersion } })
  }
  const { clusterId } = rig.watcher.status()
  await rig.askRelist(clusterId ?? '', { group: '', kind: 'ConfigMap' }, 1)
  await rig.clock.advance(10_000)
  equal(lists().filter((each) => each === 'LIST configmaps').length, 2)
  equal(rig.kind('ConfigMap')?.objects, 1)
})
