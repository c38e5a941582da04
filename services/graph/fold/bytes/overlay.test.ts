/** The overlay reads as the store would after a commit, in points and in pages alike. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { coordinatesPart, edgeKey, edgesPrefix, nodesPrefix } from '../../../../core/graph/key.ts'
import type { StateValue } from '../../../../core/model/state.ts'
import { graphOver } from './overlay.ts'

const EDGE: StateValue = { type: 'Edge' }
const PLACE = { group: '', kind: 'Pod', namespace: 'ns', name: 'a' }

const uids = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }), { maxLength: 40 })
const changes = fc.array(fc.tuple(fc.nat({ max: 60 }), fc.boolean()), { maxLength: 60 })

test('pages hold the first keys of what the commit will leave', () => {
  const limits = fc.integer({ min: 1, max: 8 })
  fc.assert(
    fc.property(uids, uids, changes, limits, (there, others, changed, limit) => {
      const prefix = edgesPrefix('c', 'owner', coordinatesPart(PLACE))
      const keyOf = (uid: string): string => edgeKey('c', 'owner', PLACE, uid)
      const stored = new Set(there.map(keyOf))
      const graph = graphOver({ get: (key) => (stored.has(key) ? EDGE : undefined) })
      const pool = [...new Set([...there, ...others])].map(keyOf)
      const left = new Set(stored)
      for (const [pick, isPut] of changed) {
        const key = pool[pick % Math.max(1, pool.length)]
        if (key === undefined) continue
        if (isPut) graph.put(key, EDGE)
        else graph.remove(key)
        if (isPut) left.add(key)
        else left.delete(key)
        equal(graph.get(key) !== undefined, isPut)
      }
      // Neither another owner's edges nor those of other coordinates of its uid are in its pages.
      graph.put(edgeKey('c', 'owner2', PLACE, 'x'), EDGE)
      graph.put(edgeKey('c', 'owner', { ...PLACE, name: 'a2' }, 'x'), EDGE)
      const sorted = [...stored].sort()
      const read: string[] = []
      for (let after = ''; ; ) {
        const page = sorted.filter((key) => key > after).slice(0, limit)
        const upTo = page.length < limit ? undefined : page.at(-1)
        read.push(...graph.overlaid(page, { prefix, after, upTo }))
        if (upTo === undefined) break
        after = upTo
      }
      deepEqual(read, [...left].sort())
    }),
  )
})

test('a prefix of one cluster holds no other', () => {
  const graph = graphOver({ get: () => undefined })
  graph.put('node/c/a', EDGE)
  graph.put('node/c2/a', EDGE)
  const range = { prefix: nodesPrefix('c'), after: '', upTo: undefined }
  deepEqual(graph.overlaid([], range), ['node/c/a'])
  deepEqual(graph.overlaid([], { ...range, prefix: 'node/' }), ['node/c/a', 'node/c2/a'])
  throws(() => graph.overlaid([], { ...range, prefix: 'node/c/a' }), /does not hold by range/)
})

test('what changed is taken once, and must be before it is forgotten', () => {
  const graph = graphOver({ get: () => undefined })
  graph.put('node/c/a', EDGE)
  throws(() => graph.clear(), /nobody took/)
  deepEqual([...graph.takeRecent().keys()], ['node/c/a'])
  graph.remove('node/c/a')
  deepEqual([...graph.takeRecent()], [['node/c/a', null]])
  graph.clear()
  equal(graph.changes.size, 0)
})
