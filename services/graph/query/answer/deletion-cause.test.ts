/**
 * Why an object was deleted: by a collector, for its owners, or by another client, for its own
 * reasons.
 */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { History } from '../../../../core/model/record.ts'
import type { FoundActor } from './actor.ts'
import { type Cause, causeNow, causeOf } from './deletion-cause.ts'

const POD = { group: '', kind: 'Pod', namespace: 'ns', name: 'a' }
const NOTHING = { text: '', phase: null, evidence: null, admission: null, command: null, basis: [] }
const OF = { type: 'History', cluster: 'c', uid: 'u', partition: 0, position: 0n } as const
const ENTRY = { ...OF, ...POD, ...NOTHING } as const

function entry(change: History['change'], at: number, more: Partial<History> = {}): History {
  return { ...ENTRY, change, at, ...more }
}

const keep = entry('verdict', 100)
const reap = entry('verdict', 1_000, { evidence: 'deleted' })
const ruled = entry('verdict', 1_000, { evidence: 'rule' })
const orphaned = entry('verdict', 1_000, { evidence: 'orphaning' })
const begun = entry('phase', 5_000, { phase: 'deleting' })
const afterwards = entry('verdict', 6_000, { evidence: 'deleted' })
const gone = entry('gone', 9_000, { evidence: 'deleted' })
const missed = entry('gone', 9_000, { evidence: 'missing' })

const user: FoundActor = {
  ...{ user: 'alice', impersonated: null, agent: 'kubectl/v1', verb: 'delete', match: 'uid' },
  ...{ isCollector: false, others: 0, auditId: 'x', at: 0 },
}
const collector: FoundActor = { ...user, user: 'admin', isCollector: true }
const controller: FoundActor = {
  ...user,
  agent: 'kube-controller-manager/v1 replicaset-controller',
}

const namespaces: FoundActor = {
  ...controller,
  agent: 'kube-controller-manager/v1/namespace-controller',
}

function unknown(at: number | null, from: number | null = null): Cause {
  return { type: 'unknown', at, begun: from === null ? null : { from, to: from } }
}

for (const [what, history, actor, cause] of [
  ['a user', [reap, gone], user, { type: 'own' }],
  ['a controller', [reap, gone], controller, { type: 'own' }],
  [
    'another collector, where a rule had decided',
    [ruled, begun, gone],
    null,
    unknown(65_000, 5_000),
  ],
  ['perhaps a user', [reap, gone], { ...user, others: 1 }, unknown(69_000)],
  [
    'the namespace controller',
    [keep, begun, gone],
    namespaces,
    { type: 'namespace', begun: { from: 3_000, to: 7_000 } },
  ],
  [
    'the namespace controller, or a user',
    [keep, begun, gone],
    { ...namespaces, others: 1 },
    unknown(65_000),
  ],
  ['the collector', [keep, gone], collector, { type: 'owner', at: 11_000, isInferred: true }],
  [
    'the collector, seen to begin',
    [keep, begun, gone],
    collector,
    { type: 'owner', at: 7_000, isInferred: true },
  ],
  ['the collector, between two lists', [reap, missed], collector, unknown(null)],
  ['nobody known', [keep, reap, gone], null, { type: 'owner', at: 1_000, isInferred: true }],
  ['nobody known, between two lists', [reap, missed], null, unknown(null)],
  ['nobody known, before a verdict', [keep, gone], null, unknown(69_000, 9_000)],
  ['nobody known, an orphan', [orphaned, gone], null, unknown(69_000, 9_000)],
  [
    'nobody known, before its owner was deleted',
    [keep, begun, afterwards, gone],
    null,
    unknown(65_000, 5_000),
  ],
  ['nothing known', [], collector, unknown(null)],
  [
    'a command of ours whose result is lost',
    [keep, entry('command', 4_000, { command: 'x', evidence: 'deleted' }), gone],
    { ...user, match: 'audit-id' },
    { type: 'owner', at: 4_000, isInferred: false },
  ],
] as const satisfies readonly (readonly [
  string,
  readonly History[],
  FoundActor | null,
  object,
])[]) {
  test(`deleted by ${what}`, () => {
    deepEqual(causeOf({ decidedAt: null, history, unseenSince: null }, actor), cause)
  })
}

test('what ended while nothing was seen was deleted by the namespace controller, and by nobody known only before that', () => {
  const ended = { decidedAt: null, history: [keep, gone], unseenSince: 3_000 }
  deepEqual(causeOf(ended, namespaces), { type: 'namespace', begun: { from: 3_000, to: 69_000 } })
  deepEqual(causeOf(ended, null), unknown(69_000, 3_000))
})

test('a delete that Kinfold carried out rests on what it was decided by', () => {
  const cause = causeOf({ decidedAt: 1_000, history: [reap, gone], unseenSince: null }, collector)
  deepEqual(cause, { type: 'owner', at: 1_000, isInferred: false })
})

test('what exists has the cause of its verdict, if any', () => {
  deepEqual(causeNow([keep, reap]), { type: 'owner', at: 1_000, isInferred: false })
  deepEqual(causeNow([reap, keep]), { type: 'own' })
})
