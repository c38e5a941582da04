/**
 * Holds, budgets, approvals and memory of the config file: what is left out is the preset's, and
 * mistakes are sentences.
 */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { approvalsOf, budgetsOf, holdsOf, mayRemoveOf, rememberOf } from './guard-config.ts'

test('holds are the preset’s but for those that are given', () => {
  deepEqual(holdsOf(undefined, 'holds', 'guarded'), {
    deletedMs: 30_000,
    missingMs: 600_000,
    notFoundMs: 3_600_000,
  })
  deepEqual(holdsOf({ deleted: '0s', 'not-found': '2h' }, 'holds', 'guarded'), {
    deletedMs: 0,
    missingMs: 600_000,
    notFoundMs: 7_200_000,
  })
  deepEqual(holdsOf({ missing: '5m' }, 'holds', 'parity'), {
    deletedMs: 0,
    missingMs: 300_000,
    notFoundMs: 0,
  })
})

test('budgets are the preset’s but for those that are given, and may be taken away', () => {
  deepEqual(budgetsOf({ missing: 10 }, 'budgets', 'guarded'), {
    deleted: 1_000,
    missing: 10,
    notFound: 50,
  })
  deepEqual(budgetsOf({ 'not-found': 0 }, 'budgets', 'parity'), {
    deleted: 1_000,
    missing: 200,
    notFound: 0,
  })
  deepEqual(budgetsOf('none', 'budgets', 'guarded'), null)
  deepEqual(budgetsOf(undefined, 'budgets', 'parity'), null)
})

test('the former names of evidence are taken, too', () => {
  const today = holdsOf({ deleted: '1m', missing: '2m', 'not-found': '3m' }, 'holds', 'guarded')
  deepEqual(holdsOf({ e1: '1m', E2: '2m', e3: '3m' }, 'holds', 'guarded'), today)
  deepEqual(budgetsOf({ E1: 7 }, 'budgets', 'guarded')?.deleted, 7)
})

const setting = (key: string, value: unknown) => ({ key, value, from: key })
const auth = setting('httpAuth', 'token-review:north')

test('one person approves unless two have to, and these have to be told apart', () => {
  equal(approvalsOf(setting('approvals', undefined), setting('httpAuth', undefined)), 1)
  equal(approvalsOf(setting('approvals', 1), setting('httpAuth', undefined)), 1)
  equal(approvalsOf(setting('approvals', 2), auth), 2)
})

test('what has gone is remembered for thirty days, or as long as is said', () => {
  equal(rememberOf(setting('remember', undefined)), 30 * 86_400_000)
  equal(rememberOf(setting('remember', '7d')), 7 * 86_400_000)
})

test('no finalizer of others may be removed but those that are listed', () => {
  const listed = ['example.com/cleanup', 'kubernetes', 'example.com/cleanup']
  deepEqual(mayRemoveOf(undefined, 'finalizers'), [])
  deepEqual(mayRemoveOf({ mayRemove: listed }, 'finalizers'), listed.slice(0, 2))
})

const mistakes = [
  [() => rememberOf(setting('remember', '12h')), /remember: expected a day or more/],
  [() => approvalsOf(setting('approvals', 3), auth), /approvals: expected a whole number/],
  [
    () => approvalsOf(setting('approvals', 2), setting('httpAuth', undefined)),
    /approvals: 2 takes httpAuth/,
  ],
  [
    () => holdsOf({ e4: '1h' }, 'holds', 'guarded'),
    /holds: unknown key e4; known are deleted, missing, not-found/,
  ],
  [() => holdsOf({ deleted: '1 hour' }, 'holds', 'guarded'), /holds.deleted: expected a duration/],
  [() => holdsOf({ e1: '1m', deleted: '2m' }, 'holds', 'guarded'), /holds: deleted is given twice/],
  [
    () => holdsOf([], 'holds', 'guarded'),
    /holds: expected a mapping of deleted, missing, not-found to durations/,
  ],
  [() => budgetsOf({ E1: -1 }, 'budgets', 'guarded'), /budgets.deleted: expected a whole number/],
  [() => mayRemoveOf(['a'], 'finalizers'), /finalizers: expected a mapping with mayRemove/],
  [() => mayRemoveOf({ remove: [] }, 'finalizers'), /finalizers: unknown key remove/],
  [() => mayRemoveOf({ mayRemove: ['orphan'] }, 'finalizers'), /orphan is the collector's/],
  [() => mayRemoveOf({ mayRemove: ['a b'] }, 'finalizers'), /mayRemove: "a b" is no finalizer/],
  [() => budgetsOf(7, 'budgets', 'guarded'), /budgets: expected a mapping .* numbers, or none/],
] as const

for (const [mistake, sentence] of mistakes) {
  test(`a mistake is told as ${sentence}`, () => throws(mistake, sentence))
}
