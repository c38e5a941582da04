/**
 * Compaction and trimming: which records are removed, which stay, and that a reader sees no
 * difference.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import fc from 'fast-check'
import type { Clock } from '../../ports/clock.ts'
import type { Entry, Log, Produced, Topic } from '../../ports/log.ts'
import { hash32 } from '../../ports/partition.ts'
import { systemClock } from '../../runtime/clock.ts'
import { ManualClock } from '../memory/clock.ts'
import { Compaction } from './compaction.ts'
import { openSqliteLog } from './log.ts'
import { LogFile } from './log-file.ts'
import { NewestKeys } from './newest-keys.ts'
import { createFile } from './schema.ts'
import { verifyFile } from './verify.ts'

const DAY_MS = 24 * 3_600_000

/**
 * A step of the property: a record, a slice of the scan under way (or of a new one), the rest of
 * it, or a day of time.
 */
type Step = { readonly key: number; readonly gone: boolean } | 'slice' | 'walk' | 'day'

const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ key: fc.nat(14), gone: fc.boolean() }) },
  { weight: 5, arbitrary: fc.constant<Step>('slice') },
  { weight: 1, arbitrary: fc.constant<Step>('walk') },
  { weight: 1, arbitrary: fc.constant<Step>('day') },
)

test('after every slice the lane is whole and folds to the same values', async (t) => {
  const directory = temporary(t)
  let files = 0
  const property = fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
    const path = join(directory, `${files++}.sqlite`)
    createFile(path, 1)
    const file = new LogFile({ path, readOnly: false, maxBytes: undefined, traces: false })
    try {
      await play(file, steps)
    } finally {
      file.close()
    }
  })
  await fc.assert(property, { numRuns: 60, seed: 3 })
})

async function play(file: LogFile, steps: readonly Step[]): Promise<void> {
  const clock = new ManualClock()
  // Four slots hold three keys: every scan takes several parts.
  const compaction = new Compaction(file, clock, { maxSlots: 4, sliceRecords: 7 })
  const lane = file.laneOf('changelog', 0)!
  const model = new Map<string, number>()
  let walk: Generator<void> | undefined
  for (const [index, now] of steps.entries()) {
    if (now === 'day') await clock.advance(DAY_MS)
    else if (now === 'slice' || now === 'walk') {
      walk ??= compaction.walk(lane)
      while (!walk.next().done && now === 'walk');
      if (now === 'walk') walk = undefined
    } else {
      const key = `k${now.key}`
      const value = now.gone ? null : Uint8Array.of(index)
      file.write(clock.now(), (transaction) => transaction.append(lane, [{ key, value }]))
      if (now.gone) model.delete(key)
      else model.set(key, index)
    }
    const folded = fold(file.records.upward(file.head(lane), 0, 5_000).records)
    deepEqual(folded, new Map([...model].toSorted()))
  }
  await verifyFile(file)
}

test('keys of one hash are two keys', () => {
  const met = ['liquid', 'costarring', 'liquid', 'costarring']
  equal(hash32('liquid'), hash32('costarring'))
  const keys = new NewestKeys((offset) => met[offset], 16)
  deepEqual(
    met.map((key, offset) => keys.meet(key, offset)),
    ['newest', 'newest', 'superseded', 'superseded'],
  )
})

test('a walk leaves one record a key, and a tombstone until a day after a walk that left it', async (t) => {
  const clock = new ManualClock()
  await using log = await openSqliteLog({ directory: temporary(t), partitions: 1, clock })
  await log.append('lineage', 0, [record('a'), record('b'), record('a'), record('c')])
  await log.append('lineage', 0, [{ key: 'b', value: null }, record('c')])
  const content = async (): Promise<string[]> => (await all(log, 'lineage')).map(show)
  await clock.advance(2 * DAY_MS)
  await log.compact('lineage', 0)
  deepEqual(await content(), ['2 a', '4 b gone', '5 c'])
  await clock.advance(DAY_MS - 1)
  await log.compact('lineage', 0)
  equal((await content()).length, 3)
  await clock.advance(1)
  await log.compact('lineage', 0)
  deepEqual(await content(), ['2 a', '5 c'])
})

test('the last record stays, tombstone or not: the next one links to it', async (t) => {
  const clock = new ManualClock()
  await using log = await openSqliteLog({ directory: temporary(t), partitions: 1, clock })
  await log.append('lineage', 0, [record('a'), { key: 'b', value: null }])
  for (let round = 0; round < 2; round++) {
    await log.compact('lineage', 0)
    await clock.advance(DAY_MS)
  }
  await log.compact('lineage', 0)
  await log.append('lineage', 0, [record('c')])
  deepEqual((await all(log, 'lineage')).map(show), ['0 a', '1 b gone', '2 c'])
})

test('a lane that doubled by superseded records is compacted by itself', async (t) => {
  const directory = temporary(t)
  const { clock, goOn } = lateClock()
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  for (let round = 0; round < 120; round++) await log.append('changelog', 0, superseding())
  goOn(10_000)
  await turnsUntil(() => count(directory) <= 50_050)
  equal((await log.latest('changelog', 0)).length, 50)
})

test('a process that begins is left to it for 10 s, whatever is due', async (t) => {
  const directory = temporary(t)
  const { clock, goOn } = lateClock()
  const first = await openSqliteLog({ directory, partitions: 1, clock })
  for (let round = 0; round < 60; round++) await first.append('changelog', 0, superseding())
  await first[Symbol.asyncDispose]()
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  goOn(5_000)
  // It looks every 50 ms.
  await setTimeout(300)
  equal(count(directory), 60_000)
  goOn(5_000)
  await turnsUntil(() => count(directory) === 50)
  equal((await log.latest('changelog', 0)).length, 50)
})

test('trimmed records leave the file, also after a restart, and their room is used again', async (t) => {
  const directory = temporary(t)
  const clock = systemClock()
  const first = await openSqliteLog({ directory, partitions: 1, clock })
  await append(first, 3_000)
  await first.trim('events', 0, 2_990n)
  await first[Symbol.asyncDispose]()
  ok(count(directory) > 10)
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  await turnsUntil(() => count(directory) === 10)
  const size = statSync(join(directory, 'log.sqlite')).size
  for (let round = 1; round < 10; round++) {
    await append(log, 3_000)
    await log.trim('events', 0, BigInt(round * 3_000))
    await turnsUntil(() => count(directory) <= 3_000)
  }
  ok(statSync(join(directory, 'log.sqlite')).size < 2 * size)
})

test('append times never go back, whatever the clock does', async (t) => {
  const times = [5_000, 9_000, 2_000, 9_001]
  const clock = { ...systemClock(), now: () => times[0]!, monotonicMs: () => 0 }
  const directory = temporary(t)
  for (; times.length > 0; times.shift()) {
    await using log = await openSqliteLog({ directory, partitions: 1, clock })
    log.time.confirm([0])
    await log.append('events', 0, [record('a')])
  }
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  deepEqual(
    (await all(log, 'events')).map((entry) => entry.timestamp),
    [5_000, 9_000, 9_000, 9_001],
  )
})

test('an auditor reads entries by name with any client', async (t) => {
  const directory = temporary(t)
  await using log = await openSqliteLog({ directory, partitions: 2, clock: new ManualClock() })
  await log.append('events', 1, [record('a'), record('b')])
  const db = new DatabaseSync(join(directory, 'log.sqlite'), { readOnly: true })
  const rows = db.prepare('SELECT topic, partition, offset, time, key, length FROM entry').all()
  db.close()
  deepEqual(
    { ...rows[1] },
    {
      topic: 'events',
      partition: 1,
      offset: 1,
      time: '2023-11-14T22:13:20.000Z',
      key: 'b',
      length: 100,
    },
  )
})

function fold(records: readonly { key: string; value: Uint8Array | null }[]): Map<string, number> {
  const folded = new Map<string, number>()
  for (const { key, value } of records) {
    if (value === null) folded.delete(key)
    else folded.set(key, value[0]!)
  }
  return new Map([...folded].toSorted())
}

async function append(log: Log, entries: number): Promise<void> {
  await log.append(
    'events',
    0,
    Array.from({ length: entries }, (_, index) => record(`e${index}`)),
  )
}

async function all(log: Log, topic: Topic): Promise<readonly Entry[]> {
  return (await log.read(topic, 0, 0n, { limit: 5_000, waitMs: 0 })).entries
}

function show({ offset, key, value }: Entry): string {
  return `${offset} ${key}${value === null ? ' gone' : ''}`
}

function record(key: string): Produced {
  return { key, value: new Uint8Array(100).fill(7) }
}

function superseding(): Produced[] {
  return Array.from({ length: 1_000 }, (_, index) => record(`k${index % 50}`))
}

/** The system's, but that `goOn` lets time pass at once. */
function lateClock(): { readonly clock: Clock; readonly goOn: (ms: number) => void } {
  const system = systemClock()
  let late = 0
  const clock = { ...system, monotonicMs: () => system.monotonicMs() + late }
  return {
    clock,
    goOn: (ms) => {
      late += ms
    },
  }
}

function count(directory: string): number {
  const db = new DatabaseSync(join(directory, 'log.sqlite'), { readOnly: true })
  const row = db.prepare('SELECT count(*) AS count FROM record').get()
  db.close()
  return Number(row?.['count'])
}

/** Background work runs in turns of the event loop, and waits for quiet after many writes. */
async function turnsUntil(reached: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000
  while (!reached()) {
    ok(performance.now() < deadline, 'the background work did not get there')
    await setTimeout(5)
  }
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
