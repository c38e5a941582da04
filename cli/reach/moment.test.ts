/**
 * A moment is sent as a time, a position or a command; how long ago is read as `--since` of other
 * questions is.
 */
import { equal, throws } from 'node:assert/strict'
import { test } from 'node:test'
import { momentOf, momentText } from './moment.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')

for (const [text, sent] of [
  ['2h', '2026-01-31T10:00:00.000Z'],
  ['1h30m', '2026-01-31T10:30:00.000Z'],
  ['7d', '2026-01-24T12:00:00.000Z'],
  ['45s', '2026-01-31T11:59:15.000Z'],
  ['2026-01-31T09:30:00Z', '2026-01-31T09:30:00.000Z'],
  ['2026-01-31T09:30+01:00', '2026-01-31T08:30:00.000Z'],
  ['pos:0-4711', 'pos:0-4711'],
  ['before:0-4711-0', 'before:0-4711-0'],
] as const) {
  test(`${text} is asked as ${sent}`, () => {
    equal(momentOf(text, NOW), sent)
  })
}

for (const text of [
  ...['', 'yesterday', '2', 'h', '2 h', 'pos:', 'before:x', 'pos:0-1-2', '31.01.2026'],
  ...['24:00', '12:60', '2026-02-30T09:30', '2026-13-31T09:30:00Z', '36500d'.repeat(3_000)],
]) {
  test(`${text.slice(0, 20) || 'nothing'} is refused`, () => {
    throws(() => momentOf(text, NOW), {
      exitCode: 2,
      message: /^--at: expected how long ago.*, or pos:PARTITION-OFFSET, or before:COMMAND, not/,
    })
  })
}

test('a time without an offset is that of the wall clock here, the last one', (t) => {
  const before = process.env['TZ']
  process.env['TZ'] = 'Europe/Berlin'
  t.after(() => {
    if (before === undefined) delete process.env['TZ']
    else process.env['TZ'] = before
  })
  for (const [text, sent] of [
    ['12:59', '2026-01-31T11:59:00.000Z'],
    ['13:00', '2026-01-31T12:00:00.000Z'],
    ['13:01', '2026-01-30T12:01:00.000Z'],
    ['00:00:30', '2026-01-30T23:00:30.000Z'],
    ['2026-01-31T09:30', '2026-01-31T08:30:00.000Z'],
    ['2025-07-31T09:30:15', '2025-07-31T07:30:15.000Z'],
  ] as const) {
    equal(momentOf(text, NOW), sent, text)
  }
  // Clocks were put forward, and back.
  for (const text of ['2025-03-30T02:30', '2025-10-26T02:30']) {
    throws(() => momentOf(text, NOW), { exitCode: 2, message: /was not once in this time zone/ })
  }
})

test('an answer says which moment it is about', () => {
  equal(momentText([{ partition: 0, position: null, time: '2026' }]), 'at 2026')
  equal(momentText([{ partition: 0, position: 7, time: '2026' }]), 'before pos:0-7, 2026')
  equal(momentText([]), '')
})
