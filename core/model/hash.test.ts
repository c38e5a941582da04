/** Hashes and partitions never change: logs, homes and projections rest on these very values. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { hash32, partitionOf } from '../../ports/partition.ts'
import { object } from '../../testing/model/notation.ts'
import { EMPTY_SET, hash64, isSameSet, withMember, withoutMember } from './hash.ts'
import { projectionHash } from './object.ts'
import { clusterOfHome, homeOf, objectKey } from './partition.ts'

const pinned = [
  ['', 2166136261, '488bdcb81aee8d83'],
  ['a', 3826002220, '501c2ba782c97901'],
  ['c/ns', 531677928, '28bf7725d9c0959d'],
  ['6f1c8a1e-0d4b-4b44-8f0a-6a1f2c3d4e5f', 728817377, '7cd2d0fa5c346559'],
  ['größe ✓ 𝒳', 1772231601, '69854aa456501f87'],
] as const

for (const [text, narrow, wide] of pinned) {
  test(`hashes "${text}" as ever`, () => deepEqual([hash32(text), hash64(text)], [narrow, wide]))
}

test('puts homes into the partitions they were always in', () => {
  const homes = ['kube-system', 'default', '', 'team-a', 'team-b'].map((ns) => homeOf('c', ns))
  deepEqual(
    homes.map((home) => partitionOf(home, 12)),
    [0, 8, 3, 8, 5],
  )
  deepEqual(
    homes.map((home) => partitionOf(home, 1)),
    [0, 0, 0, 0, 0],
  )
})

test('spreads homes over partitions', () => {
  const counts = new Array<number>(12).fill(0)
  for (let i = 0; i < 12_000; i++) {
    const partition = partitionOf(homeOf('6f1c8a1e-0d4b-4b44', `team-${i}`), 12)
    counts[partition] = (counts[partition] ?? 0) + 1
  }
  equal(counts.length, 12)
  equal(
    counts.every((count) => count > 800 && count < 1200),
    true,
  )
})

test('knows the cluster of a home and of a cluster key', () => {
  equal(clusterOfHome(homeOf('c', 'ns')), 'c')
  equal(clusterOfHome('c'), 'c')
  equal(objectKey('c', 'u'), 'c/u')
})

test('projects what the fold reads, and not the version', () => {
  const pod = object('pod/a <- rs/web', '7')
  equal(projectionHash(pod), '8198b6285152e326')
  equal(
    projectionHash({ ...pod, resourceVersion: '8', generation: 3, version: 'v2' }),
    projectionHash(pod),
  )
  const others = ['pod/a', 'pod/a <- rs/web!', 'pod/a <- rs/web [deleting]', 'pod/a <- rs.v2/web']
  const hashes = new Set([pod, ...others.map((text) => object(text, '7'))].map(projectionHash))
  equal(hashes.size, 5)
})

test('hashes a set whatever the order its members came and went in', () => {
  fc.assert(
    fc.property(fc.uniqueArray(fc.string()), fc.uniqueArray(fc.string()), (kept, others) => {
      const gone = others.filter((each) => !kept.includes(each))
      const first = kept.reduce(withMember, EMPTY_SET)
      const all = [...gone, ...kept.toReversed()].reduce(withMember, EMPTY_SET)
      const second = gone.reduce(withoutMember, all)
      equal(isSameSet(first, second), true)
      equal(gone.length === 0 || !isSameSet(first, all), true)
    }),
  )
})
