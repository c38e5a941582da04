/**
 * The slider is at the last change before the moment that is shown, whichever way that is named.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { spanOf, stepAt, stepsIn } from './steps.ts'

const CHANGES = [10, 20, 30].map((position) => {
  return { partition: 1, position, at: `2026-01-31T09:00:${position}.000Z` }
})

for (const [at, step] of [
  ['', 2],
  ['pos:1-21', 1],
  ['pos:1-20', 0],
  ['before:1-30-0', 1],
  ['pos:1-10', -1],
  ['2026-01-31T09:00:20Z', 1],
  ['2026-01-31T10:00:25+01:00', 1],
  ['2026-01-31T09:00:09Z', -1],
  ['2026-01-31T09:00:59Z', 2],
] as const) {
  test(`at ${at || 'no moment'} it is ${step}`, () => equal(stepAt(CHANGES, at), step))
}

test('what one event brought about is one step, so that each step leads on', () => {
  const at = (position: number) => ({ partition: 0, position })
  const steps = stepsIn([at(7), at(7), at(8), at(9), at(9)])
  deepEqual(
    steps.map((each) => each.length),
    [2, 1, 2],
  )
})

test('of the time before the record as much is drawn as can be seen, and none where there is none', () => {
  deepEqual(spanOf(0, 9_000, 10_000), { begin: 8_850, end: 10_000, recordedFrom: 9_000 })
  deepEqual(spanOf(8_900, 9_000, 10_000).begin, 8_900)
  deepEqual(spanOf(9_500, 9_000, 10_000).begin, 9_500)
})
