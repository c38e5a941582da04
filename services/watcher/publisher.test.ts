/** Appends: their order, what is acknowledged, and how much may wait. */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { seeded } from '../../testing/watcher-rig.ts'
import { DEFAULT_CONFIG } from './config.ts'
import type { Tellable } from './publisher.ts'
import { Publisher } from './publisher.ts'

const codec = avroCodec()
const clock = new ManualClock()

function beat(epoch: number): Tellable {
  return { type: 'Heartbeat', cluster: 'c', epoch, kinds: [] }
}

async function epochs(log: MemoryLog, partition: number): Promise<readonly number[]> {
  const page = await log.read('events', partition, 0n, { limit: 100_000, waitMs: 0 })
  return page.entries.map(({ value }) => {
    const event = codec.decode(value ?? new Uint8Array())
    return 'epoch' in event ? event.epoch : -1
  })
}

test('records stand in the order they were told, in each partition, over refusals', async () => {
  const log = new MemoryLog({ partitions: 2, clock })
  const deps = { log, codec, clock, random: seeded(1), config: DEFAULT_CONFIG }
  const publisher = new Publisher(deps, new AbortController().signal)
  for (let refusals = 0; refusals < 4; refusals++) log.refuseNextAppend()
  for (let epoch = 0; epoch < 1_500; epoch++)
    publisher.tell(epoch % 3 === 0 ? 0 : 1, 'c', beat(epoch))
  const settled = publisher.settled()
  await clock.advance(10_000)
  await settled
  const all = Array.from({ length: 1_500 }, (_, epoch) => epoch)
  deepEqual(
    await epochs(log, 0),
    all.filter((epoch) => epoch % 3 === 0),
  )
  deepEqual(
    await epochs(log, 1),
    all.filter((epoch) => epoch % 3 !== 0),
  )
  equal(publisher.queued, 0)
})

test('there is room again only when what waits is below its bound', async () => {
  const log = new MemoryLog({ partitions: 1, clock })
  const config = { ...DEFAULT_CONFIG, queuedRecords: 10, appendRecords: 5 }
  const publisher = new Publisher(
    { log, codec, clock, random: seeded(1), config },
    new AbortController().signal,
  )
  for (let epoch = 0; epoch < 23; epoch++) publisher.tell(0, 'c', beat(epoch))
  await publisher.room()
  equal(publisher.queued, 8)
})

test('a log that only a person can help is told to whoever waits, then and later', async () => {
  const log = new MemoryLog({ partitions: 1, clock })
  const publisher = new Publisher(
    { log, codec, clock, random: seeded(1), config: DEFAULT_CONFIG },
    new AbortController().signal,
  )
  log.reopen()
  publisher.tell(0, 'c', beat(1))
  await rejects(publisher.settled(), { code: 'CLOSED' })
  await rejects(publisher.settled(), { code: 'CLOSED' })
  await rejects(publisher.room(), { code: 'CLOSED' })
})
