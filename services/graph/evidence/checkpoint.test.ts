/**
 * Attack p19: a record of who asked, of what was archived, of an order or of who owned what is
 * changed, added or cut, with sums that fit. Topics in which later records of a key replace former
 * ones are compared record by record: what is left must be what was there.
 */
import { deepEqual, equal, match, ok, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { COMPACTED, type Entry, type Log, type Topic } from '../../../ports/log.ts'
import {
  type Comparison,
  checkpointOf,
  checkpointStatement,
  compareWith,
  readCheckpoint,
} from './checkpoint.ts'

const signal = new AbortController().signal
const TOPICS = ['archive', 'actors', 'orders', 'lineage'] as const
const RECORDS = 200n

async function filled(): Promise<MemoryLog> {
  const log = new MemoryLog({ partitions: 1, clock: new ManualClock() })
  for (const topic of TOPICS) {
    const records = Array.from({ length: Number(RECORDS) }, (_, index) => ({
      key: `key-${index}`,
      value: Buffer.from(`value ${index}`),
    }))
    await log.append(topic, 0, records)
  }
  return log
}

type Change = (entry: Entry) => readonly Entry[]

/** The log as an intruder with access to its files leaves it. */
function changed(log: MemoryLog, topic: Topic, offset: bigint, change: Change): Log {
  const read: Log['read'] = async (of, ...rest) => {
    const page = await log.read(of, ...rest)
    const isIt = (entry: Entry): boolean => of === topic && entry.offset === offset
    return {
      ...page,
      entries: page.entries.flatMap((each) => (isIt(each) ? change(each) : [each])),
    }
  }
  return {
    ...{ read, partitions: (of) => log.partitions(of) },
    bounds: async (...asked) => await log.bounds(...asked),
  } as Log
}

function of(found: readonly Comparison[], topic: Topic): Comparison {
  const [one, another] = found.filter((each) => each.topic === topic)
  equal(another, undefined)
  ok(one)
  return one
}

const CHANGES: readonly (readonly [string, Change])[] = [
  ['its time', (entry) => [{ ...entry, timestamp: entry.timestamp + 1 }]],
  ['its key', (entry) => [{ ...entry, key: `${entry.key}x` }]],
  ['its value', (entry) => [{ ...entry, value: Buffer.from('another') }]],
]

for (const topic of TOPICS) {
  for (const [what, change] of CHANGES) {
    test(`T24: a record of ${topic} is found where ${what} was changed`, async () => {
      const log = await filled()
      const checkpoint = readCheckpoint(checkpointStatement(await checkpointOf(log, signal)))
      const found = await compareWith(changed(log, topic, 100n, change), checkpoint, 0, signal)
      const different = found.filter((each) => each.different !== null)
      deepEqual(
        different.map((each) => each.topic),
        [topic],
      )
      const { from = 0n, to = 0n } = different[0]?.different ?? {}
      ok(from <= 100n && 100n < to)
    })
  }

  test(`T24: the end of ${topic} is found where it was cut off`, async () => {
    const log = await filled()
    const checkpoint = await checkpointOf(log, signal)
    const bounds: Log['bounds'] = async (asked, partition) => {
      const { start, end } = await log.bounds(asked, partition)
      return { start, end: asked === topic ? end - 1n : end }
    }
    const cut = { ...changed(log, topic, RECORDS - 1n, () => []), bounds } as Log
    const { different } = of(await compareWith(cut, checkpoint, 0, signal), topic)
    match(different?.what ?? '', /^the log ends at 199, and had records up to 200$/)
  })
}

for (const topic of ['archive', 'actors'] as const) {
  test(`T24: a record of ${topic} is found that was cut out`, async () => {
    const log = await filled()
    const checkpoint = await checkpointOf(log, signal)
    const found = await compareWith(
      changed(log, topic, 100n, () => []),
      checkpoint,
      0,
      signal,
    )
    match(of(found, topic).different?.what ?? '', /^63 records there are not the 64/)
  })
}

for (const topic of ['orders', 'lineage'] as const) {
  test(`of ${topic} the records that are left are as they were, and those that are not are counted`, async () => {
    const log = await filled()
    const checkpoint = await checkpointOf(log, signal)
    await log.append(topic, 0, [{ key: 'key-100', value: Buffer.from('later') }])
    // As a log is once it was compacted.
    const compacted = changed(log, topic, 100n, () => [])
    const { same, different, unknown, records } = of(
      await compareWith(compacted, checkpoint, 0, signal),
      topic,
    )
    deepEqual([different, unknown, records], [null, null, { same: 199, replaced: 1 }])
    deepEqual(same, { from: 0n, to: RECORDS })
  })

  test(`T24: a record of ${topic} is found where there was none`, async () => {
    const log = await filled()
    const gap = changed(log, topic, 100n, () => [])
    const checkpoint = await checkpointOf(gap, signal)
    const { different } = of(await compareWith(log, checkpoint, 0, signal), topic)
    deepEqual(different, { from: 100n, to: 101n, what: 'a record there was not there' })
  })
}

test('a removed key and an empty value are two records', async () => {
  const log = await filled()
  const empty = (value: Uint8Array | null): Log =>
    changed(log, 'orders', 7n, (entry) => [{ ...entry, value }])
  const checkpoint = await checkpointOf(empty(null), signal)
  const found = await compareWith(empty(new Uint8Array()), checkpoint, 0, signal)
  equal(of(found, 'orders').different?.from, 7n)
})

test('where there are more records than are listed, the oldest are not compared, and it says from where on', async () => {
  const log = await filled()
  const checkpoint = await checkpointOf(log, signal, 250)
  const parts = checkpoint.filter(({ topic }) => COMPACTED.has(topic))
  deepEqual(
    parts.map(({ topic, start, end }) => [topic, start, end]),
    [
      ['orders', 0n, RECORDS],
      ['lineage', 150n, RECORDS],
    ],
  )
  const found = await compareWith(log, checkpoint, 0, signal)
  deepEqual(of(found, 'lineage').records, { same: 50, replaced: 0 })
  const none = await checkpointOf(log, signal, 0)
  deepEqual(of(await compareWith(log, none, 0, signal), 'lineage').same, null)
})

test('a checkpoint whose list of records is none is refused', async () => {
  const text = checkpointStatement(await checkpointOf(await filled(), signal))
  for (const [from, to] of [
    ['"records":[[0,1,1,', '"records":[[0,0,1,'],
    ['"records":[[0,1,1,', '"records":[[0,1,'],
    ['"records":[[0,1,1,', '"records":[[0,1,100,'],
  ] as const) {
    ok(text.includes(from))
    throws(() => readCheckpoint(text.replace(from, to)), /it is no https:.*checkpoint/)
  }
})
