/** A plan and a cascade in each of their forms, and what is said beside readiness. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { Cascade } from '../services/graph/query/cascade.ts'
import type { Plan } from '../services/graph/query/plan.ts'
import { oneLine, render as renderCascade } from './cascade.ts'
import { render } from './plan.ts'
import { blockedOf } from './readiness.ts'

const root = {
  cluster: 'north',
  group: 'apps',
  kind: 'Deployment',
  namespace: 'shop',
  name: 'web',
  uid: 'u-web',
  resourceVersion: '7',
  effect: 'goes',
  because: 'it is deleted',
  owners: [],
  finalizers: [],
} as const

const plan: Plan = {
  root,
  cascade: 'Background',
  counts: [{ cluster: 'north', group: 'apps', kind: 'Deployment', effect: 'goes', count: 1 }],
  total: 3,
  objects: [
    {
      ...root,
      kind: 'Pod',
      group: '',
      name: 'p',
      effect: 'stays',
      because: 'no',
      owners: ['Job/j'],
    },
    root,
  ],
  holds: ['2 that rest on evidence not-found would wait for 1h'],
  digest: 'abc',
}

test('a plan as a table', () => {
  equal(
    render(plan, 'table'),
    `Deleting Deployment/web with --cascade=background:

CLUSTER   KIND              EFFECT   COUNT
north     Deployment.apps   goes     1

CLUSTER   NAMESPACE   OBJECT           EFFECT   WHY
north     shop        Pod/p            stays    no; left: Job/j
north     shop        Deployment/web   goes     it is deleted
1 more are not listed (--limit)

But 2 that rest on evidence not-found would wait for 1h.
Digest: sha256:abc
`,
  )
  match(render({ ...plan, digest: null }, 'table'), /No digest: this plan is not whole/)
})

test('a plan as JSON and YAML, in an envelope', () => {
  equal((JSON.parse(render(plan, 'json')) as { kind: string }).kind, 'Plan')
  match(render(plan, 'yaml'), /^apiVersion: kinfold\/v1\nkind: Plan\n/)
})

const cascade: Cascade = {
  cluster: 'north',
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
  remaining: 2,
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
    'Deployment/web gone: 4 done, 2 remaining (1 reaping, 1 blocked); Pod/p: 403 from a webhook'
  equal(oneLine(cascade), line)
  equal(
    renderCascade(cascade, 'table'),
    `${line}

CLUSTER   KIND   DONE   REMAINING
north     Pod    4      2

NAMESPACE   OBJECT   BLOCKED-BY   SINCE                  TRIES   NEXT-TRY               REASON
shop        Pod/p    refused      1970-01-01T00:00:00Z   3       1970-01-01T00:01:00Z   403 from a webhook
`,
  )
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
