/** The system clock: sleeps end early and quietly. */
import { ok } from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from './clock.ts'

test('a sleep ends quietly when its signal aborts, before or during it', async () => {
  const clock = systemClock()
  const before = clock.monotonicMs()
  await clock.sleep(60_000, AbortSignal.abort())
  const stop = new AbortController()
  const asleep = clock.sleep(60_000, stop.signal)
  stop.abort()
  await asleep
  ok(clock.monotonicMs() - before < 10_000)
})

test('a sleep longer than a timer can hold is still a sleep', async () => {
  const stop = new AbortController()
  let awake = false
  const asleep = systemClock()
    .sleep(Number.POSITIVE_INFINITY, stop.signal)
    .then(() => {
      awake = true
    })
  await systemClock().sleep(20)
  ok(!awake)
  stop.abort()
  await asleep
})
