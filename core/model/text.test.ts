/** Times read as they do elsewhere, and never too early. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { timeText } from './text.ts'

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
