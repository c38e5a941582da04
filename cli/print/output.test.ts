/** Every answer as programs read it: one envelope, times, digests and words spelled alike. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from 'yaml'
import { type Document, type DocumentKind, documentOf } from '../../services/graph/api/document.ts'
import type { PlannedObject } from '../../services/graph/api/part-schema.ts'
import { shadowAnswer } from '../../services/graph/audit/shadow-answer.ts'
import type { ShadowReport } from '../../services/graph/audit/shadow-report.ts'
import type { Cascade } from '../../services/graph/query/answer/cascade.ts'
import type { HeldAnswer, HeldPlan } from '../../services/graph/query/answer/held.ts'
import type { Why } from '../../services/graph/query/answer/query.ts'
import type { TreeNode } from '../../services/graph/query/answer/tree.ts'
import type { Plan } from '../../services/graph/query/plan/plan.ts'
import { structured, structuredPart } from './output.ts'

const HEX = 'ab'.repeat(32)
const AT = 1_795_000_000_000
const TIME = '2026-11-18T11:06:40.000Z'
const cluster = { name: 'north', id: 'c-1', scope: 'north' }
const pod = { group: '', kind: 'Pod', namespace: 'shop', name: 'p', uid: 'u' }

const tree: TreeNode = {
  ...{
    ...pod,
    phase: 'observed',
    createdAt: null,
    edge: null,
    verdict: null,
    ...{ admission: null, doubt: null, deletion: null },
    repeated: false,
    children: [],
  },
}
const why: Why = {
  object: { ...pod, cluster: 'c-1', at: AT },
  phase: null,
  managers: [],
  elsewhere: [],
  references: [],
  verdict: null,
  ...{ admission: null, doubt: null },
  attempt: null,
  obstacle: { by: 'held', reason: 'waits', since: AT, count: null, until: AT },
  asOwner: {
    ...{ state: 'absent', phase: null, orphanedAt: AT },
    proof: { evidence: 'deleted', at: AT, position: 7n },
  },
  deletion: null,
  deletedBy: [],
  orphaned: null,
  ...{ restored: null, restoredAs: null },
  history: [],
}
const planned: PlannedObject = {
  ...{ ...pod, resourceVersion: '1', effect: 'deleted', because: 'x', owners: [], finalizers: [] },
}
const plan: Plan = {
  ...{ root: planned, cascade: 'Background', counts: [], total: 1, hidden: 0, objects: [planned] },
  ...{ holds: [], digest: HEX, notes: '' },
}
const cascade: Cascade = {
  ...{ root: { ...pod, phase: 'gone' }, since: AT, done: 1, kept: 0 },
  ...{ remaining: 0, kinds: [], blocked: [] },
  ...{ progress: { reaping: 0, blocked: 0, waiting: 0, queued: 0, unknown: 0 }, waiting: [] },
  ...{ isOver: true, isFinal: true, hidden: 0, deletion: null, deletedAt: null },
}
const count = { by: 'hold', evidence: 'deleted', count: 1, because: 'x' } as const
const held: HeldAnswer = {
  ...{ mode: 'enforce', clock: '', total: 1, hidden: 0, breakers: [], protections: [] },
  pauses: [{ cluster: null, who: 'ann', why: '' }],
  refused: [{ cluster, objects: 1, since: AT, tries: 1, nextTry: AT, example: 'x' }],
  counts: [{ ...count, cluster, group: '', kind: 'Pod', namespace: '', since: AT, until: null }],
}
const heldPlan: HeldPlan = {
  ...{ total: 0, objects: [], digest: HEX, approvals: 2 },
  first: { who: 'ann', why: 'x', until: AT },
}
const shadow: ShadowReport = {
  ...{ since: AT, mode: 'observe', patienceMs: 1, clusters: [] },
  cases: [
    {
      ...{ ...pod, agreement: 'ours', cluster: 'c-1', clusterName: 'north', because: 'x' },
      ...{ evidence: null, at: AT },
    },
  ],
}

const ANSWERS: readonly (readonly [DocumentKind, object])[] = [
  [
    'Tree',
    { answer: { root: tree, misnamed: { references: [], hidden: 0, isCut: false } }, cluster },
  ],
  ['Why', { answer: why, cluster, others: [{ cluster, uid: 'v', isThere: false, at: AT }] }],
  ['Plan', { answer: plan, cluster }],
  ['HeldPlan', { answer: heldPlan, cluster }],
  ['Cascade', { answer: cascade, cluster }],
  ['Held', { answer: held }],
  ['Shadow', { answer: shadowAnswer(shadow) }],
]

/** As it arrives and is printed. */
function printed(kind: DocumentKind, told: object): Record<string, unknown> {
  const partial = 'partition 1 of 8: still being restored'
  const document = documentOf(kind, { answer: {}, partial, ...told } as never) as Document
  const json = JSON.parse(structured(document, 'json'))
  deepEqual(parse(structured(document, 'yaml')), json, 'YAML says the same')
  deepEqual(JSON.parse(structuredPart(document, 'json')), json, 'one of many says the same')
  return json as Record<string, unknown>
}

for (const [kind, told] of ANSWERS) {
  test(`${kind} says what it is, of which cluster, and why it may be incomplete`, () => {
    const document = printed(kind, told)
    equal(document['apiVersion'], 'kinfold/v1')
    equal(document['kind'], kind)
    match(String(document['partial']), /still being restored/)
    if ('cluster' in told) deepEqual(document['cluster'], cluster)
  })

  test(`${kind} has no time, digest or cluster spelled in another way`, () => {
    for (const [key, value] of fieldsOf(printed(kind, told))) {
      if (typeof value === 'number') equal(value < 1e11, true, `${key}: ${value}`)
      if (key === 'cluster' && value !== null) deepEqual(value, cluster)
      equal(key === 'clusterName', false, key)
      if (key === 'digest') equal(value, `sha256:${HEX}`)
      if (key === 'cascade') equal(value, 'background')
    }
  })
}

test('a time is RFC 3339, and none is null', () => {
  const { obstacle, asOwner } = printed('Why', { answer: why, cluster }) as unknown as Why
  deepEqual([obstacle?.since, obstacle?.until, asOwner?.proof?.at], [TIME, TIME, TIME])
  const never = { ...cascade, since: Number.MAX_SAFE_INTEGER }
  equal(printed('Cascade', { answer: never, cluster })['since'], null)
  equal(printed('Cascade', { answer: { ...cascade, since: null }, cluster })['since'], null)
})

function* fieldsOf(value: unknown): Iterable<readonly [string, unknown]> {
  if (typeof value !== 'object' || value === null) return
  for (const field of Object.entries(value)) {
    yield field
    yield* fieldsOf(field[1])
  }
}
