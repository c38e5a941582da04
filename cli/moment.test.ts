/** A moment is sent as a time, a position or a command. */
import { equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { momentOf } from './moment.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

for (const [text, sent] of [
  ['2h', '2026-01-31T10:00:00.000Z'],
  ['1h30m', '2026-01-31T10:30:00.000Z'],
  ['7d', '2026-01-24T12:00:00.000Z'],
  ['45s', '2026-01-31T11:59:15.000Z'],
  ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00Z'],
  ['pos:0-4711', 'pos:0-4711'],
  ['before:0-4711-0', 'before:0-4711-0'],
] as const) {
  test(`${text} is asked as ${sent}`, () => {
    equal(momentOf(text, NOW), sent)
  })
}

for (const text of ['', 'yesterday', '2', 'h', '2 h', 'pos:', 'before:x', '31.01.2026']) {
  test(`${text || 'nothing'} is refused`, () => {
    throws(() => momentOf(text, NOW), { exitCode: 2, message: /expected a moment/ })
  })
}
