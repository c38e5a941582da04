/** The index of who asked for deletions follows what there is, and what keeps it from reading ends no process. */
import { equal, match, ok, rejects } from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { openSqliteLog } from '../../../adapters/sqlite/log.ts'
import type { Clock } from '../../../ports/clock.ts'
import { LogError } from '../../../ports/log.ts'
import type { Actor } from '../../../ports/service-record.ts'
import { systemClock } from '../../../runtime/clock.ts'
import { eventually } from '../../../testing/eventually.ts'
import { codec, emptyStore } from '../../../testing/task-rig.ts'
import { createActorIndex } from './actor-index.ts'

const OLD = join(import.meta.dirname, '../../../testing/data-directories/fold-14.sqlite.gz')
const KEEP_MS = 3_600_000
const place = { cluster: 'c', namespace: 'ns', name: 'a' }
const actor: Actor = {
  ...{ ...place, type: 'Actor', auditId: 'x', verb: 'delete', group: '', resource: 'configmaps' },
  ...{ uid: null, user: 'alice', impersonated: null, agent: '', mayBeDryRun: false },
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
  const index = createActorIndex({ log, codec, clock: patient, store, keepMs: KEEP_MS })
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
  const index = createActorIndex({ log, codec, clock, store: emptyStore(), keepMs: KEEP_MS })
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
  const [found, ...others] = await index.ofName(place, 0)
  equal(others.length, 0)
  match(found?.user ?? '', /^alice$/)
  equal((await index.ofName(place, 8)).length, 0)
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
  const index = createActorIndex({ log, codec, clock, store: emptyStore(), keepMs: KEEP_MS })
  const stop = new AbortController()
  const running = index.run(stop.signal)
  await eventually('it is read', async () => (await index.ofName(place, 0)).length === 1)
  stop.abort()
  await running
  ok(refused > 3)
})
