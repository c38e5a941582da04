/**
 * A process is ready when all that it was given folds and is caught up, or when it waits for its
 * turn; it says how far its standbys are.
 */
import { deepEqual, equal, match, ok } from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Check, isReady, verbose } from '../../runtime/health.ts'
import { NONE_BLOCKED } from '../../services/graph/fold/tally.ts'
import type { PartitionStatus } from '../../services/graph/graph.ts'
import { noCounters, type WatcherStatus } from '../../services/watcher/status.ts'
import {
  blockedOf,
  checkOfGroup,
  checkOfLock,
  checksOfData,
  checksOfTokens,
  checksOfWatcher,
  readinessOf,
} from './readiness.ts'

const WAITING: WatcherStatus = {
  ...{ clusterId: 'c', name: 'north', epoch: 0, clusterEpoch: 0, connected: false },
  ...{ reason: '', lease: 'kinfold-watcher', isLeading: false, standbyOf: null },
  ...{ kinds: [], unwatched: [], elsewhere: [], counters: noCounters() },
}
const checks = (more: Partial<WatcherStatus>) =>
  checksOfWatcher({ status: () => ({ ...WAITING, ...more }) })

test('a standby is ready, and says who holds the lease', () => {
  deepEqual(checks({ standbyOf: 'host-1_ab', reason: 'Another watcher holds its lease.' }), [
    { name: 'cluster/north', state: 'ok', note: 'standby: host-1_ab holds the lease' },
  ])
})

test('a watcher that may not take the lease is not ready, and says why', () => {
  const reason = 'The Lease kube-system/kinfold-watcher may not be written.'
  deepEqual(checks({ reason }), [{ name: 'cluster/north', state: 'failed', reason }])
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
    state: 'ok',
    note: 'odds.x.io: its lists have no resourceVersion; r0, r1, r2, r3, r4, r5, r6, r7, r8, r9 and 2 more: it does not offer list',
  })
  equal(
    checks({}).some(({ name }) => name === 'unwatched/north'),
    false,
  )
})

test('a group that discovery lacks is a warning, and makes nobody unready', () => {
  const reason = 'Discovery lacks example.com/v1.'
  const pods = { group: '', kind: 'Pod', resource: 'pods', synced: true, reason: '' }
  const kinds = [pods as WatcherStatus['kinds'][number]]
  deepEqual(checks({ connected: true, reason, kinds })[0], {
    name: 'cluster/north',
    state: 'warning',
    reason,
  })
})

for (const [what, more, line] of [
  ['whose watch works', { reason: '', lastProofOfLifeAgeMs: 60_000 }, '[+]synced/north/secrets ok'],
  [
    'whose watch breaks',
    { reason: 'UNAVAILABLE: HTTP 500', lastProofOfLifeAgeMs: 1_000 },
    '[!]synced/north/secrets warning: its watch delivers nothing since 1970-01-01T00:01:00Z: UNAVAILABLE: HTTP 500',
  ],
  [
    'that delivers nothing for minutes',
    { reason: '', lastProofOfLifeAgeMs: 180_001 },
    '[!]synced/north/secrets warning: its watch delivers nothing since 1970-01-01T00:01:00Z',
  ],
  [
    'that may not be watched any more',
    { reason: 'FORBIDDEN: no', lastProofOfLifeAgeMs: 1_000 },
    '[-]synced/north/secrets failed: FORBIDDEN: no',
  ],
] as const) {
  test(`a kind ${what} is told by its check`, () => {
    const secrets = { group: '', kind: 'Secret', resource: 'secrets', state: 'watching' } as const
    const since = { since: 0, synced: true, objects: 1, resourceVersion: '7', lastProofAt: 60_000 }
    const kinds = [{ ...secrets, ...since, ...more }]
    equal(verbose(checks({ connected: true, kinds })).split('\n')[1], line)
  })
}

test('a process is not ready before it is in its group, and says when it does not reach it any more', () => {
  const joining = { isMember: false, isPreparing: false, trouble: '', differing: '' }
  const group = (state: 'failed' | 'warning', reason: string): Check => {
    return { name: 'group', state, reason }
  }
  const trouble = 'nobody answers'
  deepEqual(checkOfGroup(joining), group('failed', 'has not joined it yet'))
  deepEqual(checkOfGroup({ ...joining, trouble }), group('failed', trouble))
  deepEqual(checkOfGroup({ ...joining, isMember: true, trouble }), group('warning', trouble))
  deepEqual(checkOfGroup({ ...joining, isMember: true }), { name: 'group', state: 'ok' })
  const preparing = { ...joining, isMember: true, isPreparing: true }
  deepEqual(checkOfGroup(preparing), group('failed', 'prepares for its first partitions'))
})

test('what is blocked is a warning with one of them, where one is known', () => {
  const none = { unresolvable: NONE_BLOCKED, held: NONE_BLOCKED, refused: NONE_BLOCKED }
  const refused = { ...NONE_BLOCKED, objects: 2, tries: 3, example: 'Pod/a: no' }
  const lineOf = (count: typeof refused): string | undefined =>
    verbose(blockedOf('north', { blocked: { ...none, refused: count } })).split('\n')[0]
  const line = '[!]blocked/north/refused warning: 2 objects, tried up to 3 times'
  equal(lineOf(refused), `${line}; Pod/a: no`)
  equal(lineOf({ ...refused, example: '' }), line)
})

test('a data directory that others may write to is a warning, and ours is no line', (t) => {
  const data = mkdtempSync(join(tmpdir(), 'kinfold-readiness-'))
  t.after(() => rmSync(data, { recursive: true }))
  deepEqual(checksOfData(data), [])
  chmodSync(data, 0o777)
  const [check] = checksOfData(data)
  match(verbose([check!]), /^\[!\]data warning: other users may write to .*\nreadyz check passed/)
})

test('a token file that has become useless is a warning', () => {
  deepEqual([...checksOfTokens({}), ...checksOfTokens({ token: { failure: () => '' } })], [])
  deepEqual(checksOfTokens({ token: { failure: () => 'why' } }), [
    { name: 'http-token', state: 'warning', reason: 'none of its tokens is accepted: why' },
  ])
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
  ['absent', false, 'absent', '[!]lock/north warning: absent: why'],
  [
    'absent and required',
    true,
    'absent',
    '[!]lock/north warning: absent, so commands are only dry runs: why',
  ],
  ['not known', false, 'unknown', '[!]lock/north warning: unknown: why'],
] as const) {
  test(`a lock that is ${what} is reported as what it is`, () => {
    const check = checkOfLock({ cluster: 'c', name: 'north', state, reason: 'why', isRequired })
    equal(verbose([check]).split('\n')[0], line)
    ok(isReady([check]))
  })
}
