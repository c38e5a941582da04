/** Rights in words, of bodies as users write them. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../runtime/exact-json.ts'
import { rightsIn } from './rights.ts'

const ADMIN = { kind: 'ClusterRole', name: 'admin' }

const cases: readonly (readonly [string, JsonObject, readonly string[]])[] = [
  [
    'a binding',
    {
      roleRef: ADMIN,
      subjects: [
        { kind: 'User', name: 'eve' },
        { kind: 'ServiceAccount', namespace: 'evil', name: 'x' },
      ],
    },
    ['gives ClusterRole/admin to User eve, ServiceAccount evil/x'],
  ],
  ['a binding of nobody', { roleRef: ADMIN }, ['gives ClusterRole/admin to nobody and nothing']],
  [
    'many subjects, of which some are counted',
    {
      roleRef: ADMIN,
      subjects: Array.from({ length: 7 }, (_, n) => ({ kind: 'User', name: `${n}` })),
    },
    ['gives ClusterRole/admin to User 0, User 1, User 2, User 3, User 4 and 2 more'],
  ],
  [
    'rules',
    {
      rules: [
        { verbs: ['*'], apiGroups: ['', 'apps'], resources: ['pods'], resourceNames: ['a'] },
        { verbs: ['get'], nonResourceURLs: ['/metrics'] },
      ],
    },
    ['allows * on pods of the core group, apps called a', 'allows get on /metrics'],
  ],
  [
    'more rules than are named',
    { rules: Array.from({ length: 8 }, () => ({ verbs: ['get'], nonResourceURLs: ['/'] })) },
    [...Array(5).fill('allows get on /'), 'and 3 more rules'],
  ],
  [
    'an aggregated role',
    { aggregationRule: {} },
    ['has the rules of other ClusterRoles, by labels'],
  ],
  [
    'security context constraints',
    { allowPrivilegedContainer: true, users: ['eve'], groups: ['devs'] },
    ['gives what it allows to User eve, Group devs'],
  ],
  ['fields of other types', { rules: 'all', subjects: 7, roleRef: null, users: {} }, []],
]

for (const [what, body, expected] of cases) {
  test(`of ${what}`, () => deepEqual(rightsIn(body), expected))
}
