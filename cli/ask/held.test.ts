/** What is held, and what waits for approval, as people and programs read it. */
import { equal, match, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf } from '../../services/graph/api/document.ts'
import type { HeldAnswer, HeldPlan } from '../../services/graph/query/answer/held.ts'
import { lineOf } from '../print/terminal.ts'
import { heldText, planText } from './held.ts'

const north = { name: 'north', id: 'c-0', scope: 'north' }

const none: HeldAnswer = {
  mode: 'enforce',
  pauses: [],
  protections: [],
  breakers: [],
  refused: [],
  total: 0,
  clock: '',
  hidden: 0,
  counts: [],
}

const held: HeldAnswer = {
  ...none,
  breakers: [
    { cluster: north, namespace: '', since: 0, because: 'a burst' },
    { cluster: north, namespace: 'shop', since: 0, because: 'a flood' },
  ],
  total: 2,
  counts: [
    {
      cluster: north,
      by: 'hold',
      evidence: 'missing',
      group: 'apps',
      kind: 'ReplicaSet',
      namespace: 'shop',
      count: 2,
      since: 0,
      until: 599_001,
      because: 'Deployment "web" no longer exists',
    },
  ],
}

const plan: HeldPlan = {
  total: 3,
  objects: [
    {
      group: '',
      kind: 'Pod',
      namespace: 'shop',
      name: 'p',
      uid: 'u',
      verdict: { type: 'delete', because: 'ReplicaSet "web" no longer exists' },
      admission: {
        by: 'approval',
        because: 'a bulk deletion needs approval',
        since: 0,
        until: null,
      },
      by: 'approval',
      evidence: 'bulk',
      what: 'delete',
      because: 'ReplicaSet "web" no longer exists',
      since: 0,
      until: null,
    },
  ],
  digest: 'abc',
  approvals: 1,
  first: null,
}

function told(answer: HeldAnswer) {
  return documentOf('Held', { answer, partial: '', asOf: [] })
}

function waiting(answer: HeldPlan) {
  return documentOf('HeldPlan', { answer, partial: '', cluster: north, asOf: [] })
}

test('what is held, as a table', () => {
  equal(
    heldText(told(held), 'table'),
    `The breaker of cluster north has been open since 1970-01-01T00:00:00Z: a burst. To close it: kinfold close-breaker --cluster north --why …
The breaker of namespace shop in cluster north has been open since 1970-01-01T00:00:00Z: a flood. To close it: kinfold close-breaker --cluster north --why …
CLUSTER   HELD-BY   EVIDENCE   NAMESPACE   KIND              COUNT   SINCE                  NOT-BEFORE             EXAMPLE
north     hold      missing    shop        ReplicaSet.apps   2       1970-01-01T00:00:00Z   1970-01-01T00:10:00Z   Deployment "web" no longer exists
`,
  )
  equal(heldText(told(none), 'table'), 'Nothing is held.\n')
  const observing = heldText(told({ ...none, mode: 'observe' }), 'table')
  equal(observing, 'In mode observe Kinfold deletes nothing, so no object is listed as held.\n')
  // Of those that who asks may not list, a warning says so.
  equal(heldText(told({ ...none, total: 3 }), 'table'), '3 objects held.\n')
})

test('what is not carried out is told though nothing holds it', () => {
  const example = 'Pod/p: it would be carried out, but this reaper makes dry runs only (--mode)'
  const counted = { objects: 2, since: 0, tries: 3, nextTry: 60_000, example }
  const refused = [{ cluster: north, ...counted }]
  equal(
    heldText(told({ ...none, refused }), 'table'),
    `Refused in cluster north: 2 objects, first 1970-01-01T00:00:00Z, tried up to 3 times, next try 1970-01-01T00:01:00Z; ${example}
Nothing else is held.
`,
  )
})

test('what people ordered and still stands, with who, why and what ends it', () => {
  const pauses = [
    { cluster: null, who: 'ann', why: 'release' },
    { cluster: north, who: 'bob', why: '' },
    { cluster: { name: 'south', id: 'c-1', scope: 'c-1' }, who: 'bob', why: '' },
  ]
  const protections = [
    { cluster: null, subject: 'namespace/shop', who: 'ann', why: 'audit' },
    { cluster: north, subject: 'kind/Job.batch', who: 'bob\u001b[2J', why: '' },
  ]
  equal(
    heldText(told({ ...none, pauses, protections }), 'table'),
    `All clusters are paused by ann (release). To resume: kinfold resume --why …
Cluster north is paused by bob. To resume: kinfold resume --cluster north --why …
Cluster south (c-1) is paused by bob. To resume: kinfold resume --cluster c-1 --why …
namespace/shop is protected in all clusters by ann (audit). To end it: kinfold unprotect namespace/shop
kind/Job.batch is protected in cluster north by ${lineOf('bob\u001b[2J')}. To end it: kinfold unprotect kind/Job.batch --cluster north
Nothing is held.
`,
  )
  const observed = heldText(told({ ...none, mode: 'observe', pauses, protections }), 'table')
  equal(observed.split(', which in mode observe has no effect.').length, 6, '(C1)')
})

test('what waits for approval, with the digest that an approval names', () => {
  equal(
    planText(waiting(plan), 'table'),
    `Waiting for approval in cluster north: 3 objects

NAMESPACE   OBJECT   ACTION   SINCE                  REASON
shop        Pod/p    delete   1970-01-01T00:00:00Z   ReplicaSet "web" no longer exists
2 more not listed (raise --limit).

Digest: sha256:abc
To release them: kinfold approve sha256:abc --cluster north --why …
`,
  )
  match(
    planText(waiting({ ...plan, approvals: 2 }), 'table'),
    / …\nTwo people have to approve it\.\n$/,
  )
  const first = { who: 'user:ann', why: 'moved', until: 0 }
  match(
    planText(waiting({ ...plan, approvals: 2, first }), 'table'),
    / …\nApproved by user:ann \(moved\), valid until 1970-01-01T00:00:00Z; a second person has to approve it, too\.\n$/,
  )
  match(planText(waiting({ ...plan, digest: null }), 'table'), /No digest: this plan is incomplete/)
  equal(
    planText(waiting({ ...plan, total: 0 }), 'table'),
    'Nothing waits for approval in cluster north.\n',
  )
})

test('what was held at a moment names nothing that would end it now', () => {
  const then = 'before pos:0-7, 2026-01-31T09:30:00Z'
  const text = heldText(told(held), 'table', then)
  match(
    text,
    /^What was held before pos:0-7, 2026-01-31T09:30:00Z:\nThe breaker of cluster north was/,
  )
  ok(!text.includes('To close it'))
  const pauses = [{ cluster: north, who: 'ann', why: 'a restore' }]
  equal(
    heldText(told({ ...none, pauses }), 'table', then),
    `What was held ${then}:\nCluster north is paused by ann (a restore).\nNothing was held.\n`,
  )
  for (const [mode, sentence] of [
    ['observe', 'In mode observe Kinfold deleted nothing, so no object was listed as held.'],
    [null, 'Nothing was held: Kinfold had no policy yet.'],
  ] as const) {
    equal(heldText(told({ ...none, mode }), 'table', then), `What was held ${then}:\n${sentence}\n`)
  }
})

test('of an answer that is not whole nothing is said to be held, or not', () => {
  const partial = 'partition 1 of 2: cannot be asked'
  const asked = documentOf('Held', { answer: none, partial, asOf: [] })
  equal(heldText(asked, 'table'), 'Nothing is known to be held.\n')
  match(heldText(asked, 'table', 'at noon'), /\nNothing is known to have been held.\n$/)
})
