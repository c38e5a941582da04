/** Shows that a path names one object, as it is written, or is none. */
import { equal } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Target } from '../../core/model/command.ts'
import { collectionPath, objectPath } from './path.ts'

const POD: Target = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  resource: 'pods',
  namespace: 'shop',
  name: 'web',
  uid: 'u',
  resourceVersion: '1',
  aggregated: false,
}

const rows: [string, Partial<Target>, string | null][] = [
  ['a core object', {}, '/api/v1/namespaces/shop/pods/web'],
  ['one in a group', { group: 'apps' }, '/apis/apps/v1/namespaces/shop/pods/web'],
  ['one without a namespace', { namespace: '' }, '/api/v1/pods/web'],
  ['a name with colons and capitals', { name: 'Up:Er' }, '/api/v1/namespaces/shop/pods/Up%3AEr'],
  ['a name with a query', { name: 'a?b#c' }, '/api/v1/namespaces/shop/pods/a%3Fb%23c'],
  ['no name, which would be the collection', { name: '' }, null],
  ['a name that climbs', { name: '..' }, null],
  ['a name that stays', { name: '.' }, null],
  ['a name with a slash', { name: 'web/status' }, null],
  ['a name that is escaped already', { name: 'web%2Fstatus' }, null],
  ['half a surrogate pair', { name: '\ud800' }, null],
  ['a subresource', { resource: 'pods/status' }, null],
  ['no resource', { resource: '' }, null],
  ['no version', { version: '' }, null],
  ['a version that climbs', { version: '..' }, null],
  ['a namespace with a slash', { namespace: 'shop/pods' }, null],
  ['a group with a slash', { group: 'apps/v1' }, null],
]

describe('a path', () => {
  for (const [what, changed, expected] of rows) {
    test(`of ${what}`, () => equal(objectPath({ ...POD, ...changed }), expected))
  }

  test('of a collection', () => {
    equal(
      collectionPath({ group: 'apps', version: 'v1', resource: 'deployments' }),
      '/apis/apps/v1/deployments',
    )
  })
})
