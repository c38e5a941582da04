/** How fast audit logs are read. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { BURST_MS, FeedLimit, MOST_AT_ONCE, PART } from './feed-limit.ts'

test('reading may take a burst, then a part of the time, and nothing of another cluster', () => {
  let now = 0
  const limit = new FeedLimit({ monotonicMs: () => now })
  equal(limit.pauseAfter('c', BURST_MS), 0)
  equal(limit.pauseAfter('c', 100), 100 / PART)
  equal(limit.pauseAfter('d', BURST_MS), 0)
  now += 100 / PART
  equal(limit.pauseAfter('c', 100), 100 / PART)
  now += 3_600_000
  equal(limit.pauseAfter('c', BURST_MS), 0)
  equal(limit.pauseAfter('c', 1), 1 / PART)
})

test('no more than eight requests of a cluster are under way, however small they are', () => {
  const limit = new FeedLimit({ monotonicMs: () => 0 })
  const open = Array.from({ length: MOST_AT_ONCE }, () => limit.take('c'))
  equal(limit.take('c').waitSeconds, 1)
  equal(limit.take('d').waitSeconds, 0)
  open[0]?.[Symbol.dispose]()
  equal(limit.take('c').waitSeconds, 0)
})
