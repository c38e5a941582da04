/**
 * Small worlds in every order: the same end, no wrong delete, and a command for each object that
 * must be deleted.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { isAllWanted, LEFT_OUT } from '../../testing/drawn.ts'
import { type Family, walk } from './small-world.ts'

/** Of ways through one closed loop; `npm run sim:small` runs more. */
const WAYS = 1_500

/** The part of all worlds that always runs. */
const EVERY = isAllWanted() ? 1 : 6

const FEWEST: Readonly<Record<Family, number>> = {
  orders: 120_000,
  lists: 100_000,
  faults: 70_000,
  loops: 100_000,
  'faulty loops': 150_000,
  // Of every sixth world two or three are walked.
  rules: 4_000,
}

const TITLES: Readonly<Record<Family, string>> = {
  orders:
    'whatever the order in which watches tell, the end is the same and nothing wrong is asked',
  lists: 'so it is when the first lists are told in between',
  faults:
    'an event lost, told again or told late deletes nothing wrong, and a relist puts it right',
  loops: 'users, watches, reaper and answers may take turns in any way',
  'faulty loops': 'and on each way one thing may go wrong',
  rules: 'what a rule deletes is due by it, whatever takes turns with it and goes wrong',
}

/** Tests that did not run must not look as if they had passed. */
if (!isAllWanted()) test('small worlds of the others', { skip: LEFT_OUT }, () => {})

for (const [family, fewest] of Object.entries(FEWEST) as [Family, number][]) {
  test(`${TITLES[family]}`, () => {
    const options = { maxCases: WAYS, maxComplaints: 10, every: EVERY }
    const { cases, complaints } = walk(family, options)
    deepEqual(complaints, [])
    // Worlds have ways in very different numbers, so a share of them may have fewer.
    const least = isAllWanted() ? fewest : fewest / EVERY / 2
    ok(cases >= least, `${cases} ways were walked, fewer than ${least}`)
  })
}
