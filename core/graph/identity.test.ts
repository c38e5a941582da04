/** Whom a reference names where no graph can be asked, and that a uid alone is no identity. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { type Identity, identityOf, isNamedBy } from './identity.ts'

const WEB = { group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' }
const REFERENCE = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'u' }

const cases = [
  ['as it is', {}, 'shop', true],
  ['by another version', { apiVersion: 'apps/v1beta1' }, 'shop', true],
  ['by its kind in lower case', { kind: 'deployment' }, 'shop', true],
  ['by its kind in another case', { kind: 'DEPLOYMENT' }, 'shop', false],
  ['from another namespace', {}, 'evil', false],
  ['from an object without a namespace', {}, '', false],
  ['by another group', { apiVersion: 'v1' }, 'shop', false],
  ['by another name', { name: 'wep' }, 'shop', false],
  ['by another uid', { uid: 'v' }, 'shop', false],
] as const

for (const [how, change, namespace, expected] of cases) {
  test(`an owner that is referenced ${how} is ${expected ? '' : 'not '}named`, () => {
    equal(isNamedBy(identityOf('c', WEB), { namespace }, { ...REFERENCE, ...change }), expected)
  })
}

test('an owner without a namespace is named from every one', () => {
  const owner = identityOf('c', { ...WEB, namespace: '' })
  for (const namespace of ['shop', 'evil', ''])
    equal(isNamedBy(owner, { namespace }, REFERENCE), true)
})

test('neither a uid nor an object literal compiles as an identity', () => {
  // @ts-expect-error: a uid alone finds no owner.
  const uid: Identity = 'u'
  // @ts-expect-error: only `identityOf` makes one.
  const literal: Identity = { cluster: 'c', ...WEB }
  equal(uid === literal, false)
})
