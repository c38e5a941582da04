/** Spans read as people write them, and never too short; what is asked beside a plan. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ALONG_MOST, alongOf, spanText } from './word.ts'

test('a span has the largest unit that it is a whole number of', () => {
  const spans = [0, 1, 30_000, 90_000, 600_000, 3_600_000, 5_400_000]
  equal(spans.map(spanText).join(' '), '0s 1s 30s 90s 10m 1h 90m')
})

test('of a plan those are asked for that go with its root and have a namespace, so many at most', () => {
  const row = (uid: string, effect: string, namespace = 'ns') => ({ uid, effect, namespace })
  const root = row('root', 'deleted')
  const objects = [root, row('a', 'deleted'), row('b', 'kept'), row('c', 'stuck')]
  equal(alongOf({ root, objects: [...objects, row('d', 'deleted', '')] }), 'a,c')
  equal(alongOf({ root, objects: [root] }), undefined)
  const many = Array.from({ length: 300 }, (_, number) => row(`u${number}`, 'deleted'))
  equal(alongOf({ root, objects: many })?.split(',').length, ALONG_MOST)
})
