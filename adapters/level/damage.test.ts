/**
 * X1 to X3 of the fault catalogue, and the same for tables and manifests, a thousand flipped bits
 * in all: over damaged files the store is refused, or has exactly the content after some earlier
 * write, and says which.
 *
 * What must stay true: the expected content is computed from the number of writes alone, so a hole
 * cannot hide.
 */
import { deepEqual, equal, ok, rejects, throws } from 'node:assert/strict'
import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { ClassicLevel } from 'classic-level'
import { type Store, type StoreChange, type StoreEntry, StoreError } from '../../ports/store.ts'
import { openLevelStore } from './store.ts'

const WRITES = 2_000
/** Keys that every so many writes are overwritten. */
const CYCLE = 50
const NOTHING = new Uint8Array(0)
const EVERYTHING = { gte: '!', lt: '~', limit: 100_000 }

const ALL_CHANGES = Array.from({ length: WRITES }, (_, write) => changesOf(write))
/** Content after so many writes, as text; worked out once. */
const LINES = new Map<number, string>()

let root: string
/** All writes in the write-ahead log. */
let logged: string
/** Only the first ones, so that many copies are cheap. */
let short: string
const SHORT_WRITES = 300
/** The same in tables, compacted. */
let tabled: string

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'kinfold-damage-'))
  logged = join(root, 'logged')
  short = join(root, 'short')
  tabled = join(root, 'tabled')
  await writeAll(logged, WRITES)
  await writeAll(short, SHORT_WRITES)
  await cp(logged, tabled, { recursive: true })
  const raw = new ClassicLevel(tabled, { compression: false })
  await raw.compactRange('\0', '\x7f')
  await raw.close()
})

after(() => rm(root, { recursive: true }))

test('a log with one bit flipped gives a clean prefix or is refused: X1, X2', async () => {
  const log = await fileOf(logged, /\.log$/)
  const found = await flipBits(logged, log, 600, readWhole)
  ok(found.damaged > 200, `refused ${found.damaged} of 600`)
  ok(found.prefixes > 20, `gave ${found.prefixes} prefixes of 600`)
})

test('a log cut anywhere in its last 2 KiB gives a clean prefix: X3', async () => {
  const log = await fileOf(short, /\.log$/)
  const { length } = await readFile(join(short, log))
  for (let cut = 1; cut <= 2_049; cut += 8) {
    const directory = await copyOf(short)
    await truncate(join(directory, log), length - cut)
    {
      await using store = await openLevelStore({ directory, identity: 'log/0' })
      ok((await prefixOf(store)) < SHORT_WRITES, `cut by ${cut}`)
    }
    await rm(directory, { recursive: true })
  }
})

test('a table with one bit flipped is refused', async () => {
  const tables = (await readdir(tabled)).filter((name) => name.endsWith('.ldb'))
  ok(tables.length > 0)
  for (const table of tables) {
    const flips = Math.ceil(300 / tables.length)
    const found = await flipBits(tabled, table, flips, readWhole)
    // Nothing but the padding of the footer may be flipped unnoticed.
    ok(found.damaged >= flips - 1, `${table}: refused ${found.damaged} of ${flips}`)
  }
})

test('a manifest with one bit flipped gives a clean prefix or is refused', async () => {
  const manifest = await fileOf(tabled, /^MANIFEST/)
  const found = await flipBits(tabled, manifest, 100, readWhole)
  ok(found.damaged > 0)
})

test('a store without its file CURRENT, or with another one in it, is refused and not begun anew', async () => {
  const without = await copyOf(tabled)
  await rm(join(without, 'CURRENT'))
  await rejects(openLevelStore({ directory: without, identity: 'log/0' }), isDamaged)

  const other = await copyOf(tabled)
  await writeFile(join(other, 'CURRENT'), 'MANIFEST-999999\n')
  await rejects(openLevelStore({ directory: other, identity: 'log/0' }), isDamaged)
})

test('a damaged store is rebuilt when asked for, says why, and is whole from then on', async () => {
  const directory = await copyOf(logged)
  await flipBit(join(directory, await fileOf(directory, /\.log$/)), 1_000)
  await rejects(openLevelStore({ directory, identity: 'log/0' }), isDamaged)
  await rejects(openLevelStore({ directory, identity: 'log/0' }), isDamaged, 'still is')

  const told: StoreError[] = []
  const options = { directory, identity: 'log/0', rebuild: true }
  {
    await using store = await openLevelStore({ ...options, onRebuild: (error) => told.push(error) })
    equal(store.checkpoint(), undefined)
    await store.write(changesOf(0), checkpointAfter(1))
  }
  ok(told.length === 1 && isDamaged(told[0]))
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  equal(await prefixOf(store), 1)
})

test('a store whose table is damaged while it is open says so from then on, and a wipe makes it as new', async () => {
  const directory = await copyOf(tabled)
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const table = join(directory, await fileOf(directory, /\.ldb$/))
  const bytes = await readFile(table)
  await flipBit(table, bytes.indexOf('value of 77 ') * 8)
  await rejects(store.page(EVERYTHING), isDamaged)
  await rejects(store.write(changesOf(0), checkpointAfter(1)), isDamaged)
  throws(() => store.get(keyOf('a', 1)), isDamaged)

  await store.wipe()
  equal(store.checkpoint(), undefined)
  await store.write(changesOf(0), checkpointAfter(1))
  equal(await prefixOf(store), 1)
})

test('a store whose key is damaged in a table while it is open is found out by verify', async () => {
  const directory = await copyOf(tabled)
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  await store.verify()
  const table = join(directory, await fileOf(directory, /\.ldb$/))
  const bytes = await readFile(table)
  // The order number after the key: with another type in it the entry would count as deleted.
  await flipBit(table, (bytes.indexOf('value of 77 ') - 8) * 8)
  await rejects(store.verify(), isDamaged)
})

test('batch numbers are given up behind 16 MiB of later writes, and not before', async () => {
  const directory = join(root, 'pruned')
  const value = new Uint8Array(1024 * 1024 - 100).fill(5)
  {
    await using store = await openLevelStore({ directory, identity: 'log/0' })
    for (let n = 0; n < 40; n++) await store.write([['large', value]], checkpointAfter(n + 1))
    await store.verify()
  }
  const raw = new ClassicLevel(directory, { compression: false })
  const keys = await raw.keys({ gte: '~batch/', lt: '~batch0' }).all()
  await raw.close()
  ok(keys.length >= 16 && keys.length <= 18, `${keys.length} kept`)
  ok(keys.at(-1)?.endsWith('40'))
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  deepEqual(store.checkpoint(), checkpointAfter(40))
})

async function writeAll(directory: string, writes: number): Promise<void> {
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  for (const [n, changes] of ALL_CHANGES.slice(0, writes).entries()) {
    await store.write(changes, checkpointAfter(n + 1))
  }
}

type Found = 'prefix' | 'damaged'

/**
 * Flips one bit of a copy at each of `count` places, spread evenly over the file and over the bits
 * of a byte.
 */
async function flipBits(
  base: string,
  name: string,
  count: number,
  read: (directory: string) => Promise<Found>,
): Promise<{ readonly damaged: number; readonly prefixes: number }> {
  const { length } = await readFile(join(base, name))
  let damaged = 0
  for (let i = 0; i < count; i++) {
    const directory = await copyOf(base)
    const byte = Math.floor((length * i) / count)
    await flipBit(join(directory, name), byte * 8 + (i % 8))
    if ((await read(directory)) === 'damaged') damaged++
    await rm(directory, { recursive: true })
  }
  return { damaged, prefixes: count - damaged }
}

async function readWhole(directory: string): Promise<Found> {
  try {
    await using store = await openLevelStore({ directory, identity: 'log/0' })
    await store.verify()
    const writes = await prefixOf(store)
    for (const [key, value] of contentAfter(writes)) {
      ok(Buffer.compare(store.get(key) ?? NOTHING, value) === 0, `another value of ${key}`)
    }
    return 'prefix'
  } catch (error) {
    if (isDamaged(error)) return 'damaged'
    throw error
  }
}

/** How many writes the store holds; fails unless it holds them whole and nothing else. */
async function prefixOf(store: Store): Promise<number> {
  const checkpoint = store.checkpoint()
  const writes = Number(checkpoint?.changelog ?? 0n)
  const { rows: page } = await store.page(EVERYTHING)
  ok(page.map(lineOf).join('\n') === linesAfter(writes), `not the content after ${writes} writes`)
  if (checkpoint !== undefined) deepEqual(checkpoint, checkpointAfter(writes))
  return writes
}

function changesOf(write: number): readonly StoreChange[] {
  const value = valueWritten(write)
  // Every seventh write removes an entry of an earlier one.
  const first: StoreChange =
    write % 7 === 6 ? [keyOf('a', write - 3), null] : [keyOf('a', write), value]
  return [first, [keyOf('b', write % CYCLE), value]]
}

function valueWritten(write: number): Uint8Array {
  return Uint8Array.from(Buffer.from(`value of ${write} `.repeat(3)))
}

function keyOf(prefix: string, number: number): string {
  return `${prefix}/${String(number).padStart(8, '0')}`
}

function contentAfter(writes: number): ReadonlyMap<string, Uint8Array> {
  const content = new Map<string, Uint8Array>()
  for (const [key, value] of ALL_CHANGES.slice(0, writes).flat()) {
    if (value === null) content.delete(key)
    else content.set(key, value)
  }
  return content
}

function linesAfter(writes: number): string {
  const lines = LINES.get(writes) ?? [...contentAfter(writes)].map(lineOf).sort().join('\n')
  LINES.set(writes, lines)
  return lines
}

function lineOf([key, value]: StoreEntry): string {
  return `${key}=${Buffer.from(value).toString('latin1')}`
}

function checkpointAfter(writes: number) {
  return { changelog: BigInt(writes), position: BigInt(writes) * 3n }
}

async function flipBit(path: string, bit: number): Promise<void> {
  const bytes = await readFile(path)
  bytes[bit >> 3]! ^= 1 << (bit & 7)
  await writeFile(path, bytes)
}

async function copyOf(directory: string): Promise<string> {
  const copy = await mkdtemp(join(root, 'copy-'))
  await cp(directory, copy, { recursive: true })
  return copy
}

async function fileOf(directory: string, pattern: RegExp): Promise<string> {
  const name = (await readdir(directory)).find((name) => pattern.test(name))
  ok(name !== undefined)
  return name
}

function isDamaged(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'DAMAGED'
}
