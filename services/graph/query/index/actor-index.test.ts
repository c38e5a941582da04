/**
 * The index of who asked for deletions follows what there is, and what keeps it from reading ends
 * no process.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { openSqliteLog } from '../../../../adapters/sqlite/log.ts'
import type { Clock } from '../../../../ports/clock.ts'
import { LogError } from '../../../../ports/log.ts'
import type { Actor, ActorGap } from '../../../../ports/record/service-record.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { eventually } from '../../../../testing/eventually.ts'
import { codec, emptyStore } from '../../../../testing/rig/task-rig.ts'
import { ActorIndex } from './actor-index.ts'
import { LAST_MS } from './actor-key.ts'

const OLD = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  '..',
  'testing',
  'data-directories',
  'fold-14.sqlite.gz',
)
const KEEP_MS = 3_600_000
const place = { cluster: 'c', namespace: 'ns', name: 'a' }
const about = { ...place, group: '', resource: 'configmaps', uid: 'u' }
const EVER = { since: 0, until: LAST_MS }
const actor: Actor = {
  ...{ ...place, type: 'Actor', auditId: 'x', verb: 'delete', group: '', resource: 'configmaps' },
  ...{
    uid: null,
    user: 'alice',
    impersonated: null,
    agent: '',
    mayBeDryRun: false,
    isBodyKnown: true,
  },
  ...{ from: 7, at: 7 },
}

test('a log that an older version wrote has nothing of it, and is followed all the same', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'kinfold-actors-'))
  t.after(() => rmSync(directory, { recursive: true }))
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'log.sqlite'), gunzipSync(readFileSync(OLD)))
  const clock = systemClock()
  await using log = await openSqliteLog({ directory, clock })
  let looks = 0
  const sleep: Clock['sleep'] = async (ms, signal) => {
    looks += 1
    await clock.sleep(ms, signal)
  }
  const patient: Clock = { ...clock, sleep }
  const store = emptyStore()
  const index = new ActorIndex({ log, codec, clock: patient, store, keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  await eventually('it has looked', async () => looks > 2)
  stop.abort()
  await running
  equal(await index.caughtUp(), 0n)
  const value = codec.encode(actor)
  await rejects(log.append('actors', 0, [{ key: 'c', value }]), /kinfold upgrade --data DIR/)
})

test('what a newer version wrote names nobody, and what follows is read', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const index = new ActorIndex({ log, codec, clock, store: emptyStore(), keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
  })
  const unknown = Buffer.from('c301000000000000000000', 'hex')
  await log.append('actors', 0, [
    { key: 'c', value: unknown },
    { key: 'c', value: codec.encode(actor) },
  ])
  equal(await index.caughtUp(), 0n)
  const {
    found: [found, ...others],
  } = await index.requests(about, EVER)
  equal(others.length, 0)
  match(found?.user ?? '', /^alice$/)
  equal((await index.requests(about, { ...EVER, since: 8 })).found.length, 0)
})

test('a log that is away is waited for', async () => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  let refused = 0
  const bounds = log.bounds.bind(log)
  log.bounds = async (...asked) => {
    refused += 1
    if (refused <= 3) throw new LogError('UNAVAILABLE', 'it is away')
    return await bounds(...asked)
  }
  await log.append('actors', 0, [{ key: 'c', value: codec.encode(actor) }])
  const index = new ActorIndex({ log, codec, clock, store: emptyStore(), keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  await eventually('it is read', async () => {
    return (await index.requests(about, EVER)).found.length === 1
  })
  stop.abort()
  await running
  ok(refused > 3)
})

test('of an event that came twice the later one counts for how long it is kept', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const store = emptyStore()
  const index = new ActorIndex({ log, codec, clock, store, keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
  })
  const value = codec.encode(actor)
  for (const _ of [1, 2]) await log.append('actors', 0, [{ key: 'c', value }])
  equal(await index.caughtUp(), 0n)
  const ages = async (): Promise<number> =>
    (await store.page({ gte: 'age/', lt: 'age0', limit: 9 })).rows.length
  for (const [before, left] of [
    [1n, 1],
    [2n, 0],
  ] as const) {
    await log.trim('actors', 0, before)
    await eventually('it is trimmed', async () => (await ages()) === left)
    equal((await index.requests(about, EVER)).found.length, left)
  }
})

test('gaps are those of the namespace and of all, of the time that is asked about', async (t) => {
  const clock = systemClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const index = new ActorIndex({ log, codec, clock, store: emptyStore(), keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  t.after(async () => {
    stop.abort()
    await running
  })
  const gap = (namespace: string | null, from: number, to: number): ActorGap => {
    return { type: 'ActorGap', cluster: 'c', namespace, user: null, cause: 'share', from, to }
  }
  const [minute, hour] = [60_000, 3_600_000]
  const all = [
    ...[gap('ns', 0, 5 * minute), gap('ns', hour, hour + 5 * minute), gap('ns2', hour, 2 * hour)],
    ...[gap(null, hour + 5 * minute, hour + 10 * minute), gap('', hour, 2 * hour)],
  ]
  const values = all.map((each) => ({ key: 'c', value: codec.encode(each) }))
  await log.append('actors', 0, values)
  equal(await index.caughtUp(), 0n)
  const at = async (since: number, until: number): Promise<number> =>
    (await index.gaps(place, { since, until })).found.length
  deepEqual(
    [await at(minute, minute), await at(10 * minute, hour - 1), await at(hour, hour + minute)],
    [1, 0, 1],
  )
  deepEqual([await at(hour + minute, hour + 6 * minute), await at(3 * hour, LAST_MS)], [2, 0])
  await log.append('actors', 0, [{ key: 'c', value: codec.encode(gap(null, 0, LAST_MS)) }])
  equal(await index.caughtUp(), 0n)
  equal(await at(3 * hour, 3 * hour), 1)
})
