/** Versions are compared as numbers of any length, and not at all when they are none. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import {
  apiVersionOf,
  compareVersions,
  groupOf,
  isSamePairs,
  isSamePlace,
  isSameReferences,
  type OwnerReference,
  versionOf,
} from './object.ts'

const versions = [
  ['1', '2', -1],
  ['2', '1', 1],
  ['7', '7', 0],
  ['9', '10', -1],
  ['100', '99', 1],
  ['18446744073709551615', '18446744073709551616', -1],
  ['9007199254740993', '9007199254740992', 1],
  ['0', '1', -1],
  ['', '1', undefined],
  ['1', 'x', undefined],
  ['01', '1', undefined],
  ['-1', '1', undefined],
  ['1.5', '1', undefined],
  ['x', 'x', 0],
] as const

for (const [a, b, order] of versions) {
  test(`compares "${a}" with "${b}": ${order}`, () => {
    const found = compareVersions(a, b)
    equal(found === undefined ? undefined : Math.sign(found), order)
  })
}

test('splits and joins an apiVersion', () => {
  equal(groupOf('apps/v1'), 'apps')
  equal(groupOf('v1'), '')
  equal(versionOf('apps/v1'), 'v1')
  equal(versionOf('v1'), 'v1')
  equal(apiVersionOf('apps', 'v1'), 'apps/v1')
  equal(apiVersionOf('', 'v1'), 'v1')
})

test('takes each of the four coordinates into account', () => {
  const place = { group: 'g', kind: 'K', namespace: 'ns', name: 'n' }
  equal(isSamePlace(place, { ...place }), true)
  for (const other of ['group', 'kind', 'namespace', 'name']) {
    equal(isSamePlace(place, { ...place, [other]: 'other' }), false)
  }
})

const reference: OwnerReference = {
  ...{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'a', uid: 'uid-a' },
  ...{ controller: true, blockOwnerDeletion: null },
}

test('takes each field of each reference into account, and their order', () => {
  const second = { ...reference, uid: 'uid-b' }
  equal(isSameReferences([reference, second], [{ ...reference }, { ...second }]), true)
  equal(isSameReferences([], []), true)
  equal(isSameReferences([reference, second], [second, reference]), false)
  equal(isSameReferences([reference], [reference, second]), false)
  equal(isSameReferences([reference, second], [reference]), false)
  for (const field of Object.keys(reference)) {
    equal(isSameReferences([reference], [{ ...reference, [field]: false }]), false, field)
  }
})

test('takes the key and the value of each pair into account', () => {
  const pairs = [
    { key: 'a', value: '1' },
    { key: 'b', value: '2' },
  ]
  equal(isSamePairs(pairs, structuredClone(pairs)), true)
  equal(isSamePairs(pairs, pairs.slice(0, 1)), false)
  equal(isSamePairs(pairs.slice(0, 1), pairs), false)
  equal(
    isSamePairs(pairs, [
      { key: 'a', value: '1' },
      { key: 'c', value: '2' },
    ]),
    false,
  )
  equal(
    isSamePairs(pairs, [
      { key: 'a', value: '1' },
      { key: 'b', value: '' },
    ]),
    false,
  )
})
