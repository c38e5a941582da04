/** The embedded log against its contract, and its own features. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { type LogFixture, logContract } from '../../ports/log.contract.ts'
import type { Entry } from '../../ports/log.ts'
import { SettableClock } from '../../testing/settable-clock.ts'
import { backUpLog } from './backup.ts'
import { openSqliteLog } from './log.ts'

const RECORDED = join(import.meta.dirname, '..', '..', 'testing', 'data-directories')
const TRACE = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

async function fixture(
  directory: string,
  clock: SettableClock,
  t: TestContext,
): Promise<LogFixture> {
  const log = await openSqliteLog({ directory, partitions: 2, clock, traces: true })
  t.after(() => log[Symbol.asyncDispose]())
  return {
    log,
    clock,
    reopen: async () => {
      await log[Symbol.asyncDispose]()
      return fixture(directory, clock, t)
    },
    compact: (topic, partition) => log.compact(topic, partition),
    confirm: (skewsMs) => log.time.confirm(skewsMs),
  }
}

test('a file gets room for traces when it is opened with them, and is the same log before and after', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const clock = new SettableClock()
  const append = async (key: string, traces?: boolean): Promise<void> => {
    await using log = await openSqliteLog({ directory, partitions: 1, clock, traces })
    await log.append('events', 0, [{ key, value: Buffer.from(key), trace: TRACE }])
  }
  const read = async (): Promise<readonly (readonly [string, string | undefined])[]> => {
    await using log = await openSqliteLog({ directory, clock, readOnly: true })
    const { entries } = await log.read('events', 0, 0n, { limit: 10, waitMs: 0 })
    return entries.map(({ key, trace }) => [key, trace])
  }
  await append('before')
  deepEqual(await read(), [['before', undefined]])
  await append('with', true)
  await append('off again')
  const all = [
    ['before', undefined],
    ['with', TRACE],
    ['off again', TRACE],
  ] as const
  deepEqual(await read(), all)

  const to = join(directory, 'copy')
  await backUpLog({ directory, to, clock })
  await using copy = await openSqliteLog({ directory: join(to, 'log'), clock, readOnly: true })
  const { entries } = await copy.read('events', 0, 0n, { limit: 10, waitMs: 0 })
  deepEqual(
    entries.map(({ key, trace }) => [key, trace]),
    all,
  )
})

for (const recorded of readdirSync(RECORDED)) {
  test(`${recorded}, which an earlier version wrote, gets room for traces and keeps all that it has`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'log-'))
    t.after(() => rmSync(directory, { recursive: true }))
    const file = gunzipSync(readFileSync(join(RECORDED, recorded)))
    writeFileSync(join(directory, 'log.sqlite'), file)
    const clock = new SettableClock()
    const read = async (traces: boolean): Promise<readonly Entry[]> => {
      await using log = await openSqliteLog({ directory, clock, traces })
      const { start, end } = await log.bounds('events', 0)
      ok(end > start)
      return (await log.read('events', 0, start, { limit: 10_000, waitMs: 0 })).entries
    }
    const before = await read(false)
    deepEqual(await read(true), before)
    {
      await using log = await openSqliteLog({ directory, clock, traces: true })
      await log.append('events', 0, [{ key: 'k', value: Buffer.from('v'), trace: TRACE }])
    }
    equal((await read(false)).at(-1)?.trace, TRACE)
  })
}

test('a trace is under no sum: whatever is done to it, the log is whole', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const options = { directory, partitions: 1, clock: new SettableClock(), traces: true }
  {
    await using log = await openSqliteLog(options)
    const records = ['a', 'b', 'c'].map((key) => ({ key, value: Buffer.from(key), trace: TRACE }))
    await log.append('events', 0, records)
  }
  const db = new DatabaseSync(join(directory, 'log.sqlite'))
  db.exec("UPDATE record SET trace = NULL WHERE key = 'a'")
  db.exec("UPDATE record SET trace = 'other' WHERE key = 'b'")
  db.prepare("UPDATE record SET trace = ? WHERE key = 'c'").run('x'.repeat(100_000))
  db.close()
  await using log = await openSqliteLog(options)
  const { entries } = await log.read('events', 0, 0n, { limit: 10, waitMs: 0 })
  deepEqual(
    entries.map(({ key, value, trace }) => [key, String(Buffer.from(value!)), trace]),
    [
      ['a', 'a', undefined],
      ['b', 'b', 'other'],
      ['c', 'c', undefined],
    ],
  )
})

logContract('sqlite log', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return fixture(directory, new SettableClock(), t)
})
