/** The status of a policy: a row a case, and what stays as it was. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { PolicyStatus } from '../../ports/record/service-record.ts'
import { isSameStatus, NO_OUTCOMES, type PolicyOutcomes, statusOf } from './policy-status.ts'

const SAID: PolicyStatus = {
  ...{ type: 'PolicyStatus', cluster: 'c', partition: 0, kind: 'CleanupPolicy' },
  ...{ version: 'v1alpha1', namespace: 'shop', name: 'old', uid: 'u', generation: 3 },
  ...{ digest: 'd', problem: '', isEnforced: true, matched: 5, due: 2, held: 1, note: '' },
}
const THEN = '2026-11-01T00:00:00.000Z'
const NOW = '2026-11-02T00:00:00.000Z'
const OUTCOMES: PolicyOutcomes = { deleted: 2, annotated: 0, lacking: '', lastError: '' }

interface Shown {
  readonly deleted: number
  readonly lastError: string
  readonly conditions: readonly Readonly<Record<string, string>>[]
}

function shown(status: object): readonly string[] {
  const { conditions } = status as Shown
  return conditions.map(({ type, status: is, reason, message, lastTransitionTime }) => {
    return `${type} ${is} ${reason} ${message} ${lastTransitionTime === NOW ? 'now' : 'then'}`
  })
}

const CASES: readonly (readonly [string, Partial<PolicyStatus>, PolicyOutcomes, string[]])[] = [
  [
    'in force, and not tried yet',
    {},
    NO_OUTCOMES,
    ['Ready True Compiled  now', 'Enforced True Annotated  now', 'Permitted Unknown NotTried  now'],
  ],
  [
    'that deleted',
    { note: 'over its limit' },
    OUTCOMES,
    [
      'Ready True Compiled over its limit now',
      'Enforced True Annotated  now',
      'Permitted True Allowed  now',
    ],
  ],
  [
    'refused',
    { problem: 'spec: why', digest: '', isEnforced: false },
    { ...OUTCOMES, lacking: '403 no' },
    [
      'Ready False Refused spec: why now',
      'Enforced False DryRun  now',
      'Permitted False Forbidden 403 no now',
    ],
  ],
]

for (const [what, said, outcomes, expected] of CASES) {
  test(`of one ${what}`, () => {
    deepEqual(shown(statusOf({ ...SAID, ...said }, outcomes, {}, NOW)), expected)
  })
}

test('what this process does not know stays, and so does since when', () => {
  const refused = { deleted: 2, annotated: 3, lacking: '403 no', lastError: '403 no' }
  const before = statusOf(SAID, refused, { deleted: 5 }, THEN)
  const after = statusOf(SAID, NO_OUTCOMES, before, NOW)
  equal((after as unknown as Shown).deleted, 7)
  equal(after['annotated'], 3)
  equal(isSameStatus(before, after), true)
  const allowed = statusOf(SAID, OUTCOMES, before, NOW)
  deepEqual(shown(allowed), [
    'Ready True Compiled  then',
    'Enforced True Annotated  then',
    'Permitted True Allowed  now',
  ])
  equal((allowed as unknown as Shown).lastError, '')
})

test('nothing that another client wrote there is a mistake', () => {
  const strange = { conditions: [null, 7, { type: 'Permitted', status: 7 }], deleted: 'x' }
  equal((statusOf(SAID, OUTCOMES, strange, NOW) as unknown as Shown).deleted, 2)
})
