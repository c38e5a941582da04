/** A crash at each thing that the loops await in a small cascade: nothing wrong goes, and in the end all has gone that should. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { crashed } from './small-crash.ts'

/** Calls to log, store and server; fewer, and some loop was not there. */
const FEWEST_CALLS = 80
/** A wait that nothing ends before all is over gives nobody a way back to die on. */
const MOST_WAITS_SHARE = 0.1

test('a cascade without a crash is as it should be', async () => {
  const { calls, hasDied, wrongs } = await crashed(null)
  deepEqual({ hasDied, wrongs }, { hasDied: false, wrongs: [] })
  ok(calls >= FEWEST_CALLS, `it awaits ${calls} calls`)
})

for (const isBack of [false, true]) {
  test(`so is one with a crash at any call, on the way ${isBack ? 'back' : 'there'}`, async () => {
    const { calls } = await crashed(null)
    let waits = 0
    for (let call = 1; call <= calls; call++) {
      const { hasDied, wrongs } = await crashed({ call, isBack })
      deepEqual(wrongs, [], `after a crash at call ${call}`)
      if (!hasDied) waits += 1
    }
    ok(waits <= (isBack ? calls * MOST_WAITS_SHARE : 0), `${waits} crashes did not come about`)
  })
}
