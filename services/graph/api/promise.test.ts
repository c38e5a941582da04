/**
 * The table of what each mode can promise: no order promises what the mode cannot do, and the
 * documents print it.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { PROMISES, promiseTable, VERBS } from './promise.ts'

test('in mode observe only what takes an order back, or is about the log alone, is kept (C1)', () => {
  const kept = VERBS.filter((verb) => PROMISES[verb].observe.isKept)
  const back = ['resume', 'unprotect', 'suspend-rule', 'remember-cluster']
  deepEqual(kept, [...back, 'confirm-clock'])
})

test('whatever is not kept says so, and in enforce all is kept', () => {
  for (const verb of VERBS) {
    ok(PROMISES[verb].observe.isKept || PROMISES[verb].observe.says !== '')
    ok(PROMISES[verb].enforce.isKept)
  }
})

test('docs/operate/directives.md prints the table', () => {
  const page = readFileSync(new URL('../../../docs/operate/directives.md', import.meta.url), 'utf8')
  ok(page.includes(promiseTable()), promiseTable())
})
