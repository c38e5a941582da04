/** What a store keeps of changes: chains that are searched in few steps, and forgotten in order. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { StoreChange } from '../../../../ports/store.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { type FormerChange, formerRecords } from './former-record.ts'
import { forgottenRows, reachOf, rowsOf } from './former-rows.ts'
import { RowStore } from './row-store.ts'
import { storeAt } from './store-at.ts'

const KEY = 'node/c/a'
/** Of another key that begins alike. */
const LIKE = 'node/c/a-b'

const bytesOf = (text: string): Uint8Array => Buffer.from(text)

/** A store that a fold writes: each call is a commit of one event. */
class Folding {
  readonly store = new RowStore(new MemoryStore(), codec)
  position = 0n

  async commit(
    values: Readonly<Record<string, string | null>>,
    from = this.position,
  ): Promise<void> {
    const changes: StoreChange[] = []
    const formers: FormerChange[] = []
    for (const [key, text] of Object.entries(values)) {
      formers.push({ key, position: from, at: Number(from), before: this.store.get(key) })
      changes.push([key, text === null ? null : bytesOf(text)])
    }
    this.position = from + 1n
    const folded = { from, to: this.position }
    const records = formerRecords(codec, 0, formers, folded)
    const rows = rowsOf(this.store, codec, changes, { changes: formers, records, folded })
    await this.store.writeRows(rows, { changelog: 0n, position: this.position })
  }

  async forget(before: bigint): Promise<void> {
    for (;;) {
      const rows = await forgottenRows(this.store, codec, before)
      if (rows.length === 0) return
      await this.store.write(rows, { changelog: 0n, position: this.position })
    }
  }

  at(position: number, key = KEY): string | undefined {
    const value = storeAt(this.store, codec, BigInt(position)).get(key)
    return value && Buffer.from(value).toString()
  }
}

suite('what was there before', () => {
  test('is found of a key that comes, changes and goes', async () => {
    const folding = new Folding()
    await folding.commit({ [KEY]: 'first' })
    await folding.commit({ [LIKE]: 'other' })
    await folding.commit({ [KEY]: 'second' })
    await folding.commit({ [KEY]: null })
    deepEqual(
      [0, 1, 2, 3, 4].map((position) => folding.at(position)),
      [undefined, 'first', 'first', 'second', undefined],
    )
    const { rows } = await storeAt(folding.store, codec, 3n).page({
      gte: KEY,
      lt: 'node/d',
      limit: 9,
    })
    deepEqual(
      rows.map(([key]) => key),
      [KEY, LIKE],
    )
  })

  test('of ten thousand changes is found in few reads', async () => {
    const folding = new Folding()
    for (let change = 0; change < 10_000; change++) await folding.commit({ [KEY]: `${change}` })
    let reads = 0
    const { store } = folding
    const counted =
      (read: (key: string) => Uint8Array | undefined) =>
      (key: string): Uint8Array | undefined => {
        reads += 1
        return read(key)
      }
    const counting = {
      page: store.page.bind(store),
      rows: store.rows.bind(store),
      get: counted((key) => store.get(key)),
      row: counted((key) => store.row(key)),
    }
    for (const position of [1, 63, 64, 65, 640, 5_000, 9_999]) {
      const value = storeAt(counting, codec, BigInt(position)).get(KEY)
      equal(Buffer.from(value ?? []).toString(), `${position - 1}`)
    }
    // The newest, a mark for each 64 changes, and from the last one on 64 steps.
    ok(reads <= 7 * (2 + 10_000 / 64 + 64), `${reads} reads`)
  })

  test('is forgotten from the oldest on, and what is left is answered as before', async () => {
    const folding = new Folding()
    for (let change = 0; change < 200; change++) {
      await folding.commit({ [KEY]: `${change}`, [`node/c/${change % 7}`]: `${change}` })
    }
    await folding.commit({ [LIKE]: 'x' })
    await folding.commit({ [LIKE]: null })
    await folding.forget(150n)
    equal(reachOf(folding.store, codec)?.begin, 150)
    for (let position = 150; position <= 200; position++) {
      equal(folding.at(position), `${position - 1}`)
    }
    await folding.forget(1_000n)
    equal(reachOf(folding.store, codec)?.begin, 202)
    const { rows } = await folding.store.page({ gte: '|', lt: '~', limit: 1_000 })
    // Of keys that still hold something their newest change is known.
    deepEqual(
      rows.filter(([key]) => !key.startsWith('|last/')).map(([key]) => key),
      ['|reach'],
    )
    ok(!rows.some(([key]) => key.includes(LIKE)))
  })

  test('is remembered from where the store was brought up to', async () => {
    const folding = new Folding()
    for (let change = 0; change < 5; change++) await folding.commit({ [KEY]: `${change}` })
    equal(reachOf(folding.store, codec)?.begin, 0)
    // What the events from 5 to 8 changed came from the changelog.
    await folding.store.write([[KEY, bytesOf('elsewhere')]], { changelog: 0n, position: 9n })
    await folding.commit({ [KEY]: 'nine' }, 9n)
    await folding.commit({ [KEY]: 'ten' })
    deepEqual(reachOf(folding.store, codec), {
      ...{ type: 'FormerReach', begin: 9, end: 11, isFilled: false },
      older: { begin: 0, end: 5 },
    })
    deepEqual([folding.at(9), folding.at(10), folding.at(11)], ['elsewhere', 'nine', 'ten'])
  })
})
