/**
 * What a plan says of a DELETE that was archived for and did not succeed: over a real reaper, on an
 * API server in memory.
 */

import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { Outcome } from '../../core/model/command.ts'
import type { CommandSettled } from '../../core/model/event.ts'
import type { ObjectMeta, Uid } from '../../core/model/object.ts'
import { World } from '../../testing/rig/reaper-world.ts'
import { type ArchivedObject, indexArchive } from './archive-reader.ts'
import { failedDeletes } from './delete-result.ts'

const SIGNAL = new AbortController().signal
const HOUR_MS = 3_600_000

/** The first command of the log. */
const FIRST = { id: '0-0-0' }

async function archived(world: World): Promise<readonly ArchivedObject[]> {
  const asked = { cluster: world.id, trust: { keys: new Map(), allowPlaintext: false } }
  const { objects } = await indexArchive(world.log, world.codec, asked, SIGNAL)
  return [...objects.values()]
}

async function told(
  world: World,
  chosen?: readonly ArchivedObject[],
): Promise<ReadonlyMap<Uid, string>> {
  return await failedDeletes(world.log, world.codec, chosen ?? (await archived(world)), SIGNAL)
}

async function reap(world: World, pod: ObjectMeta): Promise<void> {
  await world.command(world.deleteOf(pod, FIRST))
  const running = world.start({}, { secrets: false, key: undefined })
  await world.settled(1)
  await running.stop()
}

test('says what the cluster answered where it refused', async () => {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const body = '{"kind":"Status","apiVersion":"v1","code":403,"message":"webhook says no"}'
  world.server.inject(async ({ method }) => {
    if (method !== 'DELETE') return undefined
    return { status: 403, headers: { 'content-type': 'application/json' }, body: bytes(body) }
  })
  await reap(world, pod)
  equal(world.exists('pod'), true)
  const [[uid, why] = ['', '']] = [...(await told(world))]
  deepEqual([uid, why.includes('webhook says no')], [pod.uid, true])
})

async function* bytes(text: string): AsyncIterable<Uint8Array> {
  yield Buffer.from(text)
}

test('says nothing of what went', async () => {
  const world = await World.open()
  await reap(world, await world.dependent('pod'))
  equal(world.exists('pod'), false)
  deepEqual([...(await told(world))], [])
})

const object = {
  ...{ cluster: 'c', uid: 'u', command: '0-0-0', at: 0 },
} as ArchivedObject

function settled(outcome: Outcome, more: Partial<CommandSettled> = {}): CommandSettled {
  const place = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'a' }
  return {
    ...{ type: 'CommandSettled', cluster: 'c', clusterEpoch: 1, command: '0-0-0', uid: 'u', place },
    ...{
      verb: 'DeleteObject',
      outcome,
      reason: 'r',
      code: null,
      object: null,
      calls: 0,
      list: null,
    },
    ...more,
  }
}

const rows: readonly (readonly [string, readonly CommandSettled[], readonly string[]])[] = [
  ['blocked', [settled('blocked')], ['blocked: r']],
  ['stale', [settled('stale', { reason: '' })], ['stale']],
  ['done', [settled('done')], []],
  // Another client was faster, and deleted the object as it was read.
  ['absent', [settled('absent')], []],
  ['another command', [settled('blocked', { command: '0-1-0' })], []],
  // A log that was begun anew gives the names of commands again.
  ['another object', [settled('blocked', { uid: 'v' })], []],
  ['another cluster', [settled('blocked', { cluster: 'd' })], []],
  ['nothing', [], []],
]
for (const [what, events, expected] of rows) {
  test(`tells of ${what}: ${expected.join() || 'nothing'}`, async () => {
    const world = await World.open()
    await append(world, events)
    const now = { ...object, at: world.clock.now() }
    deepEqual([...(await told(world, [now])).values()], expected)
  })
}

test('takes no result of before the record for its own', async () => {
  const world = await World.open()
  await append(world, [settled('blocked')])
  await world.clock.advance(1_000)
  const again = { ...object, at: world.clock.now() }
  await append(world, [settled('done')])
  deepEqual([...(await told(world, [again]))], [])
})

async function append(world: World, events: readonly CommandSettled[]): Promise<void> {
  for (const event of events) {
    const value = world.codec.encode(event)
    await world.log.append('events', 0, [{ key: `${event.cluster}/${event.uid}`, value }])
  }
}

test('finds the results of many, wherever they were decided, and not those of commands that the log does not know', async () => {
  const world = await World.open()
  const names = Array.from({ length: 1_500 }, (_, i) => `${i}`)
  const of = (i: string): ArchivedObject => {
    return { ...object, uid: `u-${i}`, command: `0-${i}-0`, at: world.clock.now() }
  }
  // Each is followed by its result two later.
  await append(world, [settled('done', { command: 'x' }), settled('done', { command: 'y' })])
  await append(
    world,
    names.map((i) => settled('blocked', { uid: `u-${i}`, command: `0-${i}-0`, reason: i })),
  )
  const chosen = names.filter((i) => Number(i) % 7 === 0).map(of)
  const unknown = { ...of('9'), uid: 'u-far', command: '0-99999-0' }
  const odd = { ...of('9'), uid: 'u-odd', command: 'no command' }
  const elsewhere = { ...of('9'), uid: 'u-elsewhere', command: '7-1-0' }
  const found = await told(world, [...chosen.toReversed(), unknown, odd, elsewhere])
  deepEqual(
    new Set(found),
    new Set(chosen.map(({ uid }) => [uid, `blocked: ${uid.slice(2)}`] as const)),
  )
})

test('looks no further than an hour behind the record', async () => {
  const world = await World.open()
  const read: bigint[] = []
  const first = { ...object, at: world.clock.now() }
  for (let hour = 0; hour < 3; hour++) {
    const some = Array.from({ length: 600 }, () => settled('done', { command: `9-${hour}-0` }))
    await append(world, some)
    await world.clock.advance(HOUR_MS + 1)
  }
  const at = world.log.read.bind(world.log)
  world.log.read = async (topic, partition, from, ...more) => {
    read.push(from)
    return await at(topic, partition, from, ...more)
  }
  deepEqual([...(await told(world, [first]))], [])
  deepEqual(read.at(-1), 500n)
})
