/** What audit logs may bring at once, and as time goes on. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { FeedLimit, MOST_BYTES } from './feed-limit.ts'

test('a cluster may bring a burst, then as much as time allows, and takes nothing from another', () => {
  let now = 0
  const limit = new FeedLimit({ monotonicMs: () => now })
  const bring = (cluster: string): number => {
    using taken = limit.take(cluster, MOST_BYTES)
    return taken.waitSeconds
  }
  deepEqual(
    Array.from({ length: 9 }, () => bring('c')),
    [0, 0, 0, 0, 0, 0, 0, 0, 1],
  )
  equal(bring('d'), 0)
  now += 500
  deepEqual([bring('c'), bring('c')], [0, 1])
  now += 3_600_000
  equal(Array.from({ length: 9 }, () => bring('c')).filter((wait) => wait === 0).length, 8)
})

test('no more than eight requests of a cluster are under way, however small they are', () => {
  const limit = new FeedLimit({ monotonicMs: () => 0 })
  const open = Array.from({ length: 8 }, () => limit.take('c', 1))
  equal(limit.take('c', 1).waitSeconds, 1)
  open[0]?.[Symbol.dispose]()
  equal(limit.take('c', 1).waitSeconds, 0)
})
