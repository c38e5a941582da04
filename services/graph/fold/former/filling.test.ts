/**
 * What a store missed is read from the log, also while that is trimmed, and what it knows is left
 * as it is.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MemoryLog } from '../../../../adapters/memory/log.ts'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { Log } from '../../../../ports/log.ts'
import { systemClock } from '../../../../runtime/clock.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { Filling } from './filling.ts'
import { type FormerChange, formerRecords } from './former-record.ts'
import { forgottenRows, reachOf, rowsOf } from './former-rows.ts'
import { RowStore } from './row-store.ts'
import { storeAt } from './store-at.ts'

const KEY = 'node/c/a'
const CHECKPOINT = { changelog: 0n, position: 0n }

const bytesOf = (text: string): Uint8Array => Buffer.from(text)

/**
 * A log with one change of a key at each position, and an empty store that has its newest value.
 */
async function missed(
  changes: number,
): Promise<{ readonly log: MemoryLog; readonly store: RowStore }> {
  const log = new MemoryLog({ partitions: 1, clock: systemClock() })
  for (let at = 0; at < changes; at++) {
    const before = at === 0 ? undefined : bytesOf(`${at - 1}`)
    const change: FormerChange = { key: KEY, position: BigInt(at), at, before }
    const folded = { from: BigInt(at), to: BigInt(at + 1) }
    for (const record of formerRecords(codec, 0, [change], folded)) {
      await log.append('former', 0, [{ key: `${at}`, value: codec.encode(record) }])
    }
  }
  const store = new RowStore(new MemoryStore(), codec)
  await store.write([[KEY, bytesOf(`${changes - 1}`)]], CHECKPOINT)
  const folded = { from: BigInt(changes), to: BigInt(changes) }
  const rows = rowsOf(store, codec, [], { changes: [], records: [], folded })
  await store.writeRows(rows, CHECKPOINT)
  return { log, store }
}

async function fill(log: Log, store: RowStore): Promise<void> {
  const filling = new Filling({ log, codec, store, partition: 0 })
  while (!filling.isOver) await store.write(await filling.step(), CHECKPOINT)
}

function valueAt(store: RowStore, position: number): string {
  const value = storeAt(store, codec, BigInt(position)).get(KEY)
  return Buffer.from(value ?? []).toString()
}

suite('what a store missed', () => {
  test('is filled to the beginning, over many pages of the log', async () => {
    const { log, store } = await missed(200)
    await fill(log, store)
    equal(reachOf(store, codec)?.begin, 0)
    deepEqual(
      [1, 2, 100, 199, 200].map((at) => valueAt(store, at)),
      ['0', '1', '99', '198', '199'],
    )
  })

  test('is filled as far as the log reaches, which is trimmed between two reads', async () => {
    const { log, store } = await missed(200)
    const bounds = log.bounds.bind(log)
    let looks = 0
    log.bounds = async (...asked) => {
      const told = await bounds(...asked)
      looks += 1
      if (looks === 3) await log.trim('former', 0, 100n)
      return told
    }
    await fill(log, store)
    equal(reachOf(store, codec)?.begin, 100)
    deepEqual(
      [150, 199].map((at) => valueAt(store, at)),
      ['149', '198'],
    )
  })

  test('is not filled below what is forgotten meanwhile', async () => {
    const { log, store } = await missed(200)
    const filling = new Filling({ log, codec, store, partition: 0 })
    await store.write(await filling.step(), CHECKPOINT)
    await store.write(await forgottenRows(store, codec, 160n), CHECKPOINT)
    // As after a restart, which knows of no position to forget yet.
    await fill(log, store)
    equal((reachOf(store, codec)?.begin ?? 0) >= 136, true)
    deepEqual(
      [160, 199].map((at) => valueAt(store, at)),
      ['159', '198'],
    )
  })

  test('is left as it is where it is known already', async () => {
    const { log, store } = await missed(10)
    await fill(log, store)
    const reach = reachOf(store, codec)
    if (reach === undefined) throw new Error('it remembers something')
    // As after a gap within a gap: what lies below is read again.
    await store.write(
      [['|reach', codec.encode({ ...reach, begin: 10, isFilled: false })]],
      CHECKPOINT,
    )
    await fill(log, store)
    deepEqual(
      [1, 5, 10].map((at) => valueAt(store, at)),
      ['0', '4', '9'],
    )
  })
})
