/**
 * Pages of stored keys with an overlay over them: all keys, in order, a page at a time; and where
 * the number of stored keys is known, no more is asked of the store, which would search for one
 * more through all deleted keys after the last.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { MemoryStore } from '../../../../adapters/memory/store.ts'
import { coordinatesPart, edgeKey, edgesPrefix } from '../../../../core/graph/key.ts'
import { keysToRead, type Store } from '../../../../ports/store.ts'
import { overlaidPage } from './overlaid-page.ts'
import { graphOver } from './overlay.ts'

const CLUSTER = 'c'
const PLACE = { group: 'apps', kind: 'ReplicaSet', namespace: 'ns', name: 'web' }
const PREFIX = edgesPrefix(CLUSTER, 'owner', coordinatesPart(PLACE))
const DEPENDENTS = 20

function edge(dependent: number, owner = 'owner'): string {
  return edgeKey(CLUSTER, owner, PLACE, `pod-${String(dependent).padStart(2, '0')}`)
}

const some = fc.uniqueArray(fc.nat(DEPENDENTS - 1), { maxLength: DEPENDENTS })
const world = fc.record({
  stored: some,
  added: some,
  removed: some,
  limit: fc.integer({ min: 1, max: 7 }),
})

test('pages hold every key once, in order, and ask the store for what it holds', async () => {
  await fc.assert(
    fc.asyncProperty(world, async ({ stored, added, removed, limit }) => {
      await using store = await storeWith([...stored.map((each) => edge(each)), edge(0, 'owner-2')])
      const graph = graphOver({ get: () => undefined })
      for (const each of added) graph.put(edge(each), { type: 'Edge' })
      for (const each of removed) graph.remove(edge(each))

      for (const most of [stored.length, undefined]) {
        const found: string[] = []
        for (let after = ''; ; ) {
          const asked: number[] = []
          const page = { prefix: PREFIX, after, limit }
          const keys = await overlaidPage(asking(store, asked), graph, page, most)
          found.push(...keys)
          ok(most === undefined || asked.every((each) => each <= most))
          if (keys.length < limit) break
          after = keys.at(-1) ?? ''
        }

        const left = [...stored, ...added].filter((each) => !removed.includes(each))
        deepEqual(
          found,
          [...new Set(left)].sort((a, b) => a - b).map((each) => edge(each)),
        )
      }
    }),
  )
})

async function storeWith(keys: readonly string[]): Promise<Store> {
  const store = new MemoryStore()
  const value = new Uint8Array([1])
  await store.write(
    keys.map((key) => [key, value] as const),
    { changelog: 1n, position: 1n },
  )
  return store
}

/** Notes with each page up to which key of the range it reads. */
function asking(store: Store, asked: number[]): Pick<Store, 'page'> {
  let read = 0
  return {
    page: async (range) => {
      asked.push(read + keysToRead(range))
      const page = await store.page(range)
      read += page.rows.length
      return page
    },
  }
}
