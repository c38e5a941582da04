/**
 * Writing now and then never waits; writing all the time does, and counts as busy until it has been
 * quiet for a while.
 */
import { equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { Pace } from './pace.ts'

/** Transactions of `costMs` each `everyMs`, as if without waiting. */
function written(times: number, costMs: number, everyMs: number): { pace: Pace; at: Now } {
  const at = { now: 0 }
  const pace = new Pace(() => at.now)
  for (let i = 0; i < times; i++) {
    at.now += everyMs
    pace.spent(costMs)
  }
  return { pace, at }
}

interface Now {
  now: number
}

test('one who writes now and then never waits, nor is the file busy', () => {
  const { pace } = written(200, 3, 100)
  equal(pace.waitMs(), 0)
  equal(pace.isBusy, false)
})

test('one who writes all the time waits, but not for long', () => {
  const { pace } = written(200, 3, 4)
  ok(pace.waitMs() > 0 && pace.waitMs() <= 20)
})

test('the file is busy through the pauses in a burst, and no more after a quiet second', () => {
  const { pace, at } = written(20, 3, 4)
  at.now += 900
  equal(pace.waitMs(), 0)
  equal(pace.isBusy, true)
  at.now += 101
  equal(pace.isBusy, false)
})
