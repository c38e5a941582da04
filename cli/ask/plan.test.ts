/** A plan and a cascade in each of their forms, and what is said beside readiness. */
import { deepEqual, doesNotMatch, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf } from '../../services/graph/api/document.ts'
import type { Cascade } from '../../services/graph/query/answer/cascade.ts'
import type { Plan } from '../../services/graph/query/plan/plan.ts'
import { oneLine, render as renderCascade } from '../print/cascade-text.ts'
import { blockedOf } from '../process/readiness.ts'
import { render } from './plan.ts'

const root = {
  group: 'apps',
  kind: 'Deployment',
  namespace: 'shop',
  name: 'web',
  uid: 'u-web',
  resourceVersion: '7',
  effect: 'deleted',
  because: 'it is deleted',
  owners: [],
  finalizers: [],
} as const

const plan: Plan = {
  root,
  cascade: 'Background',
  counts: [{ group: 'apps', kind: 'Deployment', effect: 'deleted', count: 3 }],
  total: 3,
  hidden: 0,
  objects: [
    {
      ...root,
      kind: 'Pod',
      group: '',
      name: 'p',
      effect: 'kept',
      because: 'no',
      owners: ['Job/j'],
    },
    root,
  ],
  holds: ['2 objects would be held for 1h (evidence not-found)'],
  digest: 'abc',
  notes: '',
}

const cluster = { name: 'north', id: 'c-1', scope: 'north' }
const told = documentOf('Plan', { answer: plan, partial: '', cluster, asOf: [] })

test('a plan as a table', () => {
  equal(
    render(told, 'table'),
    `Plan: delete Deployment/web -n shop in cluster north with --cascade=background
3 objects:

KIND              EFFECT    COUNT
Deployment.apps   deleted   3

NAMESPACE   OBJECT           EFFECT    REASON
shop        Pod/p            kept      no; left: Job/j
shop        Deployment/web   deleted   it is deleted
1 more not listed (raise --limit).

Note: 2 objects would be held for 1h (evidence not-found).
`,
  )
  match(render({ ...told, total: null, digest: null }, 'table'), /\nAt least 3 objects:\n/)
  doesNotMatch(render({ ...told, objects: [] }, 'table'), /NAMESPACE/)
})

test('wide with uids and finalizers; as names, those that would be deleted', () => {
  const stuck = { ...root, name: 'x', effect: 'stuck', finalizers: ['a/b', 'c/d'] } as const
  const more = { ...told, objects: [...told.objects, stuck] }
  match(render({ ...more, hidden: 2 }, 'table'), /\n5 objects:\n/)
  match(render(more, 'wide'), /\nshop +Deployment\/x +stuck +u-web +a\/b, c\/d +it is deleted\n/)
  equal(render(more, 'name'), 'deployment.apps/web\ndeployment.apps/x\n')
})

const cascade: Cascade = {
  isFinal: false,
  root: {
    group: 'apps',
    kind: 'Deployment',
    namespace: 'shop',
    name: 'web',
    uid: 'u',
    phase: 'gone',
  },
  since: 0,
  done: 4,
  kept: 0,
  remaining: 2,
  hidden: 0,
  deletion: null,
  deletedAt: null,
  progress: { reaping: 1, blocked: 1, waiting: 0, unknown: 0, queued: 0 },
  kinds: [{ group: '', kind: 'Pod', done: 4, remaining: 2 }],
  blocked: [
    {
      ...{ group: '', kind: 'Pod', namespace: 'shop', name: 'p', uid: 'p' },
      ...{ by: 'refused', reason: '403 from a webhook', since: 0, count: 3, until: 60_000 },
    },
  ],
  waiting: [],
  isOver: false,
}

test('a cascade as a line, and as tables', () => {
  const line =
    'Deployment/web -n shop, cluster north: deleted. Dependents: 4 done, 2 remaining (1 being deleted, 1 blocked); Pod/p: 403 from a webhook'
  const toldOf = documentOf('Cascade', {
    ...{ answer: cascade, partial: '', cluster, asOf: [] },
  })
  equal(oneLine(toldOf), line)
  equal(
    renderCascade(toldOf, 'table'),
    `${line}

KIND   DONE   REMAINING
Pod    4      2

NAMESPACE   OBJECT   BLOCKED-BY   SINCE                  TRIES   NEXT-TRY               REASON
shop        Pod/p    refused      1970-01-01T00:00:00Z   3       1970-01-01T00:01:00Z   403 from a webhook
`,
  )
})

test('dependents that a cascade orphaned are told from those that it deleted', () => {
  const of = (kept: number): string =>
    oneLine(
      documentOf('Cascade', {
        ...{ answer: { ...cascade, kept }, partial: '', cluster, asOf: [] },
      }),
    )
  match(
    of(1),
    /Dependents: 4 done \(1 of them was orphaned, or has another owner, and exists\), 2 /,
  )
  match(of(3), /4 done \(3 of them were orphaned, or have another owner, and exist\), 2 remaining/)
})

test('what is blocked is said beside readiness, and fails nothing', () => {
  const none = { objects: 0, since: null, tries: 0, nextTry: null, example: '' }
  const refused = { objects: 2, since: 0, tries: 3, nextTry: 60_000, example: 'Pod/p: 403' }
  deepEqual(blockedOf('north', { blocked: { unresolvable: none, held: none, refused } }), [
    {
      name: 'blocked/north/refused',
      state: 'warning',
      reason:
        '2 objects, first 1970-01-01T00:00:00Z, tried up to 3 times, next try 1970-01-01T00:01:00Z; Pod/p: 403',
    },
  ])
})
