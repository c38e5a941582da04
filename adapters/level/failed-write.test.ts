/**
 * X4, F55: a write that fails, at two hundred places of the log file. It is the last one: the store
 * ends, also once there is room again, and when it is opened it holds all that was acknowledged.
 */
import { equal, ok, rejects } from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { type Store, StoreError } from '../../ports/store.ts'
import { limitFiles, withoutFileLimits } from '../../testing/process/file-limit.ts'
import { openLevelStore } from './store.ts'

const VALUE = new Uint8Array(300).fill(9)
const skip = withoutFileLimits()
let root: string

before(async () => {
  root = await mkdtemp(join(tmpdir(), 'kinfold-failed-'))
})
afterEach(() => {
  if (skip === false) limitFiles(null)
})
after(() => rm(root, { recursive: true }))

test('a store survives a write that fails at each of 200 places of its log', {
  skip,
}, async (t) => {
  const counts = new Map<number, number>()
  for (let place = 0; place < 200; place++) {
    // A prime apart, so that all parts of a record are met: its head, its keys, its values, the
    // ends of LevelDB's blocks of 32 KiB.
    const acknowledged = await failAt(`log-${place}`, 200 + place * 397)
    counts.set(acknowledged, (counts.get(acknowledged) ?? 0) + 1)
  }
  t.diagnostic(`${counts.size} numbers of writes acknowledged, up to ${Math.max(...counts.keys())}`)
  ok(counts.size > 100)
})

/**
 * Writes until one fails because a file may not grow beyond `bytes`; resolves with the writes
 * acknowledged before.
 */
async function failAt(name: string, bytes: number): Promise<number> {
  const directory = join(root, name)
  let acknowledged = 0
  {
    await using store = await openLevelStore({ directory, identity: 'log/0' })
    limitFiles(bytes)
    const failed = await firstFailure(async () => {
      await write(store, acknowledged)
      acknowledged++
    })
    ok(failed.code === 'FULL' && failed.remedy === 'stop', failed.message)
    limitFiles(null)
    for (let n = 0; n < 3; n++) await rejects(write(store, acknowledged + n), failed)
  }
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const held = Number(store.checkpoint()?.changelog ?? 0n)
  // The write that failed may be there as well; it is whole then.
  ok(held === acknowledged || held === acknowledged + 1, `${name}: ${held} of ${acknowledged}`)
  await store.verify()
  const { rows: page } = await store.page({ gte: '!', lt: '~', limit: 10_000 })
  equal(page.length, held)
  for (const [n, [key, stored]] of page.entries()) {
    equal(key, keyOf(n))
    equal(Buffer.compare(stored, VALUE), 0)
  }
  await rm(directory, { recursive: true })
  return acknowledged
}

async function firstFailure(action: () => Promise<void>): Promise<StoreError> {
  for (let n = 0; n < 1_000; n++) {
    try {
      await action()
    } catch (error) {
      if (error instanceof StoreError) return error
      throw error
    }
  }
  throw new Error('nothing failed')
}

async function write(store: Store, number: number): Promise<void> {
  await store.write([[keyOf(number), VALUE]], { changelog: BigInt(number + 1), position: 0n })
}

function keyOf(number: number): string {
  return `k/${String(number).padStart(6, '0')}`
}
