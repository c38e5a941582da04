/** How the limit of concurrent calls follows the answers. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Throttle } from './throttle.ts'

const BOUNDS = { startConcurrency: 8, maxConcurrency: 32, slowMs: 250 }

/** One flight: as many calls as there is room for, all answered alike. */
function flight(throttle: Throttle, latencyMs: number, throttled: boolean): void {
  let sent = 0
  for (; throttle.inFlight() < throttle.limit(); sent++) throttle.enter()
  for (; sent > 0; sent--) {
    throttle.answered(latencyMs, throttled)
    throttle.leave()
  }
}

test('grows to its ceiling while latency holds', () => {
  const throttle = new Throttle(BOUNDS)
  const limits = [0, 1, 2, 3].map(() => {
    flight(throttle, 20, false)
    return throttle.limit()
  })
  deepEqual(limits, [16, 32, 32, 32])
})

test('halves once for a flight of refusals, down to one, and recovers step by step', () => {
  const throttle = new Throttle(BOUNDS)
  flight(throttle, 20, true)
  equal(throttle.limit(), 4)
  for (let i = 0; i < 5; i++) flight(throttle, 20, true)
  equal(throttle.limit(), 1)
  flight(throttle, 20, false)
  flight(throttle, 20, false)
  equal(throttle.limit(), 3)
})

test('gives way when most answers are slow', () => {
  const throttle = new Throttle(BOUNDS)
  flight(throttle, 400, false)
  equal(throttle.limit(), 7)
})

test('does not let a few hanging objects slow down the rest', () => {
  const throttle = new Throttle(BOUNDS)
  for (let i = 0; i < 100; i++) {
    while (throttle.inFlight() < throttle.limit()) throttle.enter()
    const sent = throttle.inFlight()
    for (let call = 0; call < sent; call++) {
      throttle.answered(call % 4 === 0 ? 10_000 : 20, false)
      throttle.leave()
    }
  }
  equal(throttle.limit(), 32)
})

test('does not grow by answers that came while it was not full', () => {
  const throttle = new Throttle(BOUNDS)
  for (let i = 0; i < 100; i++) {
    throttle.enter()
    throttle.answered(5, false)
    throttle.leave()
  }
  equal(throttle.limit(), 8)
})

test('stays between one and its ceiling, whatever the answers', () => {
  const answer = fc.record({ latencyMs: fc.nat(1_000), throttled: fc.boolean() })
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 300 }), (all) => {
      const throttle = new Throttle(BOUNDS)
      for (const { latencyMs, throttled } of all) {
        if (throttle.inFlight() < throttle.limit()) throttle.enter()
        throttle.answered(latencyMs, throttled)
        if (latencyMs % 2 === 0 && throttle.inFlight() > 0) throttle.leave()
        ok(throttle.limit() >= 1 && throttle.limit() <= 32)
      }
    }),
  )
})
