/**
 * Partitions folded again in threads: the same results and errors as one after the other, and a
 * signal ends them.
 */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { subscribe } from 'node:diagnostics_channel'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { openSqliteLog, type SqliteLog } from '../../adapters/sqlite/log.ts'
import { policyFor } from '../../core/model/policy.ts'
import { systemClock } from '../../runtime/clock.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'
import { auditPartition } from '../../services/graph/audit/audit.ts'
import { replayPartition } from '../../services/graph/audit/replay.ts'
import { isOrder } from '../../services/graph/fold/order.ts'
import { runKinfold } from '../../testing/process/kinfold-command.ts'
import { appendAll, codec, emptyStore, eventsOf, runTask } from '../../testing/rig/task-rig.ts'
import { refoldInThreads, refoldPartitions } from './refold-thread.ts'

const folder = mkdtempSync(join(tmpdir(), 'kinfold-refold-thread-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The first one takes longest. */
const STORIES = [
  ['many 500 pod/free#', 'put rs/web', 'put pod/web <- rs/web', 'delete rs/web', 'delete pod/web'],
  ['put rs/api', 'many 3 pod/api# <- rs/api', 'delete rs/api', 'delete-many 3 pod/api#'],
  ['put rs/left', 'put pod/left <- rs/left'],
]
const PARTITIONS = STORIES.length
const policy = policyFor('enforce', 'guarded')
const REPLAYING = { type: 'replay', fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, policy } as const

/** A data directory with a folded log. */
async function recorded(name: string, stories: readonly (readonly string[])[]): Promise<string> {
  const data = join(folder, name)
  await using log = await openLog(data, stories.length)
  for (const [partition, story] of stories.entries()) {
    const events = eventsOf(['policy enforce parity', ...story])
    const first = events.findLastIndex(isOrder) + 1
    await appendAll(log, events.slice(0, first), partition)
    const others = events.slice(first).filter((event) => event.type !== 'Unreadable')
    const records = others.map((event) => ({ key: 'c/ns', value: codec.encode(event) }))
    // At once: a write of a file takes milliseconds.
    await log.append('events', partition, records)
    await using running = runTask(log, emptyStore(), undefined, partition)
    await running.caughtUp()
  }
  return data
}

async function openLog(data: string, partitions?: number): Promise<SqliteLog> {
  const directory = join(data, 'log')
  const readOnly = partitions === undefined
  return await openSqliteLog({ directory, partitions, clock: systemClock(), readOnly })
}

const never = (): AbortSignal => new AbortController().signal

suite('partitions in threads', () => {
  let data = ''
  before(async () => {
    data = await recorded('data', STORIES)
  })

  test('a replay finds what it finds in one partition after the other', async () => {
    await using log = await openLog(data)
    const { fromMs, toMs } = REPLAYING
    const span = { fromMs, toMs, policyFrom: () => policy }
    const expected: unknown[] = []
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const parts = { log, codec, store: emptyStore(), partition, ...span }
      expected.push(await replayPartition(parts, never()))
    }
    const found = await refoldInThreads({ data }, REPLAYING, never())
    deepEqual(found, expected)
    deepEqual(
      found.map(({ differences }) => differences),
      [1, 3, 0],
    )
  })

  test('an audit finds what it finds in one partition after the other', async () => {
    await using log = await openLog(data)
    const expected: unknown[] = []
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const parts = { log, codec, store: emptyStore(), partition }
      expected.push(await auditPartition(parts, never()))
    }
    deepEqual(await refoldInThreads({ data }, { type: 'verify' }, never()), expected)
  })

  test('the command adds them up', async () => {
    const args = ['audit', 'replay', '--from', '1h', '--data', data]
    const { code, stdout, stderr } = await runKinfold(args)
    deepEqual([code, stderr], [EXIT.findings, ''])
    match(stdout, /^\d+ events since .*; 4 differences$/m)
    match(stdout, /^deleted by Kinfold +held \(hold\) +4$/m)
  })

  test('an error is that of the first partition that has one, with its name and its code', async () => {
    const damaged = await recorded('damaged', STORIES)
    const database = new DatabaseSync(join(damaged, 'log', 'log.sqlite'))
    const lanes = database.prepare("SELECT lane FROM head WHERE topic = 'events'").all()
    equal(lanes.length, PARTITIONS)
    for (const { lane } of lanes) {
      database.exec(`UPDATE record SET key = 'x' WHERE id >> 44 = ${lane} AND id & 0xffff = 2`)
    }
    database.close()
    const about = { flags: { data: damaged }, refolding: REPLAYING, partitions: PARTITIONS }
    await rejects(refoldPartitions(about, never()), (error: Error & { code: string }) => {
      deepEqual([error.name, error.code], ['LogError', 'DAMAGED'])
      match(error.message, /partition 0 of events is damaged at offset 2 /)
      return true
    })
  })

  test('an error that is the user’s keeps its exit code', async () => {
    const flags = { data: join(folder, 'nowhere') }
    await rejects(refoldInThreads(flags, REPLAYING, never()), ExitError)
    const about = { flags, refolding: REPLAYING, partitions: 1 }
    await rejects(refoldPartitions(about, never()), (error) => {
      ok(error instanceof ExitError)
      equal(error.exitCode, EXIT.input)
      match(error.message, /nowhere: there is no log in this data directory/)
      return true
    })
  })

  test('a signal ends all, while they fold', async () => {
    const long = ['put rs/web', 'many 10000 pod/p# <- rs/web']
    const data = await recorded('long', [long, long])
    const stop = new AbortController()
    const reason = new Error('stopped')
    const folded: number[] = []
    const threads: Worker[] = []
    subscribe('worker_threads', (made) => {
      threads.push((made as { readonly worker: Worker }).worker)
    })
    const running = refoldInThreads({ data }, REPLAYING, stop.signal, (events) => {
      folded.push(events)
      stop.abort(reason)
    })
    await rejects(running, reason)
    deepEqual(folded, [10_000])
    ok(threads.length > 0)
    // As Node says of one that has ended.
    ok(threads.every(({ threadId }) => threadId === -1))
  })
})
