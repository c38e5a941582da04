/** A key identifies its subject, whatever texts users chose. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Coordinates } from '../model/object.ts'
import { coordinatesIn, coordinatesPart, dueKey, type Timer, timerOf } from './key.ts'

const text = fc.oneof(
  fc.constantFrom('', 'a/b', 'a,b', '%2F', '/', 'ns/,Pod,ns,a'),
  fc.string({ unit: 'binary' }),
)

/** As literals are. */
const PLAIN = { noNullPrototype: true }

const place: fc.Arbitrary<Coordinates> = fc.record(
  { group: text, kind: text, namespace: text, name: text },
  PLAIN,
)

const timer: fc.Arbitrary<Timer> = fc.oneof(
  fc.record({ type: fc.constant('node'), uid: text }, PLAIN),
  fc.record({ type: fc.constant('owner'), uid: text, place }, PLAIN),
  fc.record(
    { type: fc.constant('kind'), kind: fc.record({ group: text, kind: text }, PLAIN) },
    PLAIN,
  ),
  fc.record(
    { type: fc.constant('budget'), budget: fc.constantFrom('deleted', 'not-found') },
    PLAIN,
  ),
  fc.record({ type: fc.constant('ending'), namespace: text }, PLAIN),
)

test('the key of a timer says what it looks at', () => {
  fc.assert(
    fc.property(text, timer, (cluster, due) => {
      deepEqual(timerOf(dueKey(cluster, 1_790_000_000_000, due)), due)
    }),
  )
})

test('the part of coordinates says them', () => {
  fc.assert(fc.property(place, (at) => deepEqual(coordinatesIn(coordinatesPart(at)), at)))
})

test('coordinates that differ in one part only have another part of a key', () => {
  const at = { group: 'g', kind: 'K', namespace: 'ns', name: 'n-00' }
  const texts = ['group', 'kind', 'namespace', 'name'].map((field) => {
    // The other one, which has all but that, was asked for just before.
    coordinatesPart(at)
    return coordinatesPart({ ...at, [field]: field === 'name' ? 'm-00' : 'other' })
  })
  deepEqual(texts, ['other,K,ns,n-00', 'g,other,ns,n-00', 'g,K,other,n-00', 'g,K,ns,m-00'])
})
