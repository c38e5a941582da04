/**
 * A store that gathers commits keeps the contract of a store; the store below it is always at some
 * earlier whole commit with its checkpoint.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ManualClock } from '../../../../adapters/memory/clock.ts'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import { edgeKey, edgesPrefix } from '../../../../core/graph/key.ts'
import { storeContract } from '../../../../ports/store.contract.ts'
import { prefixRange, type Store, type StoreChange } from '../../../../ports/store.ts'
import { runs } from '../../../../testing/hostile.ts'
import { GATHERED_BYTES, GATHERED_MS, GATHERED_WRITES } from '../../config.ts'
import { GatheringStore } from './gathering-store.ts'

storeContract('a gathering store', async () => {
  let inner = new MemoryStore()
  const clock = new ManualClock()
  let store = new GatheringStore(inner, clock)
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      inner = new MemoryStore(inner.content)
      store = new GatheringStore(inner, clock)
      return store
    },
  }
})

const ALL = { gte: ' ', lt: '~', limit: 10_000 }
const PLACE = { group: '', kind: 'Pod', namespace: 'ns', name: 'web' }

const key = fc.oneof(
  fc
    .tuple(fc.nat(2), fc.nat(9))
    .map(([owner, each]) => edgeKey('c', `o${owner}`, PLACE, `d${each}`)),
  fc.constantFrom('position', 'node/c/a', 'node/c/b', 'kind/c/x', 'count/c/o1', 'owner/c/o1/p'),
)
const value = fc.option(fc.uint8Array({ minLength: 1, maxLength: 3 }), { freq: 3 })
const commit = fc.array(fc.tuple(key, value), { maxLength: 8 })
const step = fc.record({
  commit,
  passMs: fc.constantFrom(0, 0, 0, GATHERED_MS),
  limit: fc.integer({ min: 1, max: 6 }),
})

test('pages, points and the checkpoint are those of all commits, and a crash leaves one of them', async () => {
  let crashes = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      const inner = new MemoryStore()
      const clock = new ManualClock()
      const store = new GatheringStore(inner, clock)
      const model = new Map<string, Uint8Array>()
      const states = new Map([[-1n, linesOf([])]])
      for (const [number, { commit, passMs, limit }] of steps.entries()) {
        if (passMs > 0) await clock.advance(passMs)
        const checkpoint = { changelog: BigInt(number), position: BigInt(number) }
        await store.write(commit, checkpoint)
        for (const [key, value] of commit) {
          if (value === null) model.delete(key)
          else model.set(key, value)
        }
        const now = [...model].sort(([a], [b]) => (a < b ? -1 : 1))
        states.set(checkpoint.changelog, linesOf(now))
        deepEqual(store.checkpoint(), checkpoint)
        for (const prefix of [edgesPrefix('c', 'o1', 'a'), 'node/', 'edge/']) {
          const range = prefixRange(prefix, limit)
          const right = now.filter(([key]) => key.startsWith(prefix))
          const isCut = right.length > limit
          for (const most of [right.length, right.length + 2, undefined]) {
            const asked = most === undefined ? range : { ...range, most }
            const first = await store.page(asked)
            deepEqual([linesOf(first.rows), first.isCut], [linesOf(right.slice(0, limit)), isCut])
            const last = await store.page({ ...asked, take: 'last' })
            deepEqual([linesOf(last.rows), last.isCut], [linesOf(right.slice(-limit)), isCut])
          }
          const after = right[0]?.[0]
          if (after === undefined) continue
          const rest = await store.page({ ...range, gte: `${after}\0` })
          deepEqual(linesOf(rest.rows), linesOf(right.slice(1, limit + 1)))
        }
        for (const [key, value] of now) deepEqual(store.get(key), value)
        deepEqual(linesOf((await store.page(ALL)).rows), linesOf(now))
        // The state that a process killed now finds when it begins again.
        const at = inner.checkpoint()?.changelog ?? -1n
        deepEqual(linesOf((await inner.page(ALL)).rows), states.get(at))
        if (at < checkpoint.changelog) crashes += 1
      }
    }),
    runs(150),
  )
  ok(crashes > 1_000, `${crashes}`)
})

test('a page that begins before a write under it is of that moment', async () => {
  const { store, write } = gathering()
  await write([['edge/c/o/a', Uint8Array.of(1)]])
  const page = store.page(prefixRange('edge/c/o/', 10))
  for (let i = 0; i < GATHERED_WRITES; i++) await write([['edge/c/o/a', null]])
  deepEqual(linesOf((await page).rows), ['edge/c/o/a=1'])
  deepEqual(await store.page(prefixRange('edge/c/o/', 10)), { rows: [], isCut: false })
})

test('so many commits, bytes and milliseconds are gathered and no more', async () => {
  const { store, inner, clock, write } = gathering()
  for (let i = 1; i < GATHERED_WRITES; i++) await write([['a', Uint8Array.of(i)]])
  equal(inner.checkpoint(), undefined)
  await write([])
  deepEqual(inner.checkpoint(), store.checkpoint())
  equal(store.gathered.size, 0)

  await write([['a', new Uint8Array(GATHERED_BYTES)]])
  deepEqual(inner.checkpoint(), store.checkpoint())

  await write([['a', Uint8Array.of(1)]])
  await clock.advance(GATHERED_MS - 1)
  await write([['b', Uint8Array.of(1)]])
  equal(inner.get('b'), undefined)
  await clock.advance(1)
  await write([['c', Uint8Array.of(1)]])
  deepEqual(inner.checkpoint(), store.checkpoint())
  ok(inner.get('b') && inner.get('c'))
})

function gathering(): {
  readonly store: GatheringStore
  readonly inner: Store
  readonly clock: ManualClock
  write(changes: readonly StoreChange[]): Promise<void>
} {
  const inner = new MemoryStore()
  const clock = new ManualClock()
  const store = new GatheringStore(inner, clock)
  let number = 0n
  const write = async (changes: readonly StoreChange[]): Promise<void> => {
    number += 1n
    await store.write(changes, { changelog: number, position: number })
  }
  return { store, inner, clock, write }
}

function linesOf(entries: readonly (readonly [string, Uint8Array])[]): readonly string[] {
  return entries.map(([key, value]) => `${key}=${value.join()}`)
}
