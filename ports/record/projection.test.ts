/**
 * The published labels and annotations of every object do not depend on the policy of today, and
 * have a name of their own; rules add to that for their own kinds.
 */
import { deepEqual, equal, notEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { hash64 } from '../../core/model/hash.ts'
import { ALL_MARKS } from '../../core/model/mark.ts'
import { ruleIn } from '../../testing/model/rule-notation.ts'
import { NO_MARK_KEYS } from './manager-mark.ts'
import { kindDigest, MARKED, projectionDigest, projectionOf, readsIn } from './projection.ts'
import { RESTORED_FROM } from './restored-mark.ts'

test('every key that may protect is told of every object, and another set has another digest', () => {
  const { labels, annotations } = MARKED
  for (const { on, key } of ALL_MARKS)
    equal((on === 'label' ? labels : annotations).includes(key), true)
  const policy = { labels: ['tier=gold'], annotations: ['x'] }
  const more = projectionOf(policy, ['label/own', 'kind/Pod'], [])
  deepEqual(more.labels, [...labels, 'tier', 'own'].sort())
  deepEqual(more.annotations, [...annotations, 'x'].sort())
  equal(annotations.includes(RESTORED_FROM), true)
  notEqual(projectionDigest(more), projectionDigest(MARKED))
  equal(projectionDigest(projectionOf(null, ['namespace/a'], [])), projectionDigest(MARKED))
})

test('rules change the digest of their own kinds alone; without any it is as it always was', () => {
  const { labels, annotations } = MARKED
  const without = projectionDigest(MARKED)
  equal(without, hash64(JSON.stringify([labels, annotations])))
  const [one, other] = [ruleIn('one pod 60 since:status.a'), ruleIn('other cm 60 label:a=b')]
  const ruled = projectionOf(null, [], [one, other])
  notEqual(projectionDigest(ruled), without)
  equal(projectionDigest(projectionOf(null, [], [other, one])), projectionDigest(ruled))
  const [pods, maps, jobs] = [
    { group: '', kind: 'Pod' },
    { group: '', kind: 'ConfigMap' },
    { group: 'batch', kind: 'Job' },
  ]
  notEqual(kindDigest(ruled, pods), without)
  notEqual(kindDigest(ruled, maps), kindDigest(ruled, pods))
  equal(kindDigest(ruled, jobs), without)
  deepEqual(projectionOf(null, [], [ruleIn('none pod 60')]), MARKED)
  const more = projectionOf(null, [], [one, other, ruleIn('third cm 60 label:c=d')])
  equal(kindDigest(more, pods), kindDigest(ruled, pods))
  notEqual(kindDigest(more, maps), kindDigest(ruled, maps))
})

test('a namespace has an entry where its rules read something else, and changes no other one', () => {
  const all = ruleIn('one pod 60 since:status.a')
  const own = ruleIn('shop/more pod 60 since:status.b namespace:shop')
  const same = ruleIn('shop/same pod 60 since:status.a namespace:shop')
  const pods = { group: '', kind: 'Pod' }
  const both = projectionOf(null, [], [all, own])
  deepEqual(readsIn(both, { ...pods, namespace: 'shop' })?.fields, ['status.a', 'status.b'])
  const others = readsIn(projectionOf(null, [], [all]), pods)
  for (const namespace of ['other', '']) {
    deepEqual(readsIn(both, { ...pods, namespace }), others)
  }
  deepEqual(
    readsIn(projectionOf(null, [], [own]), { ...pods, namespace: 'other' })?.fields,
    undefined,
  )
  deepEqual(projectionOf(null, [], [all, same]), projectionOf(null, [], [all]))
  notEqual(kindDigest(both, pods), kindDigest(projectionOf(null, [], [all]), pods))
})

test('marks are keys of their own: they change the digest of every kind, and protect nothing', () => {
  const marks = { labels: ['tool/name'], annotations: ['tool/id'] }
  const marked = projectionOf(null, [], [], marks)
  deepEqual([marked.labels, marked.annotations], [MARKED.labels, MARKED.annotations])
  deepEqual(marked.marks, marks)
  const jobs = { group: 'batch', kind: 'Job' }
  notEqual(kindDigest(marked, jobs), kindDigest(MARKED, jobs))
  const swapped = { labels: ['tool/id'], annotations: ['tool/name'] }
  notEqual(projectionDigest(projectionOf(null, [], [], swapped)), projectionDigest(marked))
  equal(projectionDigest(projectionOf(null, [], [], NO_MARK_KEYS)), projectionDigest(MARKED))
})
