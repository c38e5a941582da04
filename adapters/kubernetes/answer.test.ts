/**
 * The table of answers: which shapes prove that an object is absent (I5), and how every other one
 * is read.
 *
 * What must stay true: a shape that is new to us gets a row here before it gets a meaning.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Target } from '../../core/model/command.ts'
import type { GetAnswer, ReapAnswer } from '../../ports/cluster.ts'
import { ExchangeError } from '../../ports/exchange.ts'
import { NO_MARK_KEYS } from '../../ports/record/manager-mark.ts'
import { type Reply, readGet, readReap, unanswered } from './answer.ts'

const POD: Target = {
  group: '',
  version: 'v1',
  kind: 'Pod',
  resource: 'pods',
  namespace: 'shop',
  name: 'web-1',
  uid: 'uid-1',
  resourceVersion: '7',
  aggregated: false,
}
const WIDGET: Target = {
  ...POD,
  group: 'example.com',
  kind: 'Widget',
  resource: 'widgets',
  name: 'blue',
}
const NODE: Target = { ...POD, kind: 'Node', resource: 'nodes', namespace: '', name: 'node-1' }

const NOTHING = { labels: [], annotations: [], marks: NO_MARK_KEYS, kinds: [] }
const NOW = Date.parse('2026-01-01T00:00:00Z')
const JSON_TYPE = 'application/json'

type Headers = Readonly<Record<string, string>>

function reply(status: number, body: unknown, type: string = JSON_TYPE, more: Headers = {}): Reply {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return { status, headers: { 'content-type': type, ...more }, text }
}

function status(code: number, reason: string, details?: object, message = 'so it is'): object {
  const head = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' }
  return { ...head, message, reason, ...(details && { details }), code }
}

function notFound(details?: object): object {
  return status(404, 'NotFound', details)
}

function partial(metadata: object): object {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata }
}

const META = { name: 'web-1', namespace: 'shop', uid: 'uid-1', resourceVersion: '8' }
const DELETING = { ...META, deletionTimestamp: '2026-01-01T00:00:00Z' }
const HELD = { ...DELETING, deletionGracePeriodSeconds: 0, finalizers: ['a.example.com/b'] }
const THERE = { name: 'web-1', kind: 'pods' }
const REMOVED = { kind: 'Status', apiVersion: 'v1', status: 'Success', details: THERE }
const POD_WHOLE = { kind: 'Pod', apiVersion: 'v1', metadata: META, spec: { containers: [] } }
const HTML = '<html><body>Sign in</body></html>'

/** `later`: transient. For a DELETE or PATCH that is left out it is as for the GET. */
type Row = readonly [name: string, reply: Reply, get: string, del?: string, patch?: string]

const ABSENT: readonly Row[] = [
  ['a typed 404 that names it', reply(404, notFound(THERE)), 'Absent'],
  ['with its group empty', reply(404, notFound({ ...THERE, group: '' })), 'Absent'],
  ['with its uid', reply(404, notFound({ ...THERE, uid: 'uid-1' })), 'Absent'],
  ['with its kind, not its resource', reply(404, notFound({ ...THERE, kind: 'Pod' })), 'Absent'],
  ['with its kind in lower case', reply(404, notFound({ ...THERE, kind: 'pod' })), 'Absent'],
  ['with a charset', reply(404, notFound(THERE), 'application/json; charset=utf-8'), 'Absent'],
]

const NO_PROOF: readonly Row[] = [
  ['a typed 404 with another name', reply(404, notFound({ ...THERE, name: 'web-2' })), 'Unknown'],
  ['with the name in another case', reply(404, notFound({ ...THERE, name: 'Web-1' })), 'Unknown'],
  ['without a name', reply(404, notFound({ kind: 'pods' })), 'Unknown'],
  ['with another resource', reply(404, notFound({ ...THERE, kind: 'services' })), 'Unknown'],
  ['with the kind in mixed case', reply(404, notFound({ ...THERE, kind: 'pOD' })), 'Unknown'],
  [
    'with the kind, and another group',
    reply(404, notFound({ ...THERE, kind: 'Pod', group: 'metrics.k8s.io' })),
    'Unknown',
  ],
  [
    'with the kind, and another name',
    reply(404, notFound({ kind: 'Pod', name: 'web-2' })),
    'Unknown',
  ],
  ['without a resource', reply(404, notFound({ name: 'web-1' })), 'Unknown'],
  ['with another group', reply(404, notFound({ ...THERE, group: 'apps' })), 'Unknown'],
  ['with a group that is no text', reply(404, notFound({ ...THERE, group: 0 })), 'Unknown'],
  ['with empty details', reply(404, notFound({})), 'Unknown'],
  ['without details', reply(404, notFound()), 'Unknown'],
  ['with details that are a list', reply(404, { ...notFound(), details: [THERE] }), 'Unknown'],
  ['with details that are null', reply(404, { ...notFound(), details: null }), 'Unknown'],
  ['of its namespace', reply(404, notFound({ name: 'shop', kind: 'namespaces' })), 'Unknown'],
  ['of another reason', reply(404, status(404, 'Gone', THERE)), 'Unknown'],
  ['of no reason', reply(404, { ...notFound(THERE), reason: undefined }), 'Unknown'],
  ['of another kind', reply(404, { ...notFound(THERE), kind: 'Error' }), 'Unknown'],
  [
    'of another version',
    reply(404, { ...notFound(THERE), apiVersion: 'example.com/v1' }),
    'Unknown',
  ],
  ['as plain text', reply(404, JSON.stringify(notFound(THERE)), 'text/plain'), 'Unknown'],
  ['without a content type', reply(404, notFound(THERE), ''), 'Unknown'],
  ['cut', reply(404, JSON.stringify(notFound(THERE)).slice(0, -5)), 'Unknown'],
  ['twice over', reply(404, JSON.stringify(notFound(THERE)).repeat(2)), 'Unknown'],
  ['in a list', reply(404, [notFound(THERE)]), 'Unknown'],
  [
    'the plain text 404 of an unserved path',
    reply(404, '404 page not found\n', 'text/plain'),
    'Unknown',
  ],
  ['an HTML 404', reply(404, HTML, 'text/html'), 'Unknown'],
  ['an empty 404', reply(404, ''), 'Unknown'],
  ['a 404 that is the object', reply(404, partial(META)), 'Unknown'],
  ['the Status of a 404 under 410', reply(410, notFound(THERE)), 'Unknown'],
  ['the Status of a 404 under 500', reply(500, notFound(THERE)), 'Unknown later'],
  ['the Status of a 404 under 503', reply(503, notFound(THERE)), 'Unknown later'],
  ['the Status of a 404 under 200', reply(200, notFound(THERE)), 'Unknown'],
]

const SUCCESS: readonly Row[] = [
  ['its metadata', reply(200, partial(META)), 'Found', 'Removed', 'Changed'],
  ['the whole object', reply(200, POD_WHOLE), 'Found', 'Removed', 'Changed'],
  ['it, held by a finalizer', reply(200, partial(HELD)), 'Found', 'Changed', 'Changed'],
  [
    'it, in its time of grace',
    reply(200, partial({ ...DELETING, deletionGracePeriodSeconds: 30 })),
    'Found',
    'Changed',
    'Changed',
  ],
  [
    'it, its grace over',
    reply(200, partial({ ...DELETING, deletionGracePeriodSeconds: 0 })),
    'Found',
    'Removed',
    'Removed',
  ],
  ['202 and it, held', reply(202, partial(HELD)), 'Unknown', 'Changed', 'Changed'],
  ['another uid in the place', reply(200, partial({ ...META, uid: 'uid-2' })), 'Found', 'Unknown'],
  ['another name', reply(200, partial({ ...META, name: 'web-2' })), 'Unknown'],
  ['another namespace', reply(200, partial({ ...META, namespace: 'bank' })), 'Unknown'],
  ['no namespace', reply(200, partial({ ...META, namespace: undefined })), 'Unknown'],
  ['no uid', reply(200, partial({ ...META, uid: undefined })), 'Unknown'],
  ['an empty uid', reply(200, partial({ ...META, uid: '' })), 'Unknown'],
  ['no version', reply(200, partial({ ...META, resourceVersion: '' })), 'Unknown'],
  ['references that are none', reply(200, partial({ ...META, ownerReferences: ['a'] })), 'Unknown'],
  ['a time that is none', reply(200, partial({ ...META, deletionTimestamp: 'soon' })), 'Unknown'],
  ['no metadata', reply(200, { kind: 'Pod', apiVersion: 'v1' }), 'Unknown'],
  ['another kind', reply(200, { ...POD_WHOLE, kind: 'Service' }), 'Unknown'],
  ['another version of it', reply(200, { ...POD_WHOLE, apiVersion: 'v2' }), 'Unknown'],
  ['a list', reply(200, { kind: 'PodList', apiVersion: 'v1', metadata: {}, items: [] }), 'Unknown'],
  ['a Table', reply(200, { kind: 'Table', apiVersion: 'meta.k8s.io/v1', rows: [] }), 'Unknown'],
  ['a Status of success', reply(200, REMOVED), 'Unknown', 'Removed', 'Unknown'],
  [
    'a Status of success about our uid',
    reply(200, { ...REMOVED, details: { ...THERE, uid: 'uid-1' } }),
    'Unknown',
    'Removed',
    'Unknown',
  ],
  [
    'a Status of success about another uid',
    reply(200, { ...REMOVED, details: { ...THERE, uid: 'uid-2' } }),
    'Unknown',
  ],
  ['a Status of failure', reply(200, status(500, 'InternalError')), 'Unknown'],
  ['cut metadata', reply(200, JSON.stringify(partial(META)).slice(0, 60)), 'Unknown later'],
  ['JSON of nothing', reply(200, ''), 'Unknown later'],
  ['null', reply(200, 'null'), 'Unknown'],
  ['an HTML page', reply(200, HTML, 'text/html'), 'Unknown'],
  ['HTML that calls itself JSON', reply(200, HTML), 'Unknown later'],
  ['protobuf', reply(200, 'k8s\u0000', 'application/vnd.kubernetes.protobuf'), 'Unknown'],
  ['204', reply(204, '', ''), 'Unknown'],
  ['206', reply(206, partial(META)), 'Unknown'],
  ['a redirect', reply(302, '', 'text/html'), 'Unknown'],
]

const CAUSE = { causes: [{ reason: 'FieldValueInvalid', field: 'spec' }] }
const DENIAL = 'admission webhook "keep.example.com" denied the request: not this one'
const UNASKED =
  'Internal error occurred: failed calling webhook "keep.example.com": failed to call webhook: no endpoints'

/** A GET has no webhook. */
const REFUSED = ['Unknown later', 'Refused'] as const

const REFUSAL: readonly Row[] = [
  ['400', reply(400, status(400, 'BadRequest')), 'Unknown'],
  ['401', reply(401, status(401, 'Unauthorized')), 'Unknown later'],
  ['401 without a body', reply(401, '', 'text/plain'), 'Unknown later'],
  ['403', reply(403, status(403, 'Forbidden', THERE)), 'Unknown', 'Refused'],
  ['403 of a proxy', reply(403, HTML, 'text/html'), 'Unknown', 'Refused'],
  ['405', reply(405, status(405, 'MethodNotAllowed')), 'Unknown'],
  ['406', reply(406, status(406, 'NotAcceptable')), 'Unknown'],
  ['408', reply(408, '', ''), 'Unknown later'],
  ['409', reply(409, status(409, 'Conflict', THERE)), 'Unknown', 'Conflict'],
  ['409 without a Status', reply(409, ''), 'Unknown', 'Conflict'],
  ['410', reply(410, status(410, 'Expired')), 'Unknown'],
  ['413', reply(413, '', 'text/plain'), 'Unknown'],
  ['415', reply(415, status(415, 'UnsupportedMediaType')), 'Unknown'],
  [
    '422 with empty details',
    reply(422, status(422, 'Invalid', {})),
    'Unknown',
    'Refused',
    'Conflict',
  ],
  ['422 without details', reply(422, status(422, 'Invalid')), 'Unknown', 'Refused', 'Conflict'],
  [
    '422 with causes',
    reply(422, status(422, 'Invalid', { ...THERE, ...CAUSE })),
    'Unknown',
    'Refused',
  ],
  ['422 without a Status', reply(422, HTML, 'text/html'), 'Unknown'],
  ['a webhook that says no by 400', reply(400, status(400, '', {}, DENIAL)), 'Unknown', 'Refused'],
  ['a webhook that says no by 422', reply(422, status(422, '', {}, DENIAL)), 'Unknown', 'Refused'],
  ['a webhook that says no by 429', reply(429, status(429, '', {}, DENIAL)), ...REFUSED],
  ['a webhook that says no by 503', reply(503, status(503, '', {}, DENIAL)), ...REFUSED],
  ['a webhook that is away', reply(500, status(500, 'InternalError', {}, UNASKED)), ...REFUSED],
  ['429', reply(429, status(429, 'TooManyRequests')), 'Unknown later'],
  ['500', reply(500, status(500, 'InternalError')), 'Unknown later'],
  ['500 without a body', reply(500, '', ''), 'Unknown later'],
  ['502 of a proxy', reply(502, HTML, 'text/html'), 'Unknown later'],
  ['503', reply(503, status(503, 'ServiceUnavailable')), 'Unknown later'],
  ['504', reply(504, status(504, 'Timeout')), 'Unknown later'],
  ['no status we know', reply(599, ''), 'Unknown later'],
]

const ROWS: readonly Row[] = [...ABSENT, ...NO_PROOF, ...SUCCESS, ...REFUSAL]

describe('an answer', () => {
  for (const [name, given, get, del, patch] of ROWS) {
    test(`of ${given.status}, ${name}`, () => {
      const asked = { target: POD, projection: NOTHING, now: NOW }
      equal(shown(readGet(given, asked)), get)
      const deleting = { ...asked, verb: 'DELETE' as const, dryRun: false }
      equal(shown(readReap(given, deleting)), del ?? get)
      const patching = { ...asked, verb: 'PATCH' as const, dryRun: false }
      equal(shown(readReap(given, patching)), patch ?? del ?? get)
    })
  }

  test('proves absence in few shapes of many', () => {
    ok(ROWS.length >= 60)
    const absent = ROWS.filter((row) => row.slice(2).includes('Absent'))
    deepEqual(absent, ABSENT)
  })

  test('with an object whose uid equals no digest of it in a reference proves nothing', () => {
    const asked = { target: WIDGET, projection: NOTHING, now: NOW }
    const typeOf = (length: number): string =>
      readGet(reply(200, partial({ ...META, name: 'blue', uid: 'u'.repeat(length) })), asked).type
    deepEqual([128, 129].map(typeOf), ['Found', 'Unknown'])
  })

  test('that is a NotFound about something else says what does not fit', () => {
    const asked = { target: WIDGET, projection: NOTHING, now: NOW }
    const reasonOf = (details?: object): string => {
      const answer = readGet(reply(404, notFound(details)), asked)
      return answer.type === 'Unknown' ? answer.reason : answer.type
    }
    equal(
      reasonOf({ name: 'blue', kind: 'gadgets', group: 'example.org' }),
      'not about what was asked (group "example.org", kind "gadgets"): 404 NotFound: so it is',
    )
    equal(
      reasonOf(),
      'not about what was asked (name missing, group "", kind missing): 404 NotFound: so it is',
    )
    equal(reasonOf({ name: 'blue', kind: 'Widget', group: 'example.com' }), 'Absent')
  })

  test('to a dry run says what would be', () => {
    const asked = { target: POD, projection: NOTHING, now: NOW, dryRun: true }
    for (const body of [REMOVED, partial(META), partial(HELD)]) {
      const answer = readReap(reply(200, body), { ...asked, verb: 'DELETE' })
      equal(answer.type, 'WouldGo')
    }
    equal(readReap(reply(200, partial(META)), { ...asked, verb: 'PATCH' }).type, 'WouldGo')
    equal(readReap(reply(200, REMOVED), { ...asked, verb: 'PATCH' }).type, 'Unknown')
    equal(readReap(reply(409, ''), { ...asked, verb: 'DELETE' }).type, 'Conflict')
  })

  test('proves the absence of custom resources and of cluster-scoped kinds alike', () => {
    const rows: [Target, object, string][] = [
      [WIDGET, { name: 'blue', kind: 'widgets', group: 'example.com' }, 'Absent'],
      [WIDGET, { name: 'blue', kind: 'widgets' }, 'Unknown'],
      [WIDGET, { name: 'blue', kind: 'widgets', group: 'example.org' }, 'Unknown'],
      [NODE, { name: 'node-1', kind: 'nodes' }, 'Absent'],
      [NODE, { name: 'node-1', kind: 'pods' }, 'Unknown'],
    ]
    for (const [target, details, expected] of rows) {
      const asked = { target, projection: NOTHING, now: NOW }
      equal(shown(readGet(reply(404, notFound(details)), asked)), expected)
    }
  })

  const waits: [string, number, Headers, number | null][] = [
    ['seconds', 429, { 'retry-after': '7' }, 7_000],
    ['a date', 503, { 'retry-after': 'Thu, 01 Jan 2026 00:00:09 GMT' }, 9_000],
    ['a date that has passed', 503, { 'retry-after': 'Wed, 31 Dec 2025 00:00:09 GMT' }, 0],
    ['nothing', 429, {}, null],
    ['what is no time', 429, { 'retry-after': 'soon' }, null],
    ['seconds where no later try helps', 403, { 'retry-after': '7' }, null],
  ]
  for (const [what, code, headers, expected] of waits) {
    test(`says by ${what} when to try again`, () => {
      const asked = { target: POD, projection: NOTHING, now: NOW }
      const answer = readGet(reply(code, '', JSON_TYPE, headers), asked)
      ok(answer.type === 'Unknown')
      equal(answer.retryAfterMs, expected)
    })
  }

  test('that never came is unknown, and may come later unless we spoke to a stranger', () => {
    const codes = ['UNREACHABLE', 'CUT', 'TIMEOUT', 'CREDENTIALS', 'UNTRUSTED'] as const
    const answers = codes.map((code) => unanswered(new ExchangeError(code, 'why'), null))
    ok(answers.every(({ type, reason }) => type === 'Unknown' && reason === 'why'))
    deepEqual(
      answers.map(({ transient }) => transient),
      [true, true, true, true, false],
    )
  })
})

function shown(answer: GetAnswer | ReapAnswer): string {
  return answer.type === 'Unknown' && answer.transient ? 'Unknown later' : answer.type
}
