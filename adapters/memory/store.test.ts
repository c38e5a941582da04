/** The memory store keeps the contract, and its order survives many keys. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { hash32 } from '../../ports/partition.ts'
import { storeContract } from '../../ports/store.contract.ts'
import { SortedMap } from './sorted-map.ts'
import { MemoryStore } from './store.ts'

storeContract('a memory store', async () => {
  let store = new MemoryStore()
  return {
    store,
    async reopen() {
      await store[Symbol.asyncDispose]()
      store = new MemoryStore(store.content)
      return store
    },
  }
})

test('a sorted map keeps its order through 100,000 scattered inserts and half as many deletes', () => {
  const map = new SortedMap()
  const keys = Array.from({ length: 100_000 }, (_, i) => `${hash32(String(i))}/${i}`)
  const value = new Uint8Array(1)
  for (const key of keys) map.set(key, value)
  for (const key of keys.slice(0, 50_000)) map.delete(key)

  const kept = keys.slice(50_000).sort()
  const page = map.page('', '~', Number.POSITIVE_INFINITY)
  deepEqual(
    page.map(([key]) => key),
    kept,
  )
  equal(map.size, kept.length)
  const from = kept[31_000]!
  deepEqual(
    map.page(`${from}!`, '~', 3).map(([key]) => key),
    kept.slice(31_001, 31_004),
  )
})
