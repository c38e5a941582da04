/** A name is searched among very many, and the answer says what could not be read. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import type { StoreChange } from '../../../../ports/store.ts'
import { MOST_OF_A_KIND, NameIndex } from './name-index.ts'
import { type Indexed, keysOf } from './name-key.ts'

async function storeOf(objects: readonly Indexed[]): Promise<MemoryStore> {
  const store = new MemoryStore()
  await store.write(objects.flatMap(rowsOf), { changelog: 0n, position: 0n })
  return store
}

function rowsOf(object: Indexed): StoreChange[] {
  const last = Buffer.from(JSON.stringify(object))
  return keysOf(object).map((key) => [key, key.startsWith('uid/') ? last : new Uint8Array()])
}

async function indexOf(objects: readonly Indexed[]): Promise<NameIndex> {
  return new NameIndex(await storeOf(objects))
}

function object(kind: string, each: number, isGone: boolean): Indexed {
  const place = { cluster: 'c', group: '', kind, namespace: 'ns', name: 'web' }
  return { ...place, uid: `${kind}-${each}`, at: each * 1_000, isGone, owners: [] }
}

const WEB = { namespace: 'ns', name: 'web' }

test('of each kind what exists is found, and of the deleted ones those around a moment (T6)', async () => {
  const lives = Array.from({ length: 10_050 }, (_, each) => object('ConfigMap', each, true))
  const index = await indexOf([...lives, object('Deployment', 1, false), object('Secret', 2, true)])
  const uids = async (at?: number): Promise<readonly string[]> => {
    const { found, lacks } = await index.named({ ...WEB, at })
    equal(lacks, 'former')
    return found.map(({ uid }) => uid)
  }
  const newest = await uids()
  deepEqual([newest[0], newest.at(-1)], ['Deployment-1', 'Secret-2'])
  equal(newest.at(-2), 'ConfigMap-10049')
  equal(newest.length, MOST_OF_A_KIND + 2)
  const then = await uids(5_000_500)
  // It was deleted next after that moment; and the one before it.
  deepEqual([then.includes('ConfigMap-5001'), then.includes('ConfigMap-5000')], [true, true])
})

test('more living ones than are read may hide one that is meant: that is said', async () => {
  const all = Array.from({ length: MOST_OF_A_KIND + 1 }, (_, each) => {
    return object('ConfigMap', each, false)
  })
  const of = { ...WEB, cluster: 'c' }
  equal((await (await indexOf(all)).named(of)).lacks, 'any')
  equal((await (await indexOf(all.slice(1))).named(of)).lacks, 'nothing')
})

test('names like one that is not there are found by a bounded read, among however many (C18)', async () => {
  const others = Array.from({ length: 5_000 }, (_, each) => {
    return { ...object('Pod', each, false), name: `web-${each}-pod` }
  })
  const meant = { ...object('Deployment', 1, false), name: 'web' }
  const store = await storeOf([...others, meant])
  let read = 0
  const counting = {
    get: (key: string) => store.get(key),
    page: async (range: Parameters<typeof store.page>[0]) => {
      const page = await store.page(range)
      read += page.rows.length
      return page
    },
  }
  const index = new NameIndex(counting)
  deepEqual(await index.near('ns', 'wbe'), [meant])
  deepEqual(await index.anywhere('web'), [meant])
  deepEqual(await index.near('ns', 'cart'), [])
  const before = read
  await index.near('ns', 'wart', 0.1)
  ok(read - before < 500, `${read - before} keys of one partition of ten`)
  // What was deleted is what a question is about.
  const deleted = { ...meant, uid: 'deleted', name: 'shop', isGone: true }
  await store.write(rowsOf(deleted), { changelog: 0n, position: 1n })
  const after = new NameIndex(store)
  deepEqual(await after.near('ns', 'shpo'), [deleted])
  deepEqual(await after.anywhere('shop'), [deleted])
  equal(read < 5_000, true, `${read} keys`)
})
