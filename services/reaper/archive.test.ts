/**
 * The archive's place in the life of a delete: read, appended, acknowledged, and only then the
 * DELETE. Over the Kubernetes adapter, on an API server in memory.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import type { Command } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ExchangeResponse } from '../../ports/exchange.ts'
import { LogError } from '../../ports/log.ts'
import type { Archived } from '../../ports/record/service-record.ts'
import { openArchiveKey } from '../../runtime/archive/archive-key.ts'
import { type ArchiveSettings, openedPieces } from '../../runtime/archive/archive-record.ts'
import { ArchiveRoom } from '../../runtime/archive/archive-room.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { GONE, GONE_CLAIM, World } from '../../testing/rig/reaper-world.ts'
import type { ReaperConfig } from './config.ts'

const PLAIN: ArchiveSettings = { secrets: false, key: undefined }
const folder = mkdtempSync(join(tmpdir(), 'archive-'))
after(() => rmSync(folder, { recursive: true }))

/**
 * Carries the command out and returns its result, and the requests it took besides the proof of
 * identity.
 */
async function reapOne(
  world: World,
  command: Command,
  { archive = PLAIN, ...config }: Partial<ReaperConfig> & { archive?: ArchiveSettings } = {},
): Promise<{ shown: string; calls: Readonly<Record<string, number>> }> {
  world.calls()
  await world.command(command)
  const running = world.start(config, archive)
  const [result] = await world.settled(1)
  await running.stop()
  const { outcome, reason } = result as CommandSettled
  return { shown: reason === '' ? outcome : `${outcome}: ${reason}`, calls: world.calls() }
}

async function archived(world: World): Promise<readonly Archived[]> {
  const { entries } = await world.log.read('archive', 0, 0n, { limit: 1_000, waitMs: 0 })
  return entries.map(({ key, value }) => {
    const record = world.codec.decode(value ?? new Uint8Array()) as Archived
    equal(key, `${record.cluster}/${record.uid}`)
    return record
  })
}

function textOf(records: readonly Archived[]): string {
  return Buffer.concat(records.map(({ piece }) => piece)).toString()
}

function answer(status: number, text: string): ExchangeResponse {
  async function* body(): AsyncIterable<Uint8Array> {
    yield Buffer.from(text)
  }
  return { status, headers: { 'content-type': 'application/json' }, body: body() }
}

async function secret(world: World): Promise<Command> {
  const metadata = {
    name: 'token',
    ownerReferences: [GONE],
    annotations: { 'example.com/applied': 'c2VjcmV0' },
  }
  const body = { metadata, data: { token: 'c2VjcmV0' } }
  await world.request('POST', '/api/v1/namespaces/default/secrets', body)
  const made = await world.read('token', { kind: 'Secret', resource: 'secrets' })
  return world.deleteOf(made)
}

test('has the whole object before it goes, with one call more', async () => {
  const world = await World.open()
  await world.dependent('pod')
  await world.patch('pod', { annotations: { team: 'a' } })
  const pod = await world.read('pod')
  const { shown, calls } = await reapOne(world, world.deleteOf(pod))
  equal(shown, 'done')
  deepEqual(calls, { GET: 1, DELETE: 1 })
  const records = await archived(world)
  equal(records.length, 1)
  const [record] = records as [Archived]
  deepEqual(
    [record.uid, record.resourceVersion, record.content, record.keyId, record.last],
    [pod.uid, pod.resourceVersion, 'whole', '', true],
  )
  const object = JSON.parse(textOf(records))
  deepEqual(object.metadata.ownerReferences, [GONE])
  deepEqual(object.metadata.annotations, { team: 'a' })
  deepEqual([object.kind, 'managedFields' in object.metadata], ['ConfigMap', false])
})

test('takes numbers as they are spelled', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const stop = world.server.inject(async (request) => {
    if (request.method !== 'GET' || !request.path.endsWith('/pod')) return undefined
    const { uid, resourceVersion } = pod
    const metadata = `{"name":"pod","namespace":"default","uid":"${uid}","resourceVersion":"${resourceVersion}"}`
    return answer(
      200,
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":${metadata},"n":9007199254740993,"e":1.0}`,
    )
  })
  const { shown } = await reapOne(world, world.deleteOf(pod))
  equal(shown, 'done')
  stop()
  match(textOf(await archived(world)), /"n":9007199254740993,"e":1\.0/)
})

test('asks for nothing in a dry run', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const { shown, calls } = await reapOne(world, world.deleteOf(pod), { mode: 'dry-run' })
  equal(shown, 'blocked: it would be carried out, but this reaper makes dry runs only (--mode)')
  deepEqual(calls, { DELETE: 1 })
  deepEqual(await archived(world), [])
})

test('says no while the log takes nothing', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const append = world.log.append.bind(world.log)
  let tries = 0
  world.log.append = async (topic, partition, records) => {
    if (topic !== 'archive') return await append(topic, partition, records)
    tries++
    throw new LogError('UNAVAILABLE', 'The log cannot be reached: wait')
  }
  const { shown, calls } = await reapOne(world, world.deleteOf(pod), { retries: 2 })
  equal(shown, 'blocked: not archived, so not deleted: The log cannot be reached: wait')
  equal(tries, 3)
  equal(calls['DELETE'], undefined)
  ok(world.exists('pod'))
})

test('says no while the object cannot be read', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  world.server.inject(async (request) => {
    if (request.method !== 'GET' || !request.path.endsWith('/pod')) return undefined
    return answer(403, '{"kind":"Status","apiVersion":"v1","code":403}')
  })
  const { shown } = await reapOne(world, world.deleteOf(pod))
  match(shown, /^blocked: not archived, so not deleted: it could not be read: 403/)
  ok(world.exists('pod'))
})

test('has the version that goes, also of an object that was written meanwhile', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  await world.patch('pod', { labels: { a: 'b' } })
  const now = await world.read('pod')
  const { shown } = await reapOne(world, world.deleteOf(pod))
  equal(shown, 'done')
  const records = await archived(world)
  deepEqual(
    records.map(({ resourceVersion }) => resourceVersion),
    [now.resourceVersion],
  )
  deepEqual(JSON.parse(textOf(records)).metadata.labels, { a: 'b' })
})

test('goes back to the gate when the object is another by now', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  await world.patch('pod', { ownerReferences: [GONE, { ...GONE, uid: 'u-2' }] })
  const { shown } = await reapOne(world, world.deleteOf(pod))
  equal(shown, 'stale: changed since it was judged')
  deepEqual(await archived(world), [])
})

test('does not outrun a pause that was pressed while it wrote', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const append = world.log.append.bind(world.log)
  world.log.append = async (topic, partition, records) => {
    const offset = await append(topic, partition, records)
    if (topic !== 'archive') return offset
    await world.control('pause', { verb: 'pause' })
    // Until the reaper has read it.
    await world.log.read('orders', 0, 0n, { limit: 10, waitMs: 0 })
    for (let turns = 0; turns < 20; turns++) await Promise.resolve()
    return offset
  }
  const { shown } = await reapOne(world, world.deleteOf(pod))
  equal(shown, 'blocked: paused')
  ok(world.exists('pod'))
})

test('spares what is protected by a label that people chose while it wrote, and that it had not read', async () => {
  const world = await World.open()
  await world.dependent('pod')
  await world.patch('pod', { labels: { tier: 'gold' } })
  const pod = await world.read('pod')
  const append = world.log.append.bind(world.log)
  world.log.append = async (topic, partition, records) => {
    const offset = await append(topic, partition, records)
    if (topic !== 'archive') return offset
    await world.protect('label/tier=gold')
    await world.clock.sleep(3_000)
    return offset
  }
  const { shown, calls } = await reapOne(world, world.deleteOf(pod))
  match(shown, /^stale: .*label\/tier=gold/)
  equal(calls['DELETE'], undefined)
  ok(world.exists('pod'))
})

test('of one that was killed behind its archive, the next one archives and deletes', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const append = world.log.append.bind(world.log)
  let isKept = false
  world.log.append = async (topic, partition, records) => {
    const offset = await append(topic, partition, records)
    if (topic !== 'archive') return offset
    isKept = true
    return await new Promise<bigint>(() => undefined)
  }
  await world.command(world.deleteOf(pod))
  world.start({}, PLAIN)
  await world.until(() => isKept)
  ok(world.exists('pod'))
  world.kill()
  const running = world.start({}, PLAIN)
  await world.settled(1)
  await running.stop()
  equal(world.exists('pod'), false)
  equal((await archived(world)).length, 2)
})

test('proves absent owners once before and not again behind it', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const command = world.deleteOf(pod, {
    evidence: 'missing',
    freshness: 'recheck',
    owners: [GONE_CLAIM],
  })
  const { shown, calls } = await reapOne(world, command)
  equal(shown, 'done')
  deepEqual(calls, { GET: 2, DELETE: 1 })
})

test('splits what is larger than a record', async () => {
  const world = await World.open()
  const metadata = { name: 'large', ownerReferences: [GONE] }
  const body = { metadata, data: { text: 'x'.repeat(1_400_000) } }
  await world.request('POST', '/api/v1/namespaces/default/configmaps', body)
  const { shown } = await reapOne(world, world.deleteOf(await world.read('large')))
  equal(shown, 'done')
  const records = await archived(world)
  deepEqual(
    records.map(({ chunk, last }) => [chunk, last]),
    [
      [0, false],
      [1, false],
      [2, true],
    ],
  )
  equal(JSON.parse(textOf(records)).data.text.length, 1_400_000)
})

test('has of a Secret its metadata only, and no annotation, unless asked', async () => {
  const world = await World.open()
  const { shown } = await reapOne(world, await secret(world))
  equal(shown, 'done')
  const records = await archived(world)
  equal(records[0]?.content, 'metadata')
  const text = textOf(records)
  ok(!text.includes('c2VjcmV0'))
  equal(JSON.parse(text).metadata.name, 'token')
})

test('encrypts with a key, bound to what it is about', async () => {
  const file = join(folder, 'key')
  writeFileSync(file, Buffer.alloc(32, 7), { mode: 0o600 })
  const key = openArchiveKey(file)
  const world = await World.open()
  const command = await secret(world)
  await reapOne(world, command, { archive: { secrets: true, key } })
  const [record] = (await archived(world)) as [Archived]
  deepEqual([record.content, record.keyId], ['whole', key.id])
  ok(!textOf([record]).includes('c2VjcmV0'))
  const opened = openedPieces(record, record.piece, key) ?? new Uint8Array()
  equal(JSON.parse(Buffer.from(opened).toString()).data.token, 'c2VjcmV0')
  equal(openedPieces({ ...record, uid: 'another' }, record.piece, key), undefined)
})

test('T3: where a namespace has its share, its deletions wait with the reason, without a call, and others go on', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const disk = () => ({ mostBytes: 16 * 1024 ** 2, leftBytes: 16 * 1024 ** 2 })
  const cuts = new Cuts(world.clock)
  const room = new ArchiveRoom({ disk, keepMs: 86_400_000, clock: world.clock, cuts })
  const place = { cluster: world.id, namespace: 'default' }
  while (!room.isFull(place)) room.take(place, 1_000_000) ?? room.take(place, 0)
  const archive = { ...PLAIN, room }
  const { shown, calls } = await reapOne(world, world.deleteOf(pod), { archive })
  match(shown, /^blocked: not archived, so not deleted: its namespace has its share/)
  deepEqual([calls['GET'], calls['DELETE'], world.exists('pod')], [undefined, undefined, true])
  equal(room.isFull({ cluster: world.id, namespace: 'shop' }), false)
})
