/** Appends: their order, their acknowledgement, and how much may wait. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { avroCodec } from '../../../adapters/avro/codec.ts'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { object } from '../../../testing/model/notation.ts'
import { seeded } from '../../../testing/rig/watcher-rig.ts'
import type { WatcherConfig } from '../config.ts'
import { DEFAULT_CONFIG } from '../config.ts'
import { Lag } from './lag.ts'
import type { Tellable } from './publisher.ts'
import { Publisher } from './publisher.ts'

const codec = avroCodec()
const clock = new ManualClock()

const PARTITION = 1

function newLog(): MemoryLog {
  return new MemoryLog({ partitions: 2, clock })
}

function publisherTo(log: MemoryLog, config: WatcherConfig = DEFAULT_CONFIG): Publisher {
  const lag = new Lag({ clock, config })
  const deps = { log, codec, clock, random: seeded(1), config, lag, partition: PARTITION }
  return new Publisher(deps, new AbortController().signal)
}

function beat(epoch: number): Tellable {
  return { type: 'Heartbeat', cluster: 'c', epoch, kinds: [] }
}

async function epochs(log: MemoryLog, partition = PARTITION): Promise<readonly number[]> {
  const page = await log.read('events', partition, 0n, { limit: 100_000, waitMs: 0 })
  return page.entries.map(({ value }) => {
    const event = codec.decode(value ?? new Uint8Array())
    return 'epoch' in event ? event.epoch : -1
  })
}

test('records are in one partition in the order they were told, over refusals', async () => {
  const log = newLog()
  const publisher = publisherTo(log)
  for (let refusals = 0; refusals < 4; refusals++) log.refuseNextAppend()
  for (let epoch = 0; epoch < 1_500; epoch++) publisher.tell(`c/${epoch % 3}`, beat(epoch))
  const settled = publisher.settled()
  await clock.advance(10_000)
  await settled
  const all = Array.from({ length: 1_500 }, (_, epoch) => epoch)
  deepEqual(await epochs(log), all)
  deepEqual(await epochs(log, 0), [])
  equal(publisher.queued, 0)
})

test('there is room again only when what waits is below its bound', async () => {
  const log = newLog()
  const config = { ...DEFAULT_CONFIG, queuedRecords: 10, appendRecords: 5 }
  const publisher = publisherTo(log, config)
  for (let epoch = 0; epoch < 23; epoch++) publisher.tell('c', beat(epoch))
  await publisher.room()
  equal(publisher.queued, 8)
})

test('a log that only a person can help is told to whoever waits, then and later', async () => {
  const log = newLog()
  const publisher = publisherTo(log)
  log.reopen()
  publisher.tell('c', beat(1))
  await rejects(publisher.settled(), { code: 'CLOSED' })
  await rejects(publisher.settled(), { code: 'CLOSED' })
  await rejects(publisher.room(), { code: 'CLOSED' })
})

function deletion(): Tellable {
  const deleted = object('rs/a', '5')
  return { type: 'ObjectDeleted', cluster: 'c', epoch: 1, object: deleted, ageMs: 0 }
}

async function ages(log: MemoryLog): Promise<readonly (number | undefined)[]> {
  const page = await log.read('events', PARTITION, 0n, { limit: 100, waitMs: 0 })
  return page.entries.map(({ value }) => {
    const event = codec.decode(value ?? new Uint8Array())
    return event.type === 'ObjectDeleted' ? event.ageMs : undefined
  })
}

test('a deletion says how long it waited for the log, by the time of the try that got through', async () => {
  const log = newLog()
  const publisher = publisherTo(log)
  publisher.tell('c', deletion())
  await publisher.settled()
  for (let refusals = 0; refusals < 12; refusals++) log.refuseNextAppend()
  const toldMs = clock.monotonicMs()
  publisher.tell('c', deletion())
  const settled = publisher.settled().then(() => clock.monotonicMs() - toldMs)
  await clock.advance(120_000)
  const waitedMs = await settled
  ok(waitedMs > 10_000)
  deepEqual(await ages(log), [0, Math.ceil(waitedMs)])
})

test('nor is what a process reads news when it wakes, or when there was no room for long', async () => {
  const log = newLog()
  const config = { ...DEFAULT_CONFIG, queuedRecords: 1 }
  const publisher = publisherTo(log, config)
  await clock.advance(60_000)
  publisher.tell('c', deletion())
  await publisher.settled()
  deepEqual(await ages(log), [60_000])

  const full = publisherTo(log, config)
  for (let refusals = 0; refusals < 12; refusals++) log.refuseNextAppend()
  for (let epoch = 0; epoch < 3; epoch++) full.tell('c', beat(epoch))
  const begunMs = clock.monotonicMs()
  const room = full.room().then(() => clock.monotonicMs() - begunMs)
  await clock.advance(120_000)
  const fullMs = await room
  full.tell('c', deletion())
  await full.settled()
  const last = (await ages(log)).at(-1) ?? 0
  ok(last >= fullMs, `${last} of ${fullMs}`)
})

/** Takes everything, slowly. */
class SlowLog extends MemoryLog {
  override async append(...asked: Parameters<MemoryLog['append']>): Promise<bigint> {
    await clock.sleep(1_500)
    return await super.append(...asked)
  }
}

test('what waited to be read behind many short waits for room is as old as all of them', async () => {
  const log = new SlowLog({ partitions: 2, clock })
  const config = { ...DEFAULT_CONFIG, queuedRecords: 1_000, appendRecords: 50 }
  const lag = new Lag({ clock, config })
  const publisher = new Publisher(
    { log, codec, clock, random: seeded(1), config, lag, partition: PARTITION },
    new AbortController().signal,
  )
  const arrivedMs = clock.monotonicMs()
  const reading = (async () => {
    // All of it arrived at the same moment, in one socket.
    for (let i = 0; i < 4_000; i++) {
      publisher.tell('c', deletion())
      if (i % 50 === 49) await publisher.room()
    }
    await publisher.settled()
    return 'read'
  })()
  while ((await Promise.race([reading, setImmediate('')])) === '') {
    await clock.advance(500)
    lag.tick()
  }
  let youngerMs = 0
  const { entries } = await log.read('events', PARTITION, 0n, { limit: 10_000, waitMs: 0 })
  for (const { value, timestamp } of entries) {
    const event = codec.decode(value ?? new Uint8Array())
    if (event.type !== 'ObjectDeleted') continue
    const seenMs = timestamp - event.ageMs - (clock.now() - clock.monotonicMs())
    youngerMs = Math.max(youngerMs, seenMs - arrivedMs)
  }
  ok(youngerMs <= config.behindMs, `one is told as ${youngerMs} ms younger than it is`)
})

test('a heartbeat that waited for the log says how long ago there was life', async () => {
  const log = newLog()
  const publisher = publisherTo(log)
  const kinds = [{ group: '', kind: 'Pod', ageMs: 3_000 }]
  for (let refusals = 0; refusals < 20; refusals++) log.refuseNextAppend()
  const toldAt = clock.now()
  publisher.tell('c', { type: 'Heartbeat', cluster: 'c', epoch: 1, kinds })
  await clock.advance(600_000)
  const { entries } = await log.read('events', PARTITION, 0n, { limit: 10, waitMs: 0 })
  const waitedMs = (entries[0]?.timestamp ?? 0) - toldAt
  ok(waitedMs > 10_000, `appended after ${waitedMs} ms`)
  const event = codec.decode(entries[0]?.value ?? new Uint8Array())
  const [pulse] = event.type === 'Heartbeat' ? event.kinds : []
  ok(Math.abs((pulse?.ageMs ?? 0) - 3_000 - waitedMs) <= 1, `of an age of ${pulse?.ageMs} ms`)
})

test('it reports how long each event of an object waited, after the append, and of nothing else', async () => {
  const log = newLog()
  const lag = new Lag({ clock, config: DEFAULT_CONFIG })
  const waits: number[] = []
  const observer = { appended: (tookMs: number) => waits.push(tookMs) }
  const deps = { log, codec, clock, random: seeded(1), config: DEFAULT_CONFIG, lag, observer }
  const publisher = new Publisher({ ...deps, partition: PARTITION }, new AbortController().signal)
  for (let refusals = 0; refusals < 3; refusals++) log.refuseNextAppend()
  const toldMs = clock.monotonicMs()
  publisher.tell('c', beat(1))
  publisher.tell('c', deletion())
  const settled = publisher.settled().then(() => clock.monotonicMs() - toldMs)
  await setImmediate()
  deepEqual(waits, [])
  await clock.advance(60_000)
  deepEqual(waits, [await settled])
  ok(waits[0]! > 0)
})
