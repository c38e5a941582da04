/** A backup is the log as of one moment, whole and read back, or there is none. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { Entry, Log, LogError } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { testOnSmallDisk } from '../../testing/process/small-disk.ts'
import { backUpLog } from './backup.ts'
import { openSqliteLog } from './log.ts'

const clock = systemClock()

function directory(t: TestContext): string {
  const made = mkdtempSync(join(tmpdir(), 'kinfold-backup-'))
  t.after(() => rmSync(made, { recursive: true, force: true }))
  return made
}

/** A hundred an append: each waits for the disk. */
async function put(log: Log, count: number): Promise<void> {
  for (let from = 0; from < count; from += 100) {
    const records = Array.from({ length: Math.min(100, count - from) }, (_, i) => {
      const value = Buffer.from(`value ${from + i}`.repeat(20))
      return { key: `key-${from + i}`, value }
    })
    await log.append('events', (from / 100) % 2, records)
  }
}

async function entries(log: Log): Promise<readonly Entry[]> {
  const all: Entry[] = []
  for (const partition of [0, 1]) {
    const { start } = await log.bounds('events', partition)
    all.push(...(await log.read('events', partition, start, { limit: 10_000, waitMs: 0 })).entries)
  }
  return all
}

test('holds what was acknowledged, while the log is written on', async (t) => {
  const folder = directory(t)
  const source = join(folder, 'log')
  await using log = await openSqliteLog({ directory: source, partitions: 2, clock })
  await put(log, 400)
  await log.trim('events', 0, 30n)
  await log.savePosition('reaper', 'commands', 1, { offset: 0n, detail: 'note' })
  const acknowledged = await entries(log)
  const to = join(folder, 'copy')
  const more = put(log, 300)
  const { events, partitions } = await backUpLog({ directory: source, to, clock })
  await more
  await using copy = await openSqliteLog({ directory: join(to, 'log'), clock })
  const copied = await entries(copy)
  deepEqual([partitions, events], [2, BigInt(copied.length)])
  // A beginning of each partition, and no less than was acknowledged when it began.
  const all = await entries(log)
  const ends = [0, 1].map(async (partition) => (await copy.bounds('events', partition)).end)
  const [first = 0n, second = 0n] = await Promise.all(ends)
  const start = all.findIndex(({ offset }, i) => i > 0 && offset === 0n)
  const isIn = ({ offset }: Entry, i: number): boolean => offset < (i < start ? first : second)
  deepEqual(copied, all.filter(isIn))
  ok(copied.length >= acknowledged.length)
  deepEqual(await copy.loadPosition('reaper', 'commands', 1), { offset: 0n, detail: 'note' })
  await put(copy, 2)
  equal((await entries(copy)).length, copied.length + 2)
})

test('is nobody else’s to read', async (t) => {
  const folder = directory(t)
  const source = join(folder, 'log')
  await using _log = await openSqliteLog({ directory: source, partitions: 1, clock })
  const to = join(folder, 'copy')
  await backUpLog({ directory: source, to, clock })
  const modes = [to, join(to, 'log'), join(to, 'log', 'log.sqlite')].map(
    (path) => statSync(path).mode & 0o777,
  )
  deepEqual(modes, [0o700, 0o700, 0o600])
})

test('takes nothing that is there, and leaves nothing behind that is not whole', async (t) => {
  const folder = directory(t)
  const source = join(folder, 'log')
  {
    await using log = await openSqliteLog({ directory: source, partitions: 2, clock })
    await put(log, 200)
  }
  mkdirSync(join(folder, 'there'))
  await rejects(
    backUpLog({ directory: source, to: join(folder, 'there'), clock }),
    /is there already/,
  )
  const nowhere = backUpLog({ directory: join(folder, 'nowhere'), to: join(folder, 'x'), clock })
  await rejects(nowhere, /There is no log at/)
  const damaged = join(folder, 'damaged')
  cpSync(source, damaged, { recursive: true })
  const file = join(damaged, 'log.sqlite')
  const bytes = readFileSync(file)
  const at = bytes.indexOf('value 150value')
  bytes.write('X', at)
  writeFileSync(file, bytes)
  const to = join(folder, 'copy')
  // The log is, and not its copy.
  await rejects(backUpLog({ directory: damaged, to, clock }), ({ code, message }: LogError) => {
    return code === 'DAMAGED' && message.includes(`${file} (`)
  })
  deepEqual([existsSync(to), existsSync(`${to}.unfinished`)], [false, false])
})

/**
 * A fault of the target proves nothing about the log; the error says what to do about the target.
 */
function blames(target: string, code: LogError['code']): (error: LogError) => boolean {
  return (error) => {
    equal(error.code, code)
    ok(error.message.startsWith(`The copy ${target} cannot be made (`), error.message)
    match(error.message, /name a directory .* the log is not touched$/)
    return true
  }
}

test('blames the target where it cannot be made', async (t) => {
  const folder = directory(t)
  const source = join(folder, 'log')
  await using _log = await openSqliteLog({ directory: source, partitions: 1, clock })
  const file = join(folder, 'file')
  writeFileSync(file, '')
  // In /proc no directory can be made, and the answer is as if it were not there itself.
  for (const to of [join(file, 'a', 'b'), '/proc/kinfold-copy', '/proc/kinfold/copy']) {
    await rejects(backUpLog({ directory: source, to, clock }), blames(to, 'INVALID'))
  }
  await rejects(backUpLog({ directory: source, to: '', clock }), /a directory has to be named/)
})

testOnSmallDisk(
  import.meta.filename,
  'blames the target where its disk is full, and leaves nothing there',
  20_000,
  async (disk, t) => {
    const source = join(directory(t), 'log')
    await using log = await openSqliteLog({ directory: source, partitions: 2, clock })
    await put(log, 5_000)
    disk.resize(600)
    const to = join(disk.path, 'copy')
    await rejects(backUpLog({ directory: source, to, clock }), blames(to, 'FULL'))
    deepEqual(readdirSync(disk.path), [])
    disk.resize(20_000)
    await put(log, 100)
  },
)
