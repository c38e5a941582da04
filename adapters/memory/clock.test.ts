/** The manual clock: order of waking, sleeping again on the way, early ends. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from './clock.ts'

test('sleepers wake in the order of their times, equal ones in the order they came', async () => {
  const clock = new ManualClock()
  const woken: string[] = []
  for (const [name, ms] of [
    ['c', 30],
    ['a', 10],
    ['b', 20],
    ['b2', 20],
  ] as const) {
    void clock.sleep(ms).then(() => woken.push(`${name}@${clock.monotonicMs()}`))
  }
  await clock.advance(25)
  deepEqual(woken, ['a@10', 'b@20', 'b2@20'])
  equal(clock.sleeping, 1)
})

test('a loop that sleeps again is woken as often as it fits', async () => {
  const clock = new ManualClock(0)
  let beats = 0
  void (async () => {
    for (;;) {
      await clock.sleep(5)
      beats++
    }
  })()
  await clock.advance(23)
  equal(beats, 4)
  equal(clock.now(), 23)
})

test('an aborted sleep ends at once, quietly, and leaves nothing behind', async () => {
  const clock = new ManualClock()
  const stop = new AbortController()
  const asleep = clock.sleep(1_000, stop.signal)
  stop.abort()
  await asleep
  equal(clock.sleeping, 0)
})
