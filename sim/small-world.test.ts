/** Small worlds in every order: the same end, no wrong delete, and what may go is asked to go. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { type Family, walk } from './small-world.ts'

/** Of ways through one closed loop; `npm run sim:small` walks more. */
const WAYS = 1_500

const FEWEST: Readonly<Record<Family, number>> = {
  orders: 120_000,
  lists: 100_000,
  faults: 70_000,
  loops: 100_000,
  'faulty loops': 150_000,
}

const TITLES: Readonly<Record<Family, string>> = {
  orders:
    'whatever the order in which watches tell, the end is the same and nothing wrong is asked',
  lists: 'so it is when the first lists are told in between',
  faults:
    'an event lost, told again or told late deletes nothing wrong, and a relist puts it right',
  loops: 'users, watches, reaper and answers may take turns in any way',
  'faulty loops': 'and on each way one thing may go wrong',
}

for (const [family, fewest] of Object.entries(FEWEST) as [Family, number][]) {
  test(`${TITLES[family]}`, () => {
    const { cases, complaints } = walk(family, { maxCases: WAYS, maxComplaints: 10 })
    deepEqual(complaints, [])
    ok(cases >= fewest, `${cases} ways were walked, fewer than ${fewest}`)
  })
}
