/**
 * X4 of the fault catalogue: LevelDB acknowledges writes after a failed one and loses them. The
 * store ends at the first failure instead, and what it acknowledged before is there when it is
 * opened again.
 */
import { equal, ok, rejects, throws } from 'node:assert/strict'
import { join } from 'node:path'
import { type Store, StoreError, type StoreErrorCode } from '../../ports/store.ts'
import { testOnSmallDisk } from '../../testing/process/small-disk.ts'
import { openLevelStore } from './store.ts'

const VALUE = new Uint8Array(1_000).fill(9)

const FULL =
  'a store on a full disk ends with FULL, also after room was made, and keeps what it acknowledged: X4'

testOnSmallDisk(import.meta.filename, FULL, 600, async (disk) => {
  const directory = join(disk.path, 'store')
  const store = await openLevelStore({ directory, identity: 'log/0' })
  const acknowledged = await writeUntil(store, 'FULL')
  ok(acknowledged > 100)
  disk.resize(6 * 1024)
  await assertEnded(store, 'FULL')
  await store[Symbol.asyncDispose]()
  await assertKept(directory, acknowledged)
})

async function writeUntil(store: Store, code: StoreErrorCode): Promise<number> {
  for (let n = 0; n < 10_000; n++) {
    try {
      await store.write([[`k/${String(n).padStart(6, '0')}`, VALUE]], {
        changelog: BigInt(n + 1),
        position: 0n,
      })
    } catch (error) {
      ok(has(code)(error), String(error))
      return n
    }
  }
  throw new Error('no write failed')
}

async function assertEnded(store: Store, code: StoreErrorCode): Promise<void> {
  for (let n = 0; n < 5; n++) {
    await rejects(store.write([['late', VALUE]], { changelog: 0n, position: 0n }), has(code))
  }
  await rejects(store.page({ gte: 'k', lt: 'l', limit: 1 }), has(code))
  throws(() => store.get('k/000000'), has(code))
}

/** The write that failed may be there as well; it is whole then. */
async function assertKept(directory: string, acknowledged: number): Promise<void> {
  await using store = await openLevelStore({ directory, identity: 'log/0' })
  const held = Number(store.checkpoint()?.changelog)
  ok(
    held === acknowledged || held === acknowledged + 1,
    `${held} held, ${acknowledged} acknowledged`,
  )
  const { rows: page } = await store.page({ gte: '!', lt: '~', limit: 20_000 })
  equal(page.length, held)
  equal(page.at(-1)?.[0], `k/${String(held - 1).padStart(6, '0')}`)
  await store.verify()
}

function has(code: StoreErrorCode): (error: unknown) => boolean {
  return (error) => error instanceof StoreError && error.code === code
}
