/** What needs a person, by the status of a cluster: unknown is never fine. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { ClusterList } from '../../cli/answer.ts'
import { allNeeds, needsOf } from './need.ts'

type Row = ClusterList['clusters'][number]

const cluster = { name: 'north', id: 'n', scope: 'north' }
const held = {
  mode: 0,
  pause: 0,
  protection: 0,
  approval: 0,
  breaker: 0,
  hold: 3,
  budget: 1,
  rule: 0,
}
const fine = {
  ...({ mode: 'enforce', preset: 'guarded', heartbeatAgeMs: 2_000 } as const),
  ...{
    monitored: 3,
    synced: 3,
    lagEntries: 5,
    isPaused: false,
    pauses: [],
    openBreakers: 0,
    held,
    refused: 0,
    overdue: { objects: 0, since: null, example: null },
    rules: null,
    cutOff: [],
    forgotten: [],
  },
}

const rows: readonly (readonly [
  string,
  Partial<NonNullable<Row['status']>> | null,
  readonly string[],
])[] = [
  ['all is well', {}, []],
  [
    'its process cannot be asked',
    null,
    ['its status is unknown: the process that has it cannot be asked'],
  ],
  [
    'something waits for approval',
    { held: { ...held, approval: 2 } },
    ['2 objects held until a person approves or rejects'],
  ],
  [
    'a rule is over its limit',
    { rules: { dryRun: 0, enforced: 1, overLimit: 1, due: 900 } },
    ['1 rule over its limit, so that it deletes nothing'],
  ],
  ['a breaker is open', { openBreakers: 1 }, ['1 breaker open']],
  ['the cluster refuses', { refused: 1 }, ['1 object that the cluster refuses to change']],
  ['it is paused', { isPaused: true }, ['it is paused']],
  [
    'its watcher is silent',
    { heartbeatAgeMs: 61_000 },
    ['no sign of life of its watcher for 61 s: nothing is deleted there meanwhile'],
  ],
  [
    'a deletion does not end',
    {
      overdue: {
        ...{ objects: 1, since: null },
        example: {
          ...{ group: 'apps', kind: 'Deployment', namespace: 'shop', name: 'web', uid: 'u' },
          ...{ phase: 'waiting', because: 'waits for the finalizer x.dev/y of Pod/a' },
        },
      },
    },
    [
      '1 deletion waits for over 10 min: Deployment/web in shop waits for the finalizer x.dev/y of Pod/a',
    ],
  ],
  ['much is not folded', { lagEntries: 5_000 }, ['5,000 events not folded yet']],
]

for (const [what, changed, expected] of rows) {
  test(`where ${what}, ${expected.length === 0 ? 'nobody is needed' : 'that is said'}`, () => {
    const row: Row = { cluster, partition: 0, status: changed && { ...fine, ...changed } }
    deepEqual(
      needsOf(row).map((need) => need.what),
      expected,
    )
  })
}

test('what is counted still is unknown, as is a watcher that was never heard of', () => {
  const status = { ...fine, heartbeatAgeMs: null, held: null, overdue: null }
  deepEqual(
    needsOf({ cluster, partition: 0, status }).map((need) => need.what),
    [
      'no sign of life of its watcher ever: nothing is deleted there meanwhile',
      'what is held is still being counted',
    ],
  )
})

test('a failed check of the process, and no cluster at all, need a person', () => {
  const list = { apiVersion: 'kinfold/v1', kind: 'ClusterList', partial: '', clusters: [] } as const
  deepEqual(
    allNeeds(list, ['[-]log failed']).map((need) => need.what),
    ['[-]log failed', 'no cluster was ever watched'],
  )
})
