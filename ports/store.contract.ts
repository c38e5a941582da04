/**
 * What every Store promises, as tests that each adapter runs.
 *
 * What must stay true: nothing here knows an adapter; the expected content is computed by a plain
 * Map, sorted anew each time.
 *
 * Not here: damage and crashes, which only a store on a disk can have (adapters/level).
 */
import { deepEqual, equal, rejects, throws } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import {
  entriesIn,
  type KeyRange,
  prefixRange,
  type Store,
  type StoreChange,
  type StoreEntry,
  StoreError,
  type StorePage,
} from './store.ts'

export interface StoreFixture {
  /** Open and empty. */
  readonly store: Store
  /** Closes the store and opens it again, as a restart does. */
  reopen(): Promise<Store>
}

type OpenFixture = (t: TestContext) => Promise<StoreFixture>

export function storeContract(name: string, open: OpenFixture): void {
  contentTests(name, open)
  pageTests(name, open)
  viewTests(name, open)
  lifeTests(name, open)
  modelTest(name, open)
}

function contentTests(name: string, open: OpenFixture): void {
  test(`${name} is empty and has no checkpoint when it is new`, async (t) => {
    const { store } = await open(t)
    equal(store.checkpoint(), undefined)
    equal(store.get('a'), undefined)
    deepEqual(await rowsOf(store, EVERYTHING), [])
  })

  test(`${name} reads back what one write put, at once and with its checkpoint`, async (t) => {
    const { store } = await open(t)
    const value = bytes('one')
    await store.write([put('a', 'one'), ['empty', new Uint8Array(0)]], at(7))
    deepEqual(store.get('a'), value)
    deepEqual(store.get('empty'), new Uint8Array(0))
    equal(store.get('b'), undefined)
    deepEqual(store.checkpoint(), at(7))
  })

  test(`${name} replaces a value and removes one by null, also one that is not there`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one'), put('b', 'two')], at(1))
    await store.write([put('a', 'three'), ['b', null], ['c', null]], at(2))
    deepEqual(await rowsOf(store, EVERYTHING), [put('a', 'three')])
    equal(store.get('b'), undefined)
  })

  test(`${name} takes the last of several changes to one key in one write`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one'), ['a', null], put('b', 'x'), put('a', 'two')], at(1))
    await store.write([put('b', 'y'), ['b', null]], at(2))
    deepEqual(await rowsOf(store, EVERYTHING), [put('a', 'two')])
  })

  test(`${name} moves its checkpoint by a write without changes`, async (t) => {
    const { store } = await open(t)
    const checkpoint = { changelog: 2n ** 53n + 1n, position: 2n ** 62n }
    await store.write([], checkpoint)
    deepEqual(store.checkpoint(), checkpoint)
    deepEqual(await rowsOf(store, EVERYTHING), [])
  })

  test(`${name} refuses a key of its own and then has written nothing`, async (t) => {
    const { store } = await open(t)
    await rejects(store.write([put('a', 'one'), put('~checkpoint', 'x')], at(1)), RangeError)
    equal(store.get('a'), undefined)
    equal(store.checkpoint(), undefined)
    await store.write([put('a', 'one')], at(1))
    deepEqual(store.get('a'), bytes('one'))
  })
}

function viewTests(name: string, open: OpenFixture): void {
  test(`${name} gives a view of what it holds at that moment, whatever is written later`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one'), put('b', 'two'), put('c', 'three')], at(1))
    await using view = store.view()
    await store.write([put('a', 'four'), ['b', null], put('d', 'five')], at(2))
    deepEqual(await rowsOf(view, EVERYTHING), [put('a', 'one'), put('b', 'two'), put('c', 'three')])
    deepEqual(await view.page({ gte: 'b', lt: 'z', limit: 1 }), {
      rows: [put('b', 'two')],
      isCut: true,
    })
    deepEqual(await rowsOf(store, EVERYTHING), [
      put('a', 'four'),
      put('c', 'three'),
      put('d', 'five'),
    ])
  })

  test(`${name} closes its views when it is wiped, and is usable`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one')], at(1))
    await using view = store.view()
    await store.wipe()
    await store.write([put('b', 'two')], at(1))
    await rejects(view.page(EVERYTHING), isClosed)
    deepEqual(await rowsOf(store, EVERYTHING), [put('b', 'two')])
  })

  test(`${name} closes its views when it is closed`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one')], at(1))
    await using view = store.view()
    await store[Symbol.asyncDispose]()
    await rejects(view.page(EVERYTHING), isClosed)
  })
}

function pageTests(name: string, open: OpenFixture): void {
  test(`${name} pages in the order of ASCII`, async (t) => {
    const { store } = await open(t)
    const keys = ['a', 'a ', 'a!', 'a%2F', 'a,b', 'a-b', 'a/b', 'a0', 'aA', 'a_b', 'aa', 'a~b', 'b']
    await store.write(
      keys.toReversed().map((key) => put(key, key)),
      at(1),
    )
    deepEqual(keysOf(await rowsOf(store, EVERYTHING)), keys)
  })

  test(`${name} takes gte as inclusive, lt as exclusive, and keeps to the limit`, async (t) => {
    const { store } = await open(t)
    await store.write(
      ['a', 'b', 'c', 'd'].map((key) => put(key, key)),
      at(1),
    )
    const keys = async (gte: string, lt: string, limit: number) =>
      keysOf(await rowsOf(store, { gte, lt, limit }))
    deepEqual(await keys('b', 'd', 10), ['b', 'c'])
    deepEqual(await keys('b', 'd', 1), ['b'])
    deepEqual(await keys('aa', 'dd', 10), ['b', 'c', 'd'])
    deepEqual(await keys('b', 'b', 10), [])
    deepEqual(await keys('a', 'd', 0), [])
  })

  test(`${name} says of a page whether the range has more keys, at the end that was asked for`, async (t) => {
    const { store } = await open(t)
    await store.write(
      ['a', 'b', 'c', 'd'].map((key) => put(key, key)),
      at(1),
    )
    const told = async (range: KeyRange) => {
      const { rows, isCut } = await store.page(range)
      return `${keysOf(rows).join('')}${isCut ? '…' : ''}`
    }
    const range = { gte: 'b', lt: 'z', limit: 2 }
    equal(await told(range), 'bc…')
    equal(await told({ ...range, limit: 3 }), 'bcd')
    equal(await told({ ...range, lt: 'd' }), 'bc')
    equal(await told({ ...range, limit: 0 }), '…')
    equal(await told({ ...range, gte: 'e' }), '')
    equal(await told({ ...range, take: 'last' }), 'cd…')
    equal(await told({ ...range, take: 'last', lt: 'd' }), 'bc')
    equal(await told({ ...range, take: 'last', limit: 3 }), 'bcd')
    equal(await told({ ...range, most: 3 }), 'bc…')
    equal(await told({ ...range, most: 4, limit: 3 }), 'bcd')
    equal(await told({ ...range, gte: 'e', most: 0 }), '')
  })

  test(`${name} pages by prefix, and a neighbour's keys stay out`, async (t) => {
    const { store } = await open(t)
    const keys = ['node/a', 'node/b', 'node0', 'nodes/a', 'mode/a']
    await store.write(
      keys.map((key) => put(key, key)),
      at(1),
    )
    deepEqual(keysOf(await rowsOf(store, prefixRange('node/', 10))), ['node/a', 'node/b'])
  })

  test(`${name} never pages keys of its own`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one')], at(1))
    deepEqual(keysOf(await rowsOf(store, { gte: '!', lt: '\x7f', limit: 100 })), ['a'])
    deepEqual(await store.page(prefixRange('~', 100)), { rows: [], isCut: false })
  })

  test(`${name} gives a large page whole, and values of any size`, async (t) => {
    const { store } = await open(t)
    const entries = Array.from(
      { length: 5_000 },
      (_, i): StoreEntry => [`key/${String(i).padStart(5, '0')}`, new Uint8Array(i % 500).fill(i)],
    )
    const large: StoreEntry = ['large', new Uint8Array(900_000).fill(7)]
    await store.write([...entries, large], at(1))
    for (const limit of [10_000, Number.MAX_SAFE_INTEGER]) {
      const rows = [...entries, large]
      deepEqual(await store.page({ ...EVERYTHING, limit }), { rows, isCut: false })
    }
    deepEqual(await store.page({ gte: 'key/01000', lt: 'l', limit: 3_000 }), {
      rows: entries.slice(1_000, 4_000),
      isCut: true,
    })
  })
}

function lifeTests(name: string, open: OpenFixture): void {
  test(`${name} keeps content and checkpoint over a reopening`, async (t) => {
    const fixture = await open(t)
    await fixture.store.write([put('a', 'one'), put('b', 'two')], at(1))
    await fixture.store.write([['a', null], put('c', 'three')], at(2))
    const store = await fixture.reopen()
    deepEqual(await rowsOf(store, EVERYTHING), [put('b', 'two'), put('c', 'three')])
    deepEqual(store.checkpoint(), at(2))
    await store.write([put('d', 'four')], at(3))
    await store.verify()
  })

  test(`${name} is as new after a wipe, over a reopening, too`, async (t) => {
    const fixture = await open(t)
    await fixture.store.write([put('a', 'one')], at(1))
    await fixture.store.wipe()
    equal(fixture.store.checkpoint(), undefined)
    equal(fixture.store.get('a'), undefined)
    const store = await fixture.reopen()
    equal(store.checkpoint(), undefined)
    deepEqual(await rowsOf(store, EVERYTHING), [])
    await store.write([put('b', 'two')], at(2))
    deepEqual(store.get('b'), bytes('two'))
  })

  test(`${name} throws CLOSED from every call once it is closed, and may be closed twice`, async (t) => {
    const { store } = await open(t)
    await store.write([put('a', 'one')], at(1))
    await store[Symbol.asyncDispose]()
    await store[Symbol.asyncDispose]()
    throws(() => store.get('a'), isClosed)
    throws(() => store.checkpoint(), isClosed)
    throws(() => store.view(), isClosed)
    await rejects(store.page(EVERYTHING), isClosed)
    await rejects(store.write([put('a', 'two')], at(2)), isClosed)
    await rejects(store.wipe(), isClosed)
    await rejects(store.verify(), isClosed)
  })

  test(`${name} verifies what it holds, and stops when told to`, async (t) => {
    const { store } = await open(t)
    await store.verify()
    await store.write([put('a', 'one')], at(1))
    await store.verify()
    await rejects(store.verify(AbortSignal.abort(new Error('enough'))), /enough/)
    deepEqual(store.get('a'), bytes('one'))
  })
}

/** Any sequence of writes, reopenings and wipes leaves the content of a sorted Map. */
function modelTest(name: string, open: OpenFixture): void {
  const key = fc.string({
    unit: fc.constantFrom('a', 'b', '/', '0', '-', '_'),
    minLength: 1,
    maxLength: 4,
  })
  const value = fc.option(fc.uint8Array({ maxLength: 40 }))
  const step = fc.oneof(
    { weight: 8, arbitrary: fc.array(fc.tuple(key, value), { maxLength: 12 }) },
    { weight: 1, arbitrary: fc.constantFrom('reopen' as const, 'wipe' as const) },
  )
  const range = fc.record({
    gte: key,
    lt: key,
    limit: fc.integer({ min: 0, max: 20 }),
    take: fc.constantFrom('first' as const, 'last' as const),
  })

  test(`${name} holds what a sorted map holds after any steps`, async (t) => {
    const fixture = await open(t)
    let store = fixture.store
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 12 }),
        fc.array(range),
        async (steps, ranges) => {
          const model = new Map<string, Uint8Array>()
          await store.wipe()
          for (const [number, step] of steps.entries()) {
            if (step === 'reopen') store = await fixture.reopen()
            else if (step === 'wipe') await store.wipe()
            else await store.write(step, at(number))
            applyTo(model, step)
          }
          for (const range of [EVERYTHING, ...ranges]) {
            const [page, count] = pageOf(model, range)
            deepEqual(await store.page(range), page)
            deepEqual(await store.page({ ...range, most: count }), page)
            deepEqual(await store.page({ ...range, most: count + 1 }), page)
          }
          deepEqual(await all(entriesIn(store, { ...EVERYTHING, limit: 3 })), entriesOf(model))
          for (const [key, value] of model) deepEqual(store.get(key), value)
        },
      ),
      { numRuns: 60 },
    )
  })
}

function applyTo(
  model: Map<string, Uint8Array>,
  step: readonly StoreChange[] | 'reopen' | 'wipe',
): void {
  if (step === 'reopen') return
  if (step === 'wipe') {
    model.clear()
    return
  }
  for (const [key, value] of step) {
    if (value === null) model.delete(key)
    else model.set(key, value)
  }
}

/** And how many keys the range has. */
function pageOf(
  model: ReadonlyMap<string, Uint8Array>,
  { gte, lt, limit, take }: KeyRange,
): readonly [StorePage, number] {
  const within = entriesOf(model).filter(([key]) => key >= gte && key < lt)
  const from = take === 'last' ? Math.max(0, within.length - limit) : 0
  const rows = within.slice(from, from + limit)
  return [{ rows, isCut: rows.length < within.length }, within.length]
}

function entriesOf(model: ReadonlyMap<string, Uint8Array>): StoreEntry[] {
  return [...model].sort(([a], [b]) => (a < b ? -1 : 1))
}

async function all(entries: AsyncIterable<StoreEntry>): Promise<StoreEntry[]> {
  return await Array.fromAsync(entries)
}

/** Of a page that has all of its range, or is meant to have the first of it. */
async function rowsOf(store: Pick<Store, 'page'>, range: KeyRange): Promise<readonly StoreEntry[]> {
  return (await store.page(range)).rows
}

const EVERYTHING: KeyRange = { gte: '!', lt: '~', limit: 1_000 }

function at(number: number): { readonly changelog: bigint; readonly position: bigint } {
  return { changelog: BigInt(number), position: BigInt(number) * 10n }
}

function put(key: string, text: string): readonly [string, Uint8Array] {
  return [key, bytes(text)]
}

function bytes(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text))
}

function keysOf(entries: readonly StoreEntry[]): readonly string[] {
  return entries.map(([key]) => key)
}

function isClosed(error: unknown): boolean {
  return error instanceof StoreError && error.code === 'CLOSED'
}
