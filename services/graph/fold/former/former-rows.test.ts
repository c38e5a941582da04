/** What a store keeps of changes: chains that are searched in few steps, and forgotten in order. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { StoreChange } from '../../../../ports/store.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { changesBack, keysChanged } from './changed.ts'
import { olderChangesOf, PendingRows, putNumber } from './former-chain.ts'
import { changedKey } from './former-key.ts'
import { type FormerChange, formerRecords } from './former-record.ts'
import { forgottenRows, reachOf, rowsLeft, rowsOf } from './former-rows.ts'
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

  test('is found of a key that goes while keys are read', async () => {
    const folding = new Folding()
    const keys = Array.from({ length: 1_200 }, (_, at) => `edge/c/o/p/${1_000 + at}`)
    await folding.commit(Object.fromEntries(keys.map((key) => [key, 'named'])))
    const found: string[] = []
    for await (const key of keysChanged(folding.store, codec, 'edge/c/o/', 1)) {
      if (found.length === 0) await folding.commit({ [keys.at(-1) ?? '']: null })
      found.push(key)
    }
    deepEqual(found, keys)
  })

  test('is found of keys of which more are gone than are read at once', async () => {
    const folding = new Folding()
    const keys = Array.from({ length: 1_200 }, (_, at) => `edge/c/o/p/${1_000 + at}`)
    await folding.commit(Object.fromEntries(keys.map((key) => [key, 'named'])))
    const gone = keys.filter((_, at) => at % 100 > 0)
    await folding.commit(Object.fromEntries(gone.map((key) => [key, null])))
    const found: string[] = []
    for await (const key of keysChanged(folding.store, codec, 'edge/c/o/', 2)) found.push(key)
    deepEqual(found, keys)
  })

  test('and is forgotten leaves nothing when its key goes elsewhere', async () => {
    const folding = new Folding()
    await folding.commit({ [KEY]: 'first' })
    await folding.commit({ [KEY]: 'second' })
    await folding.forget(2n)
    await folding.store.write([[KEY, null]], { changelog: 0n, position: 3n })
    equal(olderChangesOf(folding.store, codec, KEY), undefined)
  })

  test('is not told where a change behind it is missing', async () => {
    const folding = new Folding()
    await folding.commit({ [KEY]: 'first' })
    await folding.commit({ [KEY]: 'second' })
    await folding.store.write([[KEY, null]], { changelog: 0n, position: 3n })
    await folding.commit({ [LIKE]: 'other' }, 3n)
    deepEqual([...changesBack(folding.store, codec, KEY, 4)], [])
  })

  test('is put below a part of a list that is forgotten', () => {
    const older = 1_000
    const records = Array.from({ length: 65 }, (_, at) => older + 1 + at)
    const head = { type: 'LastChange', position: 1_065, records, older } as const
    const rows = new PendingRows(new MemoryStore())
    rows.put(`|last/${KEY}`, codec.encode(head))
    for (let number = older; number > older - 200; number--) {
      rows.put(changedKey(number), new Uint8Array())
      putNumber(rows, codec, KEY, { number, position: number })
    }
    let [part, count] = [olderChangesOf(rows, codec, KEY)?.older ?? null, 0]
    for (; part !== null && count < 10; count++) {
      const bytes = rows.get(`|chain/${KEY} ${part.toString().padStart(16, '0')}`)
      part = bytes === undefined ? null : (codec.decode(bytes) as { older: number | null }).older
    }
    ok(count < 10, 'its parts end')
  })

  test('leaves nothing where it is left for a while only', async () => {
    for (let most = 0; most < 10; most++) {
      const folding = new Folding()
      for (let change = 0; change < 5; change++) await folding.commit({ [KEY]: `${change}` })
      await folding.commit({ [KEY]: null })
      const checkpoint = { changelog: 0n, position: folding.position }
      for (let left = most; left > 0; ) {
        const rows = (await rowsLeft(folding.store)).slice(0, left)
        if (rows.length === 0) break
        await folding.store.write(rows, checkpoint)
        left -= rows.length
      }
      await folding.commit({ [LIKE]: 'x' }, 9n)
      await folding.forget(10n)
      const { rows } = await folding.store.page({ gte: '|', lt: '~', limit: 1_000 })
      deepEqual(
        rows.map(([key]) => key),
        ['|reach'],
        `${most} rows were left`,
      )
    }
  })

  test('leaves no part of a list whose records are forgotten before it has that part', async () => {
    const folding = new Folding()
    for (let change = 0; change < 400; change++) {
      await folding.commit({ [KEY]: `${change}` })
      await folding.forget(folding.position - 60n)
    }
    equal(folding.at(395), '394')
    const { rows } = await folding.store.page({ gte: '|chain/', lt: '|chain0', limit: 9 })
    deepEqual(rows, [])
  })
})
