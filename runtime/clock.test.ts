/**
 * The system clock: sleeps end early and quietly, and time passes while the machine is suspended.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { systemClock, unsuspended } from './clock.ts'

test('a sleep ends quietly when its signal aborts, before or during it', async () => {
  const clock = systemClock()
  const stop = new AbortController()
  const ended: string[] = []
  void clock.sleep(60_000, AbortSignal.abort()).then(() => ended.push('before'))
  void clock.sleep(60_000, stop.signal).then(() => ended.push('during'))
  await setImmediate()
  deepEqual(ended, ['before'])
  stop.abort()
  await setImmediate()
  deepEqual(ended, ['before', 'during'])
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

test('time in which the machine was suspended has passed, and a clock that is set has not', () => {
  let [wall, run, boot] = [1_700_000_000_000, 5_000, 90_000]
  const monotonicMs = unsuspended({ wallMs: () => wall, runMs: () => run, bootMs: () => boot })
  const pass = (ms: number): void => {
    wall += ms
    run += ms
    boot += ms
  }
  equal(monotonicMs(), 5_000)
  pass(700)
  equal(monotonicMs(), 5_700)
  wall += 3_600_000
  boot += 3_600_000
  equal(monotonicMs(), 3_605_700, 'an hour of sleep')
  pass(300)
  equal(monotonicMs(), 3_606_000)
  wall -= 7_200_000
  equal(monotonicMs(), 3_606_000, 'somebody set the clock back')
  wall += 86_400_000
  equal(monotonicMs(), 3_606_000, 'and ahead')
  wall += 10_000
  boot += 10_000
  equal(monotonicMs(), 3_616_000, 'asleep once more')
})
