/** What is held, and what waits for approval, as people and programs read it. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { HeldAnswer, HeldPlan } from '../services/graph/query/held.ts'
import { heldText, planText } from './held.ts'
import { lineOf } from './terminal.ts'

const none: HeldAnswer = {
  pauses: [],
  protections: [],
  breakers: [],
  refused: [],
  total: 0,
  counts: [],
}

const held: HeldAnswer = {
  ...none,
  breakers: [
    { cluster: 'north', scope: 'north', namespace: '', since: 0, because: 'a burst' },
    { cluster: 'north', scope: 'north', namespace: 'shop', since: 0, because: 'a flood' },
  ],
  total: 2,
  counts: [
    {
      cluster: 'north',
      by: 'hold',
      evidence: 'missing',
      group: 'apps',
      kind: 'ReplicaSet',
      namespace: 'shop',
      count: 2,
      since: 0,
      until: 600_000,
      because: 'Deployment "web" is gone',
    },
  ],
}

const plan: HeldPlan = {
  cluster: 'north',
  total: 3,
  objects: [
    {
      group: '',
      kind: 'Pod',
      namespace: 'shop',
      name: 'p',
      uid: 'u',
      by: 'approval',
      evidence: 'bulk',
      what: 'delete',
      because: 'ReplicaSet "web" is gone',
      since: 0,
      until: null,
    },
  ],
  digest: 'abc',
  approvals: 1,
  first: null,
}

test('what is held, as a table and as JSON', () => {
  equal(
    heldText(held, 'table'),
    `The breaker of north is open since 1970-01-01T00:00:00Z: a burst. "kinfold close-breaker --cluster north --why …" closes it.
The breaker of namespace shop in north is open since 1970-01-01T00:00:00Z: a flood. "kinfold close-breaker --cluster north --why …" closes it.
CLUSTER   BY     EVIDENCE   NAMESPACE   KIND              COUNT   SINCE                  FIRST                  ONE
north     hold   missing    shop        ReplicaSet.apps   2       1970-01-01T00:00:00Z   1970-01-01T00:10:00Z   Deployment "web" is gone
`,
  )
  equal((JSON.parse(heldText(held, 'json')) as { kind: string }).kind, 'Held')
  equal(heldText(none, 'table'), 'Nothing is held.\n')
})

test('what is not carried out is told though nothing holds it', () => {
  const example = 'Pod/p: it would go, but this reaper makes dry runs only (--mode)'
  const counted = { objects: 2, since: 0, tries: 3, nextTry: 60_000, example }
  const refused = [{ cluster: 'north', ...counted }]
  equal(
    heldText({ ...none, refused }, 'table'),
    `Asked of north and not carried out: 2 objects, first 1970-01-01T00:00:00Z, tried up to 3 times, next try 1970-01-01T00:01:00Z; ${example}
Nothing else is held.
`,
  )
})

test('what people ordered and still stands, with who, why and what ends it', () => {
  const pauses = [
    { cluster: '', scope: '', who: 'ann', why: 'release' },
    { cluster: 'north', scope: 'north', who: 'bob', why: '' },
    { cluster: 'south (c-1)', scope: 'c-1', who: 'bob', why: '' },
  ]
  const protections = [
    { cluster: '', scope: '', subject: 'namespace/shop', who: 'ann', why: 'audit' },
    { cluster: 'north', scope: 'north', subject: 'kind/Job.batch', who: 'bob\u001b[2J', why: '' },
  ]
  equal(
    heldText({ ...none, pauses, protections }, 'table'),
    `Everything is paused by ann (release). "kinfold resume --why …" ends it.
north is paused by bob. "kinfold resume --cluster north --why …" ends it.
south (c-1) is paused by bob. "kinfold resume --cluster c-1 --why …" ends it.
namespace/shop is protected everywhere by ann (audit). "kinfold unprotect namespace/shop" ends it.
kind/Job.batch is protected in north by ${lineOf('bob\u001b[2J')}. "kinfold unprotect kind/Job.batch --cluster north" ends it.
Nothing is held.
`,
  )
})

test('what waits for approval, with the digest that an approval names', () => {
  equal(
    planText(plan, 'table'),
    `Waiting for approval in north: 3

NAMESPACE   OBJECT   WHAT     SINCE                  WHY
shop        Pod/p    delete   1970-01-01T00:00:00Z   ReplicaSet "web" is gone
2 more are not listed (--limit)

Digest: sha256:abc
`,
  )
  match(planText({ ...plan, approvals: 2 }, 'table'), /abc\nTwo people have to approve it\.\n$/)
  const first = { who: 'user:ann', why: 'moved', until: 0 }
  match(
    planText({ ...plan, approvals: 2, first }, 'table'),
    /abc\nApproved by user:ann \(moved\), until 1970-01-01T00:00:00Z; a second person has to, too\.\n$/,
  )
  match(planText({ ...plan, digest: null }, 'table'), /No digest: this plan is not whole/)
  equal(planText({ ...plan, total: 0 }, 'table'), 'Nothing waits for approval in north.\n')
})
