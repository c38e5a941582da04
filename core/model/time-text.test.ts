/** Times read as they do elsewhere, and never too early. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { spanText, timeText } from './time-text.ts'

test('a time is told as every library tells it', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 250_000_000_000 }), (seconds) => {
      const iso = new Date(seconds * 1000).toISOString()
      equal(timeText(seconds * 1000), iso.replace('.000Z', 'Z'))
    }),
    { numRuns: 2_000 },
  )
})

test('what is left of a second is rounded up', () => {
  equal(timeText(951_782_399_001), '2000-02-29T00:00:00Z')
})

test('a span has the largest unit that it is a whole number of', () => {
  const spans = [0, 1, 30_000, 90_000, 600_000, 3_600_000, 5_400_000]
  equal(spans.map(spanText).join(' '), '0s 1s 30s 90s 10m 1h 90m')
})
