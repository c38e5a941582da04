/**
 * The archive of observed deletions, over a real API and a real log: what is in it, and what is
 * published only after it.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import type { Archived, ArchiveGap } from '../../../ports/record/service-record.ts'
import { openArchiveKey } from '../../../runtime/archive/archive-key.ts'
import { ArchiveRoom } from '../../../runtime/archive/archive-room.ts'
import { Cuts } from '../../../runtime/shares/cuts.ts'
import { answered, WatcherRig } from '../../../testing/rig/watcher-rig.ts'
import type { ArchivedKinds } from './deletion-archive.ts'

const MIB = 1024 ** 2
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const SECRETS = '/api/v1/namespaces/default/secrets'
const OWNER = { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: 'u' }
const MAPS: ArchivedKinds = { kinds: new Set(['configmaps']), secrets: false, key: undefined }

const folder = mkdtempSync(join(tmpdir(), 'deletions-'))
after(() => rmSync(folder, { recursive: true }))

let rig: WatcherRig
afterEach(() => rig.stop())

async function started(archived: ArchivedKinds, config = {}): Promise<void> {
  rig = new WatcherRig({ archived, config })
  rig.start()
  await rig.synced()
}

async function deletedTold(): Promise<readonly string[]> {
  return (await rig.told('ConfigMap')).filter((line) => line.startsWith('ObjectDeleted'))
}

function counts(): readonly number[] {
  const { archived, unarchived } = rig.watcher.status().counters
  return [archived, unarchived]
}

test('the last state of what anybody deletes of a listed kind is archived', async () => {
  await started(MAPS)
  const metadata = { ownerReferences: [OWNER], annotations: { 'example.com/a': 'b' } }
  await rig.create(CONFIG_MAPS, 'a', { metadata, data: { color: 'red' } })
  await rig.create(SECRETS, 'other')
  await rig.clock.advance(0)
  await rig.patch(`${CONFIG_MAPS}/a`, { data: { color: 'blue' } })
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.remove(`${SECRETS}/other`)
  await rig.clock.advance(2_000)
  const records = await rig.archive()
  equal(records.length, 1)
  const [record] = records
  ok(record !== undefined)
  const told = (await rig.events()).find(
    (event) => event.type === 'ObjectDeleted' && event.object.name === 'a',
  )
  ok(told?.type === 'ObjectDeleted')
  const { uid, resourceVersion, createdAt } = told.object
  deepEqual(
    [record.name, record.uid, record.resourceVersion, record.createdAt, record.command],
    ['a', uid, resourceVersion, createdAt, ''],
  )
  deepEqual(
    record.ownerReferences.map((each) => each.uid),
    ['u'],
  )
  const body = JSON.parse(Buffer.from(record.piece).toString())
  deepEqual(
    [body.kind, body.data, body.metadata.annotations, 'managedFields' in body.metadata],
    ['ConfigMap', { color: 'blue' }, { 'example.com/a': 'b' }, false],
  )
  deepEqual(counts(), [1, 0])
})

test('a deletion is published only once it is archived, also by the watcher after a crash', async () => {
  await started(MAPS)
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(10_000)
  rig.stuck = 'archive'
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(20_000)
  deepEqual(await deletedTold(), [])
  await rig.crash()
  rig.stuck = null
  rig.start()
  await rig.synced()
  deepEqual(
    (await rig.archive()).map(({ name }) => name),
    ['a'],
  )
  deepEqual(await deletedTold(), ['ObjectDeleted a'])
})

test('a deletion that waited for the archive says how old it is', async () => {
  await started(MAPS)
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(0)
  rig.stuck = 'archive'
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(60_000)
  rig.stuck = null
  await rig.clock.advance(10_000)
  const [age = 0] = (await rig.events()).flatMap((event) =>
    event.type === 'ObjectDeleted' ? [event.ageMs] : [],
  )
  ok(age >= 60_000 && age <= 70_000, `${age}`)
})

test('an archive that takes nothing for longer than any watch holds up its own kinds alone', async () => {
  await started(MAPS)
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(0)
  rig.stuck = 'archive'
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(600_000)
  await rig.create(SECRETS, 'other')
  await rig.clock.advance(2_000)
  deepEqual(await deletedTold(), [])
  ok((await rig.told('Secret')).includes('ObjectAdded other'))
  rig.stuck = null
  await rig.clock.advance(60_000)
  deepEqual(await deletedTold(), ['ObjectDeleted a'])
  ok((await rig.archive()).some(({ name }) => name === 'a'))
})

test('what a list finds missing is counted and logged as not archived', async () => {
  await started(MAPS)
  for (const name of ['a', 'b', 'c']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(0)
  const expired = { kind: 'Status', apiVersion: 'v1', code: 410, reason: 'Expired' }
  rig.broken = ({ path }) => {
    const isWatch = path.includes('/configmaps?') && path.includes('watch=true')
    return isWatch ? answered(410, expired) : undefined
  }
  rig.cut()
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(10_000)
  rig.broken = () => undefined
  await rig.clock.advance(60_000)
  deepEqual(counts(), [0, 1])
  const note = rig.notes.find(({ message }) => message.includes('not archived'))
  deepEqual(note?.fields, { group: '', kind: 'ConfigMap', count: 1 })
  await rig.remove(`${CONFIG_MAPS}/b`)
  await rig.clock.advance(0)
  deepEqual(counts(), [1, 1])
})

test('a deletion that a relist came before is archived from the events that the server still has', async () => {
  await started(MAPS)
  for (const name of ['a', 'b']) await rig.create(CONFIG_MAPS, name)
  await rig.clock.advance(0)
  rig.broken = ({ path }) => {
    if (!path.includes('/configmaps?')) return undefined
    if (path.includes('watch=true')) return answered(503, {})
    if (path.includes('limit=500')) rig.broken = () => undefined
    return undefined
  }
  rig.cut()
  await rig.remove(`${CONFIG_MAPS}/a`)
  const cluster = rig.watcher.status().clusterId ?? ''
  await rig.askRelist(cluster, { group: '', kind: 'ConfigMap' }, 1)
  await rig.clock.advance(60_000)
  deepEqual(counts(), [1, 0])
  deepEqual(
    (await rig.archive()).map(({ name }) => name),
    ['a'],
  )
  deepEqual(await deletedTold(), [])
  await rig.remove(`${CONFIG_MAPS}/b`)
  await rig.clock.advance(0)
  deepEqual(await deletedTold(), ['ObjectDeleted b'])
})

test('an archive that takes nothing of what a relist found missing holds up no list of another kind', async () => {
  await started(MAPS, { concurrentLists: 1 })
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(0)
  rig.broken = ({ path }) => {
    if (!path.includes('/configmaps?')) return undefined
    if (path.includes('watch=true')) return answered(503, {})
    if (path.includes('limit=500')) rig.broken = () => undefined
    return undefined
  }
  rig.stuck = 'archive'
  rig.cut()
  await rig.remove(`${CONFIG_MAPS}/a`)
  const cluster = rig.watcher.status().clusterId ?? ''
  await rig.askRelist(cluster, { group: '', kind: 'ConfigMap' }, 1)
  await rig.clock.advance(120_000)
  const before = (await rig.told('Secret')).filter((line) => line === 'SyncFinished').length
  await rig.askRelist(cluster, { group: '', kind: 'Secret' }, 2)
  await rig.clock.advance(120_000)
  const syncs = (await rig.told('Secret')).filter((line) => line === 'SyncFinished').length
  equal(syncs, before + 1)
  rig.stuck = null
  await rig.clock.advance(120_000)
  deepEqual(
    (await rig.archive()).map(({ name }) => name),
    ['a'],
  )
})

test('what a relist found missing is archived by the next watcher where this one ends before', async () => {
  await started(MAPS)
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(10_000)
  rig.broken = ({ path }) => {
    if (!path.includes('/configmaps?')) return undefined
    if (path.includes('watch=true')) return answered(503, {})
    if (path.includes('limit=500')) rig.broken = () => undefined
    return undefined
  }
  rig.stuck = 'archive'
  rig.cut()
  await rig.remove(`${CONFIG_MAPS}/a`)
  const cluster = rig.watcher.status().clusterId ?? ''
  await rig.askRelist(cluster, { group: '', kind: 'ConfigMap' }, 1)
  await rig.clock.advance(20_000)
  await rig.crash()
  rig.stuck = null
  rig.start()
  await rig.synced()
  deepEqual(
    (await rig.archive()).map(({ name }) => name),
    ['a'],
  )
})

test('kinds to be archived that are not served are named, where all kinds are watched', async () => {
  await started({ ...MAPS, kinds: new Set(['configmaps', 'deployments.app']) })
  match(rig.watcher.status().reason, /not served: deployments\.app \(deployments\.apps\?\)/)
})

test('what two kinds wait for the archive at the same time is one wait', async () => {
  await started({ ...MAPS, kinds: new Set(['configmaps', 'services', 'serviceaccounts']) })
  const paths = ['configmaps', 'services', 'serviceaccounts'].map(
    (each) => `/api/v1/namespaces/default/${each}`,
  )
  for (const path of paths) await rig.create(path, 'a')
  await rig.clock.advance(0)
  rig.stuck = 'archive'
  for (const path of paths) await rig.remove(`${path}/a`)
  await rig.clock.advance(60_000)
  rig.stuck = null
  await rig.clock.advance(10_000)
  const ages = (await rig.events()).flatMap((event) =>
    event.type === 'ObjectDeleted' ? [event.ageMs] : [],
  )
  equal(ages.length, 3)
  for (const age of ages) ok(age >= 60_000 && age <= 70_000, `${ages}`)
})

test('an archive that refuses what is appended holds up its own kinds alone, and says why', async () => {
  await started({ ...MAPS, kinds: new Set(['configmaps', 'services']) })
  await rig.create(CONFIG_MAPS, 'a')
  await rig.clock.advance(0)
  rig.stuck = 'archive'
  rig.stuckBy = 'INVALID'
  await rig.remove(`${CONFIG_MAPS}/a`)
  await rig.clock.advance(60_000)
  await rig.create(SECRETS, 'other')
  await rig.clock.advance(2_000)
  equal(rig.failure, undefined)
  deepEqual(await deletedTold(), [])
  ok((await rig.told('Secret')).includes('ObjectAdded other'))
  deepEqual(
    ['ConfigMap', 'Service', 'Secret'].map((kind) => rig.kind(kind)?.reason),
    ['INVALID: archive takes nothing for now.', '', ''],
  )
  equal(rig.notes.filter(({ message }) => message.includes('wait for the archive')).length, 1)
  rig.stuck = null
  await rig.clock.advance(10_000)
  deepEqual(await deletedTold(), ['ObjectDeleted a'])
  equal(rig.kind('ConfigMap')?.reason, '')
  equal((await rig.archive()).length, 1)
})

function roomOf(mostBytes: number, leftBytes = mostBytes): ArchiveRoom {
  const clock = new ManualClock()
  return new ArchiveRoom({
    disk: () => ({ mostBytes, leftBytes }),
    ...{ keepMs: 86_400_000, clock, cuts: new Cuts(clock) },
  })
}

async function gaps(): Promise<readonly ArchiveGap[]> {
  const { entries } = await rig.log.read('archive', 0, 0n, { limit: 1_000, waitMs: 0 })
  return entries.flatMap(({ value }) => {
    const record = value === null ? undefined : rig.codec.decode(value)
    return record?.type === 'ArchiveGap' ? [record] : []
  })
}

test('T3: a namespace that deletes large objects without end is not archived any more, and others are', async () => {
  const room = roomOf(16 * MIB)
  await started({ ...MAPS, room })
  const evil = '/api/v1/namespaces/evil/configmaps'
  const data = { text: 'x'.repeat(MIB) }
  await rig.create('/api/v1/namespaces', 'evil')
  for (let index = 0; index < 20; index++) {
    await rig.create(evil, `large-${index}`, { data })
    await rig.clock.advance(0)
    await rig.remove(`${evil}/large-${index}`)
    await rig.clock.advance(1_000)
  }
  await rig.create(CONFIG_MAPS, 'precious')
  await rig.clock.advance(0)
  await rig.remove(`${CONFIG_MAPS}/precious`)
  await rig.clock.advance(2_000)
  const names = new Set((await objects()).map(({ name }) => name))
  ok(names.has('precious'))
  // Never more than is left for all others; of 16 objects of a MiB that is less than half.
  equal(names.size, 1 + 7)
  deepEqual(counts(), [8, 13])
  equal((await deletedTold()).length, 21)
  // The first one at once, what follows an hour later.
  const [gap, another] = await gaps()
  deepEqual([gap?.namespace, gap?.count, another], ['evil', 1, undefined])
  await rig.clock.advance(3_600_000)
  await rig.create(evil, 'later', { data })
  await rig.clock.advance(0)
  await rig.remove(`${evil}/later`)
  await rig.clock.advance(2_000)
  deepEqual(
    (await gaps()).map(({ count }) => count),
    [1, 13],
  )
  const [check] = room.checks(() => 'north')
  match(
    check?.state === 'warning' ? check.reason : '',
    /having its share .*: north\/evil \(14 since/,
  )
})

test('while there is no room for anybody, deletions are published and not archived', async () => {
  let leftBytes = 0
  const clock = new ManualClock()
  const disk = () => ({ mostBytes: 16 * MIB, leftBytes })
  const room = new ArchiveRoom({ disk, keepMs: 86_400_000, clock, cuts: new Cuts(clock) })
  await started({ ...MAPS, room })
  for (const name of ['a', 'b', 'c']) {
    leftBytes = name === 'c' ? 8 * MIB : 0
    await rig.create(CONFIG_MAPS, name)
    await rig.clock.advance(0)
    await rig.remove(`${CONFIG_MAPS}/${name}`)
    await rig.clock.advance(2_000)
  }
  deepEqual(await deletedTold(), ['ObjectDeleted a', 'ObjectDeleted b', 'ObjectDeleted c'])
  deepEqual(
    (await objects()).map(({ name }) => name),
    ['c'],
  )
  deepEqual(counts(), [1, 2])
  equal((await gaps()).length, 1)
})

/** Whole ones, by their last piece. */
async function objects(): Promise<readonly Archived[]> {
  return (await rig.archive()).filter(({ type, last }) => type === 'Archived' && last)
}

test('Secrets are archived encrypted, or not at all', async () => {
  const file = join(folder, 'key')
  writeFileSync(file, Buffer.alloc(32, 1), { mode: 0o600 })
  const key = openArchiveKey(file)
  const kinds = new Set(['secrets'])
  for (const [archived, expected] of [
    [{ kinds, secrets: true, key }, [key.id]],
    [{ kinds, secrets: false, key }, []],
    [{ kinds, secrets: true, key: undefined }, []],
  ] as const) {
    await started(archived)
    await rig.create(SECRETS, 'token', { data: { token: 'c2VjcmV0' } })
    await rig.clock.advance(0)
    await rig.remove(`${SECRETS}/token`)
    await rig.clock.advance(2_000)
    const records = await rig.archive()
    deepEqual(
      records.map(({ keyId }) => keyId),
      expected,
    )
    for (const { piece } of records) ok(!Buffer.from(piece).toString().includes('c2VjcmV0'))
    await rig.stop()
  }
})
