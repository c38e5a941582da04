/**
 * F51: over 500 flipped bits, over 200 cut files: named at open, or read as it was, or short of a
 * tail, which a reader that has seen more reports; never altered content, never a hole.
 */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { after, before, test } from 'node:test'
import { type Log, LogError, type Produced, TOPICS, type Topic } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { restore } from '../../services/graph/fold/restore.ts'
import { codec } from '../../testing/rig/task-rig.ts'
import { MemoryStore } from '../memory/store.ts'
import { openSqliteLog, type SqliteLog } from './log.ts'

const clock = systemClock()
const MAIN = 'log.sqlite'
const WAL = 'log.sqlite-wal'

/** The files of a log as a crash (or a clean end) left them, and their content. */
interface Image {
  readonly files: Readonly<Record<string, Uint8Array>>
  readonly content: Content
  /** The ends of all lanes after each write: a cut may only lead back to one of these. */
  readonly moments: ReadonlySet<string>
}

type Content = Readonly<
  Record<string, { readonly end: bigint; readonly entries: readonly string[] }>
>

type Outcome = 'identical' | 'prefix' | 'DAMAGED' | 'FORMAT'

/**
 * No test here checks whether a disk keeps its writes: with a disk in memory, thousands of waits
 * for a real one are saved.
 */
const ROOM = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

/** Copied by all tests, changed by none. */
let closed: Image
let crashed: Image
let root: string

before(async () => {
  root = mkdtempSync(join(ROOM, 'kinfold-log-'))
  closed = await closedImage()
  crashed = await crashImage()
})

after(() => rmSync(root, { recursive: true, force: true }))

test('a flipped bit anywhere in a closed file is named, or touched nothing', async (t) => {
  const counts = await damageEach(closed, MAIN, flips(closed.files[MAIN]!, 300))
  t.diagnostic(JSON.stringify(counts))
  equal(counts.prefix, 0)
  ok(counts.DAMAGED + counts.FORMAT > 150, 'most of this file is in use')
})

test('a closed file cut anywhere is named', async (t) => {
  const counts = await damageEach(closed, MAIN, cuts(closed.files[MAIN]!, 60))
  t.diagnostic(JSON.stringify(counts))
  deepEqual([counts.prefix, counts.identical], [0, 0])
})

test('a flipped bit in the files of a crash is named, or loses a tail that the bounds tell of', async (t) => {
  for (const name of [MAIN, WAL]) {
    const counts = await damageEach(crashed, name, flips(crashed.files[name]!, 110))
    t.diagnostic(`${name} ${JSON.stringify(counts)}`)
  }
})

test('a write-ahead log cut anywhere loses a tail that the bounds tell of, or is named', async (t) => {
  const counts = await damageEach(crashed, WAL, cuts(crashed.files[WAL]!, 150))
  t.diagnostic(JSON.stringify(counts))
  ok(counts.prefix > 0)
})

test('damage that comes while the log is open is named at the read that meets it', async (t) => {
  const directory = temporary()
  const log = await openSqliteLog({ directory, partitions: 1, clock })
  t.after(() => log[Symbol.asyncDispose]())
  await log.append('history', 0, records('e', 50))
  for (const [sql, from] of [
    ["UPDATE record SET value = x'00' WHERE id = (SELECT id FROM record LIMIT 1 OFFSET 9)", 9n],
    ['DELETE FROM record WHERE id = (SELECT id FROM record LIMIT 1 OFFSET 20)', 15n],
    ['DELETE FROM record WHERE id = (SELECT max(id) FROM record)', 40n],
  ] as const) {
    vandalize(directory, sql)
    const reading = log.read('history', 0, from, { limit: 20, waitMs: 0 })
    await rejects(reading, { code: 'DAMAGED', remedy: 'stop' })
  }
  await rejects(
    log.append('history', 0, records('late', 1)),
    /partition 0 of history .* at offset 9/,
  )
})

test('damage behind the entries kept in memory alters none of them, and is named by whoever reads the file', async (t) => {
  const directory = temporary()
  const log = await openSqliteLog({ directory, partitions: 1, clock })
  t.after(() => log[Symbol.asyncDispose]())
  await log.append('events', 0, records('e', 50))
  const before = await log.read('events', 0, 0n, { limit: 50, waitMs: 0 })
  const auditor = await openSqliteLog({ directory, clock, readOnly: true })
  t.after(() => auditor[Symbol.asyncDispose]())
  vandalize(directory, "UPDATE record SET value = x'00' WHERE id = (SELECT max(id) FROM record)")
  deepEqual(await log.read('events', 0, 0n, { limit: 50, waitMs: 0 }), before)
  const reading = auditor.read('events', 0, 0n, { limit: 50, waitMs: 0 })
  await rejects(reading, { code: 'DAMAGED', remedy: 'stop' })
  await log[Symbol.asyncDispose]()
  await rejects(openSqliteLog({ directory, partitions: 1, clock }), { code: 'DAMAGED' })
})

for (const [what, sql] of [
  ['a position that is gone', 'DELETE FROM position'],
  ['a position that was changed', 'UPDATE position SET offset = 9'],
  ['a head that was set back', "UPDATE head SET next = next - 1 WHERE topic = 'events'"],
  [
    'a record behind the end',
    'INSERT INTO record SELECT id + 1000, timestamp, key, value, prev, sum FROM record',
  ],
  ['another schema', 'CREATE INDEX extra ON record (key)'],
] as const) {
  test(`${what} is named at open`, async () => {
    const directory = temporary()
    const log = await openSqliteLog({ directory, partitions: 1, clock })
    await log.append('events', 0, records('e', 5))
    await log.savePosition('reaper', 'commands', 0, { offset: 3n, detail: '' })
    await log[Symbol.asyncDispose]()
    vandalize(directory, sql)
    await rejects(openSqliteLog({ directory, partitions: 1, clock }), { code: 'DAMAGED' })
  })
}

test('a lane set back as a whole, head and records, is named', async () => {
  const directory = temporary()
  const log = await openSqliteLog({ directory, partitions: 1, clock })
  await log.append('events', 0, records('old', 5))
  const head = headOf(directory, 'events')
  await log.append('events', 0, records('new', 5))
  await log[Symbol.asyncDispose]()
  const columns = Object.values(head).map((value) =>
    typeof value === 'string' ? `'${value}'` : value,
  )
  vandalize(
    directory,
    `REPLACE INTO head VALUES (${columns}); DELETE FROM record WHERE key LIKE 'new%'`,
  )
  await rejects(openSqliteLog({ directory, partitions: 1, clock }), /its heads do not fit its root/)
})

test('a flipped bit in the list of free pages is named before a page is used twice', async () => {
  const bytes = Uint8Array.from(closed.files[MAIN]!)
  const header = new DataView(bytes.buffer)
  const trunk = header.getUint32(32)
  ok(trunk > 0 && header.getUint32(36) > 1, 'the file has free pages')
  bytes[(trunk - 1) * 4096 + 8 + 3]! ^= 1
  const directory = restored({ [MAIN]: bytes })
  await rejects(openSqliteLog({ directory, partitions: 2, clock }), { code: 'DAMAGED' })
})

test('a file that went, leaving its write-ahead log, is named', async () => {
  const { [MAIN]: _gone, ...files } = crashed.files
  const directory = restored(files)
  await rejects(openSqliteLog({ directory, partitions: 2, clock }), { code: 'DAMAGED' })
})

/** Applies each damage to a copy of its own and checks the result. */
async function damageEach(
  image: Image,
  name: string,
  damaged: Iterable<readonly [what: string, bytes: Uint8Array]>,
): Promise<Record<Outcome, number>> {
  const counts = { identical: 0, prefix: 0, DAMAGED: 0, FORMAT: 0 }
  for (const [what, bytes] of damaged) {
    const outcome = await outcomeOf({ ...image.files, [name]: bytes }, image)
    ok(outcome !== undefined, `${name} with ${what} reads as something else`)
    counts[outcome]++
  }
  return counts
}

async function outcomeOf(
  files: Image['files'],
  { content, moments }: Image,
): Promise<Outcome | undefined> {
  const directory = restored(files)
  try {
    const log = await openSqliteLog({ directory, partitions: 2, clock })
    try {
      const found = await contentOf(log)
      const outcome = moments.has(endsOf(found)) ? comparison(found, content) : undefined
      if (outcome === 'prefix') await isNamed(log, content)
      return outcome
    } finally {
      await log[Symbol.asyncDispose]()
    }
  } catch (error) {
    if (!(error instanceof LogError)) throw error
    ok(error.code === 'DAMAGED' || error.code === 'FORMAT', `${error.code}: ${error.message}`)
    return error.code
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** A task whose store has seen the lost records does not continue to fold. */
async function isNamed(log: Log, { 'changelog/0': seen }: Content): Promise<void> {
  const store = new MemoryStore()
  await store.write([], { changelog: seen!.end, position: 0n })
  await using task = await log.openTask(0)
  const { signal } = new AbortController()
  const restoring = restore(log, codec, store, 0, task.fence, clock, signal)
  await rejects(restoring, { code: 'DAMAGED', message: /the log lost its end/ })
}

function comparison(found: Content, expected: Content): Outcome | undefined {
  let shorter = false
  for (const [name, { end, entries }] of Object.entries(expected)) {
    const lane = found[name]!
    const prefix = entries.slice(0, lane.entries.length)
    if (lane.entries.some((entry, index) => entry !== prefix[index])) return undefined
    if (lane.entries.length < entries.length && lane.end >= end) return undefined
    if (lane.end > end) return undefined
    shorter ||= lane.end < end
  }
  return shorter ? 'prefix' : 'identical'
}

async function contentOf(log: Log, what: 'all' | 'ends' = 'all'): Promise<Content> {
  const content: Record<string, { end: bigint; entries: string[] }> = {}
  for (const topic of TOPICS) {
    for (let partition = 0; partition < log.partitions(topic); partition++) {
      const { start, end } = await log.bounds(topic, partition)
      const entries: string[] = []
      for (let at = start; what === 'all' && at < end; ) {
        const page = await log.read(topic, partition, at, { limit: 500, waitMs: 0 })
        for (const { offset, timestamp, key, value } of page.entries) {
          entries.push(
            `${offset} ${timestamp} ${key} ${value && Buffer.from(value).toString('hex')}`,
          )
        }
        at = page.next
      }
      content[`${topic}/${partition}`] = { end, entries }
      // A position is overwritten in place, so of a cut tail it may be any that was ever saved.
      const position = await log.loadPosition('reaper', topic, partition)
      if (position !== undefined) equal(position.detail, 'x'.repeat(Number(position.offset)))
    }
  }
  return content
}

async function closedImage(): Promise<Image> {
  const directory = temporary()
  await using log = await openSqliteLog({ directory, partitions: 2, clock })
  await fill(log, 200)
  await log.append('events', 1, [{ key: 'large', value: new Uint8Array(60_000).fill(7) }])
  await log.trim('events', 0, 100n)
  await log.compact('changelog', 0)
  const content = await contentOf(log)
  await log[Symbol.asyncDispose]()
  const files = { [MAIN]: readFileSync(join(directory, MAIN)) }
  return { files, content, moments: new Set([endsOf(content)]) }
}

/**
 * A reader keeps the write-ahead log from starting over, so main file and log both hold versions of
 * the same pages.
 */
async function crashImage(): Promise<Image> {
  const directory = temporary()
  await using log = await openSqliteLog({ directory, partitions: 2, clock })
  const moments = new Set<string>()
  await fill(log, 60, moments)
  const auditor = new DatabaseSync(join(directory, MAIN), { readOnly: true })
  auditor.exec('BEGIN; SELECT count(*) FROM entry')
  await fill(log, 60, moments)
  auditor.exec('COMMIT')
  auditor.exec('BEGIN; SELECT count(*) FROM entry')
  const owner = new DatabaseSync(join(directory, MAIN))
  owner.exec('PRAGMA wal_checkpoint(PASSIVE)')
  await fill(log, 20, moments)
  const image = { files: filesOf(directory), content: await contentOf(log), moments }
  auditor.close()
  owner.close()
  return image
}

/** Records the ends of all lanes after each write. */
async function fill(log: SqliteLog, rounds: number, moments?: Set<string>): Promise<void> {
  const note = async (): Promise<unknown> => moments?.add(endsOf(await contentOf(log, 'ends')))
  await note()
  const task = await log.openTask(0)
  await note()
  for (let round = 0; round < rounds; round++) {
    await log.append('events', 0, records(`e${round}`, 5))
    await note()
    await log.append('events', 1, records(`f${round}`, 2))
    await note()
    const outputs = [{ topic: 'commands', partition: 0, records: records(`c${round}`, 2) }] as const
    await task.commit({ outputs, changelog: records(`k${round % 20}`, 4) })
    await note()
    const detail = 'x'.repeat(round)
    await log.savePosition('reaper', 'commands', 0, { offset: BigInt(round), detail })
  }
}

function endsOf(content: Content): string {
  return Object.entries(content)
    .map(([name, { end }]) => `${name}:${end}`)
    .join(' ')
}

function records(prefix: string, count: number): Produced[] {
  return Array.from({ length: count }, (_, index) => {
    const key = `${prefix}/${index}`
    return { key, value: new TextEncoder().encode(`${key} `.repeat(8)) }
  })
}

/**
 * All of the header, where each bit means something else, then one place in each of many stretches;
 * each at another bit.
 */
function* flips(bytes: Uint8Array, count: number): Generator<[string, Uint8Array]> {
  const header = Array.from({ length: 25 }, (_, index) => index * 4)
  const stride = (bytes.length - 100) / (count - header.length)
  for (let index = 0; index < count; index++) {
    const position = header[index] ?? Math.floor(100 + (index - header.length + 0.37) * stride)
    const damaged = Uint8Array.from(bytes)
    damaged[position]! ^= 1 << ((index * 5) % 8)
    yield [`bit ${(index * 5) % 8} of byte ${position} flipped`, damaged]
  }
}

function* cuts(bytes: Uint8Array, count: number): Generator<[string, Uint8Array]> {
  for (let index = 0; index < count; index++) {
    const length =
      index % 2 === 0
        ? Math.floor((bytes.length * index) / count)
        : 4096 * Math.floor((bytes.length * index) / count / 4096)
    yield [`its first ${length} bytes`, bytes.slice(0, length)]
  }
}

function vandalize(directory: string, sql: string): void {
  const db = new DatabaseSync(join(directory, MAIN))
  equal(db.exec(sql), undefined)
  db.close()
}

function headOf(directory: string, topic: Topic): Record<string, SQLOutputValue> {
  const db = new DatabaseSync(join(directory, MAIN), { readOnly: true })
  const head = db.prepare('SELECT * FROM head WHERE topic = ?').get(topic)
  db.close()
  return head!
}

function filesOf(directory: string): Record<string, Uint8Array> {
  return { [MAIN]: readFileSync(join(directory, MAIN)), [WAL]: readFileSync(join(directory, WAL)) }
}

function restored(files: Image['files']): string {
  const directory = temporary()
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(directory, name), bytes)
  return directory
}

function temporary(): string {
  return mkdtempSync(join(root, 'log-'))
}
