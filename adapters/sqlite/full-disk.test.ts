/** A full disk: the log says so, stops writing, and has everything that it acknowledged. */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import type { Log } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { openSqliteLog } from './log.ts'

const clock = systemClock()

test('a full file refuses from then on, and keeps what it acknowledged', async (t) => {
  const directory = temporary(t)
  const small = { directory, partitions: 1, clock, maxBytes: 512 * 1024 }
  const log = await openSqliteLog(small)
  const task = await log.openTask(0)
  const acknowledged = await fillUp(async (key) => {
    const outputs = [{ topic: 'events', partition: 0, records: [record(key)] }] as const
    await task.commit({ outputs, changelog: [record(key)] })
  })
  ok(acknowledged.length > 20)
  const full = { code: 'FULL', remedy: 'stop' }
  await rejects(log.append('events', 0, [record('tiny')]), full)
  await rejects(log.savePosition('r', 'events', 0, { offset: 1n, detail: '' }), full)
  await rejects(log.openTask(0), full)
  deepEqual(await keys(log), acknowledged)
  await log[Symbol.asyncDispose]()

  await using roomy = await openSqliteLog({ directory, partitions: 1, clock })
  deepEqual(await keys(roomy), acknowledged)
  await roomy.append('events', 0, [record('more')])
  equal((await keys(roomy)).at(-1), 'more')
})

test('writes that share the transaction which fails are all told', async (t) => {
  const log = await openSqliteLog({
    directory: temporary(t),
    partitions: 1,
    clock,
    maxBytes: 512 * 1024,
  })
  const large = Array.from({ length: 60 }, () => record('x'))
  const outcomes = await Promise.allSettled([
    log.append('events', 0, [record('a')]),
    log.append('events', 0, large),
    log.append('commands', 0, [record('b')]),
  ])
  deepEqual(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  )
  deepEqual(await keys(log), [])
  await log[Symbol.asyncDispose]()
})

test('a write that the system refuses half-way loses nothing that was acknowledged', async (t) => {
  const directory = temporary(t)
  const program = `
    import { openSqliteLog } from ${JSON.stringify(import.meta.resolve('./log.ts'))}
    import { systemClock } from ${JSON.stringify(import.meta.resolve('../../runtime/clock.ts'))}
    const log = await openSqliteLog({ directory: process.argv[1], partitions: 1, clock: systemClock() })
    const value = new Uint8Array(10_000)
    for (let count = 0; ; count++) {
      const failure = await log.append('events', 0, [{ key: 'k' + count, value }]).catch((error) => error)
      if (failure instanceof Error) process.exit(console.log(failure.code, count) ?? 0)
    }`
  const node = [process.execPath, '--input-type=module', '--eval', program, directory]
  const limited = ['-c', 'ulimit -f 600; exec "$@"', 'sh', ...node]
  const { stdout } = await promisify(execFile)('sh', limited)
  const [code, acknowledged] = stdout.trim().split(' ')
  // A limit on files is no lack of room.
  equal(code, 'IO')
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  const found = await keys(log)
  // The write that failed may have got there: its outcome is not known.
  ok(found.length - Number(acknowledged) <= 1 && found.length >= Number(acknowledged))
  ok(found.length > 5)
  await log.append('events', 0, [record('more')])
})

async function fillUp(write: (key: string) => Promise<void>): Promise<string[]> {
  for (const acknowledged: string[] = []; ; ) {
    const key = `k${acknowledged.length}`
    try {
      await write(key)
    } catch (error) {
      ok(error instanceof Error && 'code' in error && error.code === 'FULL', String(error))
      return acknowledged
    }
    acknowledged.push(key)
  }
}

async function keys(log: Log): Promise<string[]> {
  const { entries } = await log.read('events', 0, 0n, { limit: 5_000, waitMs: 0 })
  return entries.map((entry) => entry.key)
}

function record(key: string): { key: string; value: Uint8Array } {
  return { key, value: new Uint8Array(10_000).fill(7) }
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
