/**
 * Following a compacted topic gives what `latest` does, whatever happened in between, and reads
 * only what is new.
 */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../adapters/memory/clock.ts'
import { MemoryLog } from '../adapters/memory/log.ts'
import { FollowedTopic } from './followed-topic.ts'
import { LogError, type Page, type Produced } from './log.ts'

const HOUR_MS = 3_600_000

class ReadLog extends MemoryLog {
  /** Offsets from which it was read. */
  reads: number[] = []
  gate: Promise<void> = Promise.resolve()
  refusal: LogError | undefined

  override async read(...asked: Parameters<MemoryLog['read']>): Promise<Page> {
    this.reads.push(Number(asked[2]))
    if (this.refusal !== undefined) throw this.refusal
    const page = await super.read(...asked)
    await this.gate
    return page
  }
}

function opened(prefixes: readonly string[] = ['']) {
  const clock = new ManualClock()
  const log = new ReadLog({ partitions: 1, clock })
  const followed = new FollowedTopic({ log, clock, topic: 'control', prefixes })
  const put = (...records: Produced[]): Promise<bigint> => log.append('control', 0, records)
  return { clock, log, followed, put }
}

function record(key: string, value: string | null = key): Produced {
  return { key, value: value === null ? null : Buffer.from(value) }
}

test('a followed topic is what the latest entries are, deleted and written again', async () => {
  const { log, followed, put } = opened()
  deepEqual(await followed.latest(), [])
  for (const records of [
    [record('a', '1'), record('b', '1'), record('c', '1')],
    [record('a', '2'), record('b', null)],
    [record('d'), record('d', null), record('b', '2')],
  ]) {
    await put(...records)
    deepEqual(await followed.latest(), await log.latest('control', 0))
  }
})

test('a followed topic is read on from where it was read last, once where nothing came', async () => {
  const { log, followed, put } = opened()
  await put(record('a'), record('b'))
  await followed.latest()
  log.reads = []
  equal((await followed.latest()).length, 2)
  deepEqual(log.reads, [2])
  await put(record('c'))
  await followed.latest()
  deepEqual(log.reads, [2, 2, 3])
})

test('a followed topic keeps only the keys that it is asked for', async () => {
  const { followed, put } = opened(['x/'])
  await put(record('a'), record('x/a'), record('x/b'))
  deepEqual(
    (await followed.latest()).map(({ key }) => key),
    ['x/a', 'x/b'],
  )
})

test('who asks while a topic is read gets what was written since, in one more read', async () => {
  const { log, followed, put } = opened()
  const gate = Promise.withResolvers<void>()
  log.gate = gate.promise
  const early = followed.latest()
  while (log.reads.length === 0) await setImmediate()
  await put(record('a'))
  const late = [followed.latest(), followed.latest(), followed.latest()]
  await setImmediate()
  equal(log.reads.length, 1)
  gate.resolve()
  deepEqual(await early, [])
  for (const each of await Promise.all(late)) equal(each.length, 1)
  equal(log.reads.length, 3)
})

test('a followed topic that lost its end, or its start, is read anew', async () => {
  const { log, followed, put } = opened()
  await put(record('a'), record('b'), record('c'))
  await followed.latest()
  log.cutOff('control', 0, 1n)
  deepEqual(await followed.latest(), await log.latest('control', 0))
  equal((await followed.latest()).length, 1)
})

test('a removal that nobody keeps any more is not missed after a long pause', async () => {
  const { clock, log, followed, put } = opened()
  await put(record('a'), record('b'))
  await followed.latest()
  await clock.advance(HOUR_MS)
  log.reads = []
  await followed.latest()
  equal(log.reads[0], 2)
  await clock.advance(HOUR_MS + 1)
  log.reads = []
  await followed.latest()
  equal(log.reads[0], 0)
})

test('a log that cannot be read is an error, and what was read before is read on', async () => {
  const { log, followed, put } = opened()
  await put(record('a'))
  await followed.latest()
  log.refusal = new LogError('UNAVAILABLE', 'the brokers cannot be reached')
  await put(record('b'))
  await rejects(followed.latest(), LogError)
  log.refusal = undefined
  deepEqual(await followed.latest(), await log.latest('control', 0))
})
