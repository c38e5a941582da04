/** Spans read as people write them, and never too short. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { spanText } from './word.ts'

test('a span has the largest unit that it is a whole number of', () => {
  const spans = [0, 1, 30_000, 90_000, 600_000, 3_600_000, 5_400_000]
  equal(spans.map(spanText).join(' '), '0s 1s 30s 90s 10m 1h 90m')
})
