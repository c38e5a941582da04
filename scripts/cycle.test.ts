/** A cycle of files is found, whatever files it consists of. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { cyclesOf } from './cycle.ts'

const cases = [
  { what: 'a chain', imports: { a: ['b'], b: ['c'], c: [] }, cycles: [] },
  { what: 'two ways to one file', imports: { a: ['b', 'c'], b: ['d'], c: ['d'] }, cycles: [] },
  { what: 'two that import each other', imports: { a: ['b'], b: ['a'] }, cycles: [['a', 'b']] },
  { what: 'one that imports itself', imports: { a: ['a'] }, cycles: [['a']] },
  {
    what: 'one behind a chain, and what it imports',
    imports: { a: ['b'], b: ['c'], c: ['d', 'e'], d: ['b'], e: [] },
    cycles: [['b', 'c', 'd']],
  },
  {
    what: 'two that share a file',
    imports: { a: ['b', 'c'], b: ['a'], c: ['a'] },
    cycles: [['a', 'b', 'c']],
  },
  {
    what: 'two, one of which imports the other',
    imports: { a: ['b'], b: ['a', 'c'], c: ['d'], d: ['c'] },
    cycles: [
      ['c', 'd'],
      ['a', 'b'],
    ],
  },
  {
    what: 'one that is reached again from what comes after it',
    imports: { a: ['b'], b: ['a'], c: ['b', 'd'], d: ['a'] },
    cycles: [['a', 'b']],
  },
] as const

for (const { what, imports, cycles } of cases) {
  test(`cycles of ${what}`, () =>
    deepEqual(cyclesOf(new Map<string, readonly string[]>(Object.entries(imports))), cycles))
}
