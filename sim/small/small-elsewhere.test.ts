/**
 * What becomes of an owner in another cluster, of that cluster and of consent, in every order with
 * what is published of it and carried out: nothing is deleted that is not to be.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { isAllWanted } from '../../testing/drawn.ts'
import { allElsewhere, HAPPENINGS, type Happening } from './small-elsewhere.ts'

/** Of ways through one script. */
const WAYS = 2_000
/** The part of all scripts that always runs. */
const EVERY = isAllWanted() ? 1 : 7

function* scripts(): Generator<readonly Happening[]> {
  for (const first of HAPPENINGS) {
    for (const second of HAPPENINGS) {
      for (const third of HAPPENINGS) yield ['delete', first, second, third]
    }
  }
  for (const first of HAPPENINGS) {
    for (const second of HAPPENINGS) yield [first, 'delete', second, 'hour']
  }
}

/** Whatever the part is that runs. */
const ALWAYS: readonly (readonly Happening[])[] = [
  ['delete', 'forget', 'hour', 'remember'],
  ['delete', 'cut', 'forget', 'heal', 'hour', 'remember', 'hour'],
]

test('one edge between two clusters, whatever takes turns with it', () => {
  let cases = 0
  const some = [...scripts()].filter((_, index) => index % EVERY === 0)
  for (const script of [...ALWAYS, ...some]) {
    const found = allElsewhere(script, WAYS)
    deepEqual(found.complaints, [])
    cases += found.cases
  }
  ok(cases > 1_000, `${cases} ways were walked`)
})
