/**
 * The published labels and annotations of every object do not depend on the policy of today, and
 * have a name of their own.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { ALL_MARKS } from '../../core/model/mark.ts'
import { MARKED, projectionDigest, projectionOf } from './projection.ts'
import { RESTORED_FROM } from './restored-mark.ts'

test('every key that may protect is told of every object, and another set has another digest', () => {
  const { labels, annotations } = MARKED
  for (const { on, key } of ALL_MARKS)
    equal((on === 'label' ? labels : annotations).includes(key), true)
  const more = projectionOf({ labels: ['tier=gold'], annotations: ['x'] }, [
    'label/own',
    'kind/Pod',
  ])
  deepEqual(more.labels, [...labels, 'tier', 'own'].sort())
  deepEqual(more.annotations, [...annotations, 'x'].sort())
  equal(annotations.includes(RESTORED_FROM), true)
  notEqual(projectionDigest(more), projectionDigest(MARKED))
  equal(projectionDigest(projectionOf(null, ['namespace/a'])), projectionDigest(MARKED))
})
