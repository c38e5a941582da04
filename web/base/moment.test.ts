/** A duration is a time once it is asked, and of two moments the earlier is first. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { inOrder, momentOf } from './moment.ts'

const NOW = Date.parse('2026-01-31T09:30:00Z')

for (const [text, moment] of [
  ['2h', '2026-01-31T07:30:00Z'],
  ['1h30m', '2026-01-31T08:00:00Z'],
  ['7d', '2026-01-24T09:30:00Z'],
  ['90s', '2026-01-31T09:28:30Z'],
  ['99999999999d', '99999999999d'],
  ['', ''],
  ['h', 'h'],
  ['2', '2'],
  ['pos:0-4711', 'pos:0-4711'],
  ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z'],
] as const) {
  test(`"${text}" is ${moment || 'nothing'}`, () => equal(momentOf(text, NOW), moment))
}

for (const [one, other, expected] of [
  ['pos:0-9', 'pos:0-10', ['pos:0-9', 'pos:0-10']],
  ['pos:0-10', 'pos:0-9', ['pos:0-9', 'pos:0-10']],
  ['before:0-10-0', 'pos:0-9', ['pos:0-9', 'before:0-10-0']],
  ['', 'pos:0-9', ['pos:0-9', '']],
  ['pos:0-9', '', ['pos:0-9', '']],
  ['2026-01-31T09:30:00+01:00', '2026-01-31T09:00:00Z', undefined],
  [
    '2026-01-31T09:30:00Z',
    '2026-01-31T09:30:00+01:00',
    ['2026-01-31T09:30:00+01:00', '2026-01-31T09:30:00Z'],
  ],
  // Which is earlier only the server knows.
  ['pos:0-9', '2026-01-31T09:30:00Z', undefined],
  ['pos:1-9', 'pos:0-3', undefined],
] as const) {
  test(`${one || 'now'} and ${other || 'now'} are put in order, or left`, () => {
    deepEqual(inOrder(one, other), expected ?? [one, other])
  })
}
