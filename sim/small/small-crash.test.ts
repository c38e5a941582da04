/**
 * A crash at each call that the loops await in a small cascade: nothing is deleted wrongly, and in
 * the end everything is deleted that should be.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { drawn, isAllWanted, LEFT_OUT } from '../../testing/drawn.ts'
import { crashed } from './small-crash.ts'

/** Calls to log, store and server; fewer, and some loop was not there. */
const FEWEST_CALLS = 80
/** A wait that nothing ends before the run is over has no way back to crash on. */
const MOST_WAITS_SHARE = 0.1
/** Of all calls those that are crashed at everywhere. */
const EVERY = 10

test('a cascade without a crash is as it should be', async () => {
  const { calls, hasDied, wrongs } = await crashed(null)
  deepEqual({ hasDied, wrongs }, { hasDied: false, wrongs: [] })
  ok(calls >= FEWEST_CALLS, `it awaits ${calls} calls`)
})

/** Tests that did not run must not look as if they had passed. */
if (!isAllWanted()) test('crashes at the other calls', { skip: LEFT_OUT }, () => {})

for (const isBack of [false, true]) {
  test(`so is one with a crash at any call, on the way ${isBack ? 'back' : 'there'}`, async () => {
    const { calls } = await crashed(null)
    const tried = drawn(
      Array.from({ length: calls }, (_, index) => index + 1),
      EVERY,
    )
    let waits = 0
    for (const call of tried) {
      const { hasDied, wrongs } = await crashed({ call, isBack })
      deepEqual(wrongs, [], `after a crash at call ${call}`)
      if (!hasDied) waits += 1
    }
    const mostWaits = isBack ? Math.ceil(tried.length * MOST_WAITS_SHARE) : 0
    ok(waits <= mostWaits, `${waits} crashes did not come about`)
  })
}
