/**
 * The requests of the probe of the lock, and its reading of each answer: only a refusal in the
 * lock's own words is a lock.
 */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { ExchangeError } from '../../ports/exchange.ts'
import { LOCK_REFUSALS } from '../../ports/lock.ts'
import { type Reply, unanswered } from './answer.ts'
import { probeLock, type Send } from './lock-probe.ts'

const PATH = '/api/v1/namespaces/kube-system/configmaps/kinfold-lock'

function reply(status: number, body: unknown): Reply {
  return { status, headers: { 'content-type': 'application/json' }, text: JSON.stringify(body) }
}

function object(annotations: object): Reply {
  return reply(200, {
    kind: 'PartialObjectMetadata',
    apiVersion: 'meta.k8s.io/v1',
    metadata: {
      name: 'kinfold-lock',
      namespace: 'kube-system',
      uid: 'u-1',
      resourceVersion: '7',
      annotations,
    },
  })
}

function status(code: number, reason: string, message: string, details: object = {}): Reply {
  return reply(code, {
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    reason,
    message,
    details,
  })
}

function refusal(words: string): Reply {
  const message = `configmaps "kinfold-lock" is forbidden: ValidatingAdmissionPolicy 'kinfold-lock' with binding 'kinfold-lock' denied request: ${words}`
  return status(403, 'Forbidden', message)
}

const THERE = object({ 'kinfold.dev/protected': 'true' })
const UNGUARDED = refusal(LOCK_REFUSALS.unguarded)
const MARKED = refusal(LOCK_REFUSALS.marked)
const GONE = status(404, 'NotFound', 'not found', { name: 'kinfold-lock', kind: 'configmaps' })
const PASSED = reply(200, { kind: 'Status', apiVersion: 'v1', status: 'Success', details: {} })

/** Answers in turn. */
function answering(...replies: Awaited<ReturnType<Send>>[]) {
  const sent: (readonly [string, string, unknown])[] = []
  const send: Send = async (method, path, body) => {
    sent.push([method, path, body === null ? null : JSON.parse(body)])
    const next = replies[sent.length - 1]
    if (next === undefined) throw new Error('one call too many')
    return next
  }
  return { send, sent }
}

test('sends dry runs only, of our own object, bound to the uid that was seen', async () => {
  const { send, sent } = answering(THERE, UNGUARDED, MARKED)
  deepEqual(await probeLock(send), { type: 'Locked' })
  const options = { kind: 'DeleteOptions', apiVersion: 'v1' }
  const dryRun = ['All']
  deepEqual(sent, [
    ['GET', PATH, null],
    ['DELETE', `${PATH}?dryRun=All`, { ...options, preconditions: { uid: 'u-1' }, dryRun }],
    [
      'DELETE',
      `${PATH}?dryRun=All`,
      { ...options, preconditions: { uid: 'u-1', resourceVersion: '7' }, dryRun },
    ],
  ])
})

const CUT = unanswered(new ExchangeError('TIMEOUT', 'no answer within 30 s'), null)
const cases: readonly [string, Awaited<ReturnType<Send>>[], 'Open' | 'Unknown', RegExp][] = [
  ['no object to try it on', [GONE], 'Open', /there is no ConfigMap .* apply what kinfold rbac/],
  ['an object that is not ours', [object({})], 'Open', /not the one that kinfold rbac prints/],
  [
    'one that says it is not protected',
    [object({ 'kinfold.dev/protected': 'false' })],
    'Open',
    /not the one/,
  ],
  ['an unguarded DELETE that passes', [THERE, PASSED], 'Open', /one without a resourceVersion/],
  ['a protected object that would go', [THERE, UNGUARDED, PASSED], 'Open', /a protected object/],
  [
    'an object that is answered in the place of a Status',
    [THERE, THERE],
    'Open',
    /let a DELETE pass/,
  ],
  ['a look that is forbidden', [status(403, 'Forbidden', 'no')], 'Unknown', /403 Forbidden: no/],
  ['a look that is not answered', [CUT], 'Unknown', /no answer within 30 s/],
  ['a namespace that is not served', [reply(404, 'page not found')], 'Unknown', /404/],
  [
    'a DELETE that RBAC forbids',
    [THERE, status(403, 'Forbidden', 'cannot delete resource "configmaps"')],
    'Unknown',
    /refused by something else: 403 Forbidden: cannot delete/,
  ],
  [
    'words of the lock for another reason',
    [THERE, refusal(LOCK_REFUSALS.content)],
    'Unknown',
    /refused by something else/,
  ],
  ['a conflict', [THERE, status(409, 'Conflict', 'changed')], 'Unknown', /409 Conflict: changed/],
  ['a server in trouble', [THERE, UNGUARDED, reply(500, {})], 'Unknown', /500/],
  ['a DELETE that is not answered', [THERE, CUT], 'Unknown', /no answer/],
]

for (const [what, replies, type, reason] of cases) {
  test(`takes ${what} for ${type === 'Open' ? 'no lock' : 'nothing known'}`, async () => {
    const { send, sent } = answering(...replies)
    const answer = await probeLock(send)
    equal(answer.type, type)
    match('reason' in answer ? answer.reason : '', reason)
    equal(sent.length, replies.length)
  })
}
