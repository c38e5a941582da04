/**
 * F52: one process writes a log; any other process gets an error that names the directory, and may
 * read.
 */
import { equal, match, ok, rejects } from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { openSqliteLog } from './log.ts'
import { FORMAT, rootSum } from './schema.ts'

const clock = systemClock()
const one = [{ key: 'k', value: new Uint8Array([1]) }]

test('a second opener in this process is refused by name of the directory', async (t) => {
  const directory = temporary(t)
  const log = await openSqliteLog({ directory, partitions: 1, clock })
  await rejects(openSqliteLog({ directory, partitions: 1, clock }), (error: Error) => {
    match(error.message, new RegExp(`^The directory ${directory} is in use`))
    return 'code' in error && error.code === 'LOCKED'
  })
  await log.append('events', 0, one)
  await log[Symbol.asyncDispose]()
  await using again = await openSqliteLog({ directory, partitions: 1, clock })
  equal((await again.bounds('events', 0)).end, 1n)
})

test('a second process is refused while the first lives, and let in once that was killed', async (t) => {
  const directory = temporary(t)
  const child = await holder(directory)
  await rejects(openSqliteLog({ directory, partitions: 1, clock }), { code: 'LOCKED' })
  child.kill('SIGKILL')
  await once(child, 'exit')
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  equal((await log.bounds('events', 0)).end, 1n)
})

test('a reader sees what another process commits, and may not write', async (t) => {
  const directory = temporary(t)
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  await log.append('events', 0, one)
  await using reader = await openSqliteLog({ directory, clock, readOnly: true })
  const waiting = reader.read('events', 0, 1n, { limit: 9, waitMs: 60_000 })
  await log.append('events', 0, [...one, ...one])
  const { entries, next } = await waiting
  equal(entries.length, 2)
  equal((await reader.bounds('events', 0)).end, next)
  await rejects(reader.append('events', 0, one), { code: 'INVALID' })
  await rejects(reader.openTask(0), { code: 'INVALID' })
})

test('files are for their owner alone', async (t) => {
  const directory = join(temporary(t), 'deep', 'data')
  await using log = await openSqliteLog({ directory, partitions: 1, clock })
  await log.append('events', 0, one)
  equal(statSync(directory).mode & 0o777, 0o700)
  for (const name of readdirSync(directory)) {
    equal(statSync(join(directory, name)).mode & 0o777, 0o600, name)
  }
  ok(readdirSync(directory).includes('log.sqlite-wal'))
})

test('another number of partitions, a missing log and an unusable directory are each one sentence', async (t) => {
  const directory = temporary(t)
  await rejects(
    openSqliteLog({ directory, clock, readOnly: true }),
    /^LogError: There is no log at/,
  )
  const log = await openSqliteLog({ directory, partitions: 3, clock })
  await log[Symbol.asyncDispose]()
  const other = openSqliteLog({ directory, partitions: 4, clock })
  await rejects(other, { code: 'FORMAT', message: /has 3 partitions, not 4/ })
  const notOurs = join(directory, 'log.sqlite', 'below-a-file')
  await rejects(openSqliteLog({ directory: notOurs, partitions: 1, clock }), { code: 'INVALID' })
})

test('a file of a newer format is left to the version that wrote it', async (t) => {
  const directory = temporary(t)
  const log = await openSqliteLog({ directory, partitions: 1, clock })
  await log[Symbol.asyncDispose]()
  const db = new DatabaseSync(join(directory, 'log.sqlite'))
  const heads = Number(db.prepare('SELECT heads FROM root').get()?.['heads'])
  const root = { format: FORMAT + 1, partitions: 1, heads }
  db.prepare('UPDATE root SET format = ?, sum = ?').run(root.format, rootSum(root))
  db.close()
  await rejects(openSqliteLog({ directory, partitions: 1, clock }), { code: 'FORMAT' })
})

/** A process that opens the log, appends one record and lives on. */
async function holder(directory: string): Promise<ChildProcess> {
  const program = `
    import { openSqliteLog } from ${JSON.stringify(import.meta.resolve('./log.ts'))}
    import { systemClock } from ${JSON.stringify(import.meta.resolve('../../runtime/clock.ts'))}
    const log = await openSqliteLog({ directory: ${JSON.stringify(directory)}, partitions: 1, clock: systemClock() })
    await log.append('events', 0, [{ key: 'k', value: new Uint8Array([1]) }])
    console.log('holds')
    setInterval(() => log, 60_000)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  return child
}

function temporary(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'log-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
