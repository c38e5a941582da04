/** Holds, budgets, approvals and memory of the config file: what is left out is the preset's, and mistakes are sentences. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { approvalsOf, budgetsOf, holdsOf, rememberOf } from './guard-config.ts'

test('holds are the preset’s but for those that are given', () => {
  deepEqual(holdsOf(undefined, 'holds', 'guarded'), {
    e1Ms: 30_000,
    e2Ms: 600_000,
    e3Ms: 3_600_000,
  })
  deepEqual(holdsOf({ e1: '0s', e3: '2h' }, 'holds', 'guarded'), {
    e1Ms: 0,
    e2Ms: 600_000,
    e3Ms: 7_200_000,
  })
  deepEqual(holdsOf({ e2: '5m' }, 'holds', 'parity'), { e1Ms: 0, e2Ms: 300_000, e3Ms: 0 })
})

test('budgets are the preset’s but for those that are given, and may be taken away', () => {
  deepEqual(budgetsOf({ e2: 10 }, 'budgets', 'guarded'), { e1: 1_000, e2: 10, e3: 50 })
  deepEqual(budgetsOf({ e3: 0 }, 'budgets', 'parity'), { e1: 1_000, e2: 200, e3: 0 })
  deepEqual(budgetsOf('none', 'budgets', 'guarded'), null)
  deepEqual(budgetsOf(undefined, 'budgets', 'parity'), null)
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

const mistakes = [
  [() => rememberOf(setting('remember', '12h')), /remember: expected a day or more/],
  [() => approvalsOf(setting('approvals', 3), auth), /approvals: expected a whole number/],
  [
    () => approvalsOf(setting('approvals', 2), setting('httpAuth', undefined)),
    /approvals: 2 takes httpAuth/,
  ],
  [() => holdsOf({ e4: '1h' }, 'holds', 'guarded'), /holds: unknown key e4; known are e1, e2, e3/],
  [() => holdsOf({ e1: '1 hour' }, 'holds', 'guarded'), /holds.e1: expected a duration/],
  [() => holdsOf([], 'holds', 'guarded'), /holds: expected a mapping of e1, e2, e3 to durations/],
  [() => budgetsOf({ e1: -1 }, 'budgets', 'guarded'), /budgets.e1: expected a whole number/],
  [() => budgetsOf(7, 'budgets', 'guarded'), /budgets: expected a mapping .* numbers, or none/],
] as const

for (const [mistake, sentence] of mistakes) {
  test(`a mistake is told as ${sentence}`, () => throws(mistake, sentence))
}
