/** Loads follow what tasks fold over minutes, and nothing that came before. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { SettableClock } from '../../testing/settable-clock.ts'
import { EventRates } from './event-rate.ts'

const SECOND = 1_000

/** After so many seconds, at so many events in each. */
function loadAfter(rates: EventRates, clock: SettableClock, seconds: number, each: number): number {
  let load = 0
  for (let at = 0; at < seconds; at += 10) {
    clock.pass(10 * SECOND)
    position += BigInt(10 * each)
    load = rates.of([{ partition: 3, position }])[0]?.[1] ?? -1
  }
  return load
}

let position = 1_000_000n

test('a load is that of minutes', () => {
  const clock = new SettableClock()
  const rates = new EventRates(clock)
  deepEqual(rates.of([{ partition: 3, position }]), [], 'it is not known yet')
  equal(loadAfter(rates, clock, 60, 0), 0)
  const burst = loadAfter(rates, clock, 10, 900)
  ok(burst > 0 && burst < 120, `${burst}`)
  const steady = loadAfter(rates, clock, 900, 200)
  equal(steady, 200)
  ok(loadAfter(rates, clock, 60, 0) >= 100)
})

test('what was folded before a task was here does not count', () => {
  const clock = new SettableClock()
  const rates = new EventRates(clock)
  rates.of([{ partition: 3, position }])
  clock.pass(60 * SECOND)
  deepEqual(rates.of([]), [])
  clock.pass(60 * SECOND)
  rates.of([{ partition: 3, position: position + 5_000n }])
  clock.pass(60 * SECOND)
  deepEqual(rates.of([{ partition: 3, position: position + 5_000n }]), [[3, 0]])
})
