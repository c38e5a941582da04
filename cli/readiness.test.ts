/** A process is ready when all that it was given folds and is caught up, or when it waits for its turn; it says how far its standbys are. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { isReady, verbose } from '../runtime/health.ts'
import { NONE_BLOCKED } from '../services/graph/fold/tally.ts'
import type { PartitionStatus } from '../services/graph/graph.ts'
import { noCounters, type WatcherStatus } from '../services/watcher/status.ts'
import { blockedOf, checkOfGroup, checkOfLock, checksOfWatcher, readinessOf } from './readiness.ts'

const WAITING: WatcherStatus = {
  ...{ clusterId: 'c', name: 'north', epoch: 0, clusterEpoch: 0, connected: false },
  ...{ reason: '', lease: 'kinfold-watcher', isLeading: false, standbyOf: null },
  ...{ kinds: [], unwatched: [], counters: noCounters() },
}
const checks = (more: Partial<WatcherStatus>) =>
  checksOfWatcher({ status: () => ({ ...WAITING, ...more }) })

test('a standby is ready, and says who holds the lease', () => {
  deepEqual(checks({ standbyOf: 'host-1_ab', reason: 'Another watcher holds its lease.' }), [
    { name: 'cluster/north', failure: '', note: 'standby: host-1_ab holds the lease' },
  ])
})

test('a watcher that may not take the lease is not ready, and says why', () => {
  const reason = 'The Lease kube-system/kinfold-watcher may not be written.'
  deepEqual(checks({ reason }), [{ name: 'cluster/north', failure: reason }])
})

test('kinds that are not watched are named with their reason, and make nobody unready', () => {
  const odd = {
    kind: 'Odd',
    group: 'x.io',
    resource: 'odds',
    reason: 'its lists have no resourceVersion',
  }
  const others = Array.from({ length: 12 }, (_, index) => {
    return { kind: '', group: '', resource: `r${index}`, reason: 'it does not offer list' }
  })
  const told = checks({ unwatched: [odd, ...others] }).find(
    ({ name }) => name === 'unwatched/north',
  )
  deepEqual(told, {
    name: 'unwatched/north',
    failure: '',
    note: 'odds.x.io: its lists have no resourceVersion; r0, r1, r2, r3, r4, r5, r6, r7, r8, r9 and 2 more: it does not offer list',
  })
  equal(
    checks({}).some(({ name }) => name === 'unwatched/north'),
    false,
  )
})

test('a group that discovery lacks is told, and makes nobody unready', () => {
  const reason = 'Discovery lacks example.com/v1.'
  const pods = { group: '', kind: 'Pod', resource: 'pods', synced: true, reason: '' }
  const kinds = [pods as WatcherStatus['kinds'][number]]
  deepEqual(checks({ connected: true, reason, kinds })[0], {
    name: 'cluster/north',
    failure: '',
    note: reason,
  })
})

test('a process is not ready before it is in its group, and says when it does not reach it any more', () => {
  const joining = { isMember: false, trouble: '', differing: '' }
  deepEqual(checkOfGroup(joining).failure, 'has not joined it yet')
  deepEqual(checkOfGroup({ ...joining, trouble: 'nobody answers' }).failure, 'nobody answers')
  deepEqual(checkOfGroup({ ...joining, isMember: true, trouble: 'nobody answers' }), {
    name: 'group',
    failure: '',
    note: 'nobody answers',
  })
})

test('what cannot go is told with one of them, where one is known', () => {
  const none = { unresolvable: NONE_BLOCKED, held: NONE_BLOCKED, refused: NONE_BLOCKED }
  const refused = { ...NONE_BLOCKED, objects: 2, tries: 3, example: 'Pod/a: no' }
  const noted = (count: typeof refused): readonly (string | undefined)[] =>
    blockedOf('north', { blocked: { ...none, refused: count } }).map(({ note }) => note)
  deepEqual(noted(refused), ['2 objects, tried up to 3 times; Pod/a: no'])
  deepEqual(noted({ ...refused, example: '' }), ['2 objects, tried up to 3 times'])
})

const TASK = {
  partition: 3,
  role: 'active',
  state: 'folding',
  position: 7n,
  lagEntries: 0n,
} as const
const OWNED = new Map([[3, 'http://other']])

const cases: readonly [string, readonly PartitionStatus[], typeof OWNED, boolean, string][] = [
  ['a task that folds', [TASK], OWNED, true, '[+]task/3 ok'],
  ['a little behind', [{ ...TASK, lagEntries: 10_000n }], OWNED, true, '[+]task/3 ok'],
  [
    'far behind',
    [{ ...TASK, lagEntries: 10_001n }],
    OWNED,
    false,
    '[-]task/3 failed: 10001 entries behind',
  ],
  [
    'a store that is being opened',
    [{ ...TASK, state: 'opening' }],
    OWNED,
    false,
    '[-]task/3 failed: opening',
  ],
  [
    'a standby, however far behind',
    [{ ...TASK, role: 'standby', state: 'following', lagEntries: 20_000n }],
    OWNED,
    true,
    '[+]standby/3 ok: 20000 entries behind',
  ],
  ['nothing to do while others do it', [], OWNED, true, ''],
  [
    'nothing, and nobody does anything',
    [],
    new Map(),
    false,
    '[-]tasks failed: no task is given to anybody yet',
  ],
]

for (const [what, status, owners, ready, line] of cases) {
  test(what, () => {
    const graph = { status: () => status, owners: () => owners }
    const checks = readinessOf([], graph, { counts: () => [] })
    deepEqual([isReady(checks), verbose(checks).split('\n').at(-3) ?? ''], [ready, line])
  })
}

for (const [what, isRequired, state, line] of [
  ['in force', true, 'in force', '[+]lock/north ok: in force'],
  ['absent', false, 'absent', '[+]lock/north ok: absent: why'],
  [
    'absent and required',
    true,
    'absent',
    '[+]lock/north ok: absent, so commands are only dry runs: why',
  ],
] as const) {
  test(`a lock that is ${what} is told`, () => {
    const check = checkOfLock({ cluster: 'c', name: 'north', state, reason: 'why', isRequired })
    equal(verbose([check]).split('\n')[0], line)
  })
}
