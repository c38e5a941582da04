/**
 * Built-in rules: objects as an API server gives them, and when each is due, or that it never is.
 *
 * What must stay true: an object is read as a watcher reads it, by the paths that the rules name.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { compileExpression } from '../../adapters/cel/compile.ts'
import { readFields } from '../../adapters/kubernetes/field.ts'
import { duenessOf } from '../../core/judge/rule.ts'
import type { ObjectMeta, Pair } from '../../core/model/object.ts'
import { readsOf } from '../../core/model/rule/rule.ts'
import { object } from '../../testing/model/notation.ts'
import { BUILTINS } from './builtin.ts'
import { rulesOf } from './rule-config.ts'

type Json = { readonly [key: string]: unknown }

const DAY = '2026-11-01'
const at = (clock: string): string => `${DAY}T${clock}Z`
const CREATED = at('00:00:00')

/** Ends on 2026-12-29T20:14:17Z. */
const CERTIFICATE =
  'MIIBbjCCAROgAwIBAgIUAl/A2TXelylvd2VByoSH4hmrc9owCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBYTAeFw0yNjExMjkyMDE0MTdaFw0yNjEyMjkyMDE0MTdaMAwxCjAIBgNVBAMMAWEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAATxOUjmmntbSVDyEOKRyqBSIdiy6o58sai/RINyZPi6uQqfALeOp1XUOm3yBOPnpwnY7pp8TOWWETLJroV/i1q7o1MwUTAdBgNVHQ4EFgQUToRyXjSYSL5MKZyuzUoOe3P+ZkwwHwYDVR0jBBgwFoAUToRyXjSYSL5MKZyuzUoOe3P+ZkwwDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAiIhP4wm8Kn8MCYETQfyJrodqH38nNOvv08x1QCntmr4CIQCApNNlSQNIgPb9ODcPjIm275UE0AXpM1o0qKuxFFFijA=='
const PEM = `-----BEGIN CERTIFICATE-----\n${CERTIFICATE}\n-----END CERTIFICATE-----\n`
const ISSUED = Buffer.from(PEM).toString('base64')

function condition(type: string, time: string | null, status = 'True'): Json {
  return { type, status, lastTransitionTime: time, lastUpdateTime: time }
}

const job = (ttl: unknown, ...conditions: readonly Json[]): Json => ({
  spec: { ttlSecondsAfterFinished: ttl },
  status: { conditions },
})
const request = (certificate: string | undefined, ...conditions: readonly Json[]): Json => ({
  status: conditions.length === 0 ? {} : { conditions, ...(certificate && { certificate }) },
})
const token = (expiration: string, type = 'bootstrap.kubernetes.io/token', namespace?: string) => ({
  metadata: { namespace: namespace ?? 'kube-system' },
  type,
  data: { expiration: Buffer.from(expiration).toString('base64') },
})
const lease = (spec: Json, holder = 'kube-apiserver', namespace = 'kube-system'): Json => ({
  metadata: { namespace, labels: { 'apiserver.kubernetes.io/identity': holder } },
  spec,
})
const volume = (phase: string, policy: string, time: string | null): Json => ({
  spec: { persistentVolumeReclaimPolicy: policy },
  status: { phase, lastPhaseTransitionTime: time },
})
const nodeLease = (renewTime?: string): Json => ({
  metadata: { name: 'a', namespace: 'kube-node-lease' },
  spec: { renewTime },
})
const marked = (annotations: Json, namespace = 'a'): Json => ({
  metadata: { namespace, annotations },
})
/** At one o'clock, with 30 s of grace. */
const terminating = (rest: Json, finalizers: readonly string[] = [], grace = 30): Json => ({
  ...rest,
  metadata: { finalizers, grace, deletedAt: Date.parse(at('01:00:00')) + grace * 1_000 },
})
const TTL = 'k8s-ttl-controller.twin.sh/ttl'
const REFRESHED = 'k8s-ttl-controller.twin.sh/refreshed-at'

/** Rule, what the object is, the object, and when it is due. */
const CASES: readonly (readonly [string, string, Json, string | null])[] = [
  ['finished-jobs', 'complete', job(60, condition('Complete', at('01:00:00'))), at('01:01:00')],
  ['finished-jobs', 'failed', job(60, condition('Failed', at('01:00:00'))), at('01:01:00')],
  ['finished-jobs', 'a TTL of zero', job(0, condition('Complete', at('01:00:00'))), at('01:00:00')],
  ['finished-jobs', 'no TTL', job(undefined, condition('Complete', at('01:00:00'))), null],
  ['finished-jobs', 'not finished', job(60), null],
  ['finished-jobs', 'no status', { spec: { ttlSecondsAfterFinished: 0 } }, null],
  ['finished-jobs', 'not True', job(60, condition('Complete', at('01:00:00'), 'False')), null],
  ['finished-jobs', 'only decided', job(60, condition('SuccessCriteriaMet', at('01:00:00'))), null],
  ['finished-jobs', 'suspended', job(60, condition('Suspended', at('01:00:00'))), null],
  ['finished-jobs', 'no time', job(60, condition('Complete', null)), null],
  [
    'finished-jobs',
    'among other conditions',
    job(60, condition('FailureTarget', at('00:30:00')), condition('Failed', at('01:00:00'))),
    at('01:01:00'),
  ],

  ['certificate-requests', 'undecided', request(undefined), '2026-11-02T00:00:00Z'],
  [
    'certificate-requests',
    'denied',
    request(undefined, condition('Denied', at('05:00:00'))),
    at('06:00:00'),
  ],
  [
    'certificate-requests',
    'failed, though approved',
    request(undefined, condition('Approved', at('04:00:00')), condition('Failed', at('05:00:00'))),
    at('06:00:00'),
  ],
  [
    'certificate-requests',
    'approved and issued',
    request(ISSUED, condition('Approved', at('05:00:00'))),
    at('06:00:00'),
  ],
  [
    'certificate-requests',
    'approved, not issued',
    request(undefined, condition('Approved', at('05:00:00'))),
    '2026-11-02T05:00:00Z',
  ],
  [
    'certificate-requests',
    'issued, and nobody knows when it was approved',
    request(ISSUED, condition('Approved', null)),
    '2026-12-29T20:14:17Z',
  ],
  [
    'certificate-requests',
    'approved, and nobody knows when',
    request(undefined, condition('Approved', null)),
    null,
  ],
  ['certificate-requests', 'of another condition', request(undefined, condition('X', null)), null],
  [
    'certificate-requests',
    'issued what is no certificate: as if it were not issued',
    request('bm9uZQ==', condition('Approved', at('05:00:00'))),
    '2026-11-02T05:00:00Z',
  ],

  ['pod-certificate-requests', 'of any state', {}, at('00:15:00')],

  ['bootstrap-tokens', 'with an end', token(at('03:00:00')), at('03:00:00')],
  [
    'bootstrap-tokens',
    'with an offset',
    token(at('03:00:00').replace('Z', '+02:00')),
    at('01:00:00'),
  ],
  ['bootstrap-tokens', 'with an end that is no time', token('never'), null],
  ['bootstrap-tokens', 'without an end', { ...token(''), data: {} }, null],
  ['bootstrap-tokens', 'of another type', token(at('03:00:00'), 'Opaque'), null],
  ['bootstrap-tokens', 'elsewhere', token(at('03:00:00'), undefined, 'a'), null],

  [
    'api-server-leases',
    'of a server',
    lease({ renewTime: at('02:00:00.123456'), leaseDurationSeconds: 3600 }),
    at('03:00:00.123'),
  ],
  ['released-volumes', 'released', volume('Released', 'Delete', at('01:00:00')), at('02:00:00')],
  ['released-volumes', 'failed', volume('Failed', 'Delete', at('01:00:00')), at('02:00:00')],
  ['released-volumes', 'bound', volume('Bound', 'Delete', at('01:00:00')), null],
  ['released-volumes', 'to be retained', volume('Released', 'Retain', at('01:00:00')), null],
  ['released-volumes', 'without a time', volume('Released', 'Delete', null), null],
  ['api-server-leases', 'never renewed', lease({ leaseDurationSeconds: 3600 }), null],
  ['api-server-leases', 'without a duration', lease({ renewTime: at('02:00:00') }), null],
  [
    'api-server-leases',
    'of something else',
    lease({ renewTime: at('02:00:00'), leaseDurationSeconds: 9 }, 'x'),
    null,
  ],
  [
    'api-server-leases',
    'elsewhere',
    lease({ renewTime: at('02:00:00'), leaseDurationSeconds: 9 }, 'kube-apiserver', 'a'),
    null,
  ],

  ['unscheduled-pods', 'that lives', {}, null],
  ['unscheduled-pods', 'that is deleted', terminating({}), at('01:00:00')],
  ['unscheduled-pods', 'on a node', terminating({ spec: { nodeName: 'a' } }), null],
  ['unscheduled-pods', 'that a finalizer holds', terminating({}, ['a'], 0), at('01:00:00')],
  [
    'unscheduled-pods',
    'that it holds and has Failed',
    terminating({ status: { phase: 'Failed' } }, ['a'], 0),
    null,
  ],
  ['unscheduled-pods', 'with a finalizer', terminating({}, ['a']), at('01:00:00')],

  ['terminated-pods', 'that succeeded', { status: { phase: 'Succeeded' } }, CREATED],
  ['terminated-pods', 'that failed', { status: { phase: 'Failed' } }, CREATED],
  ['terminated-pods', 'that runs', { status: { phase: 'Running' } }, null],
  ['terminated-pods', 'of no phase', {}, null],

  ['orphaned-pods', 'on a node that is gone', { spec: { nodeName: 'a' } }, CREATED],
  ['orphaned-pods', 'that is deleted', terminating({ spec: { nodeName: 'a' } }), at('01:00:00')],

  ['out-of-service-pods', 'that lives', { spec: { nodeName: 'a' } }, null],
  [
    'out-of-service-pods',
    'that is deleted',
    terminating({ spec: { nodeName: 'a' } }),
    at('01:00:00'),
  ],

  ['node-leases', 'of a Node that is gone', nodeLease(at('02:00:00')), at('03:00:00')],
  ['node-leases', 'never renewed', nodeLease(), null],
  ['node-leases', 'elsewhere', lease({ renewTime: at('02:00:00') }), null],

  ['janitor', 'with a TTL', marked({ 'janitor/ttl': '2h' }), at('02:00:00')],
  ['janitor', 'that stays', marked({ 'janitor/ttl': 'forever' }), null],
  ['janitor', 'with a TTL of nothing', marked({ 'janitor/ttl': '0s' }), null],
  ['janitor', 'unmarked', marked({}), null],
  ['janitor', 'in kube-system', marked({ 'janitor/ttl': '2h' }, 'kube-system'), null],
  ['janitor', 'that expires', marked({ 'janitor/expires': '2026-11-05' }), '2026-11-05T00:00:00Z'],
  [
    'janitor',
    'that expires in a minute',
    marked({ 'janitor/expires': '2026-11-05T09:26' }),
    '2026-11-05T09:26:00Z',
  ],
  ['janitor', 'that expires some time', marked({ 'janitor/expires': 'tomorrow' }), null],

  ['ttl-controller', 'with a TTL', marked({ [TTL]: '1h30m' }), at('01:30:00')],
  ['ttl-controller', 'with a TTL of weeks', marked({ [TTL]: '1w' }), '2026-11-08T00:00:00Z'],
  [
    'ttl-controller',
    'that was refreshed',
    marked({ [TTL]: '1h', [REFRESHED]: at('05:00:00') }),
    at('06:00:00'),
  ],
  ['ttl-controller', 'refreshed only', marked({ [REFRESHED]: at('05:00:00') }), null],
  [
    'ttl-controller',
    'refreshed at no time: its TTL is held',
    marked({ [TTL]: '1h', [REFRESHED]: 'now' }),
    null,
  ],
  // Then what uses it decides.
  ['unused', 'a config map', {}, CREATED],
]

for (const [builtin, what, raw, due] of CASES) {
  test(`${builtin}: ${what} is due ${due ?? 'never'}`, () => equal(dueOf(builtin, raw), due))
}

/** By the first of its rules; what they say of other objects is true. */
function dueOf(builtin: string, raw: Json): string | null {
  const isMark = BUILTINS[builtin]?.['']?.['match'] !== undefined && MARKS.includes(builtin)
  const kinds = builtin === 'unused' ? ['ConfigMap'] : ['Pod']
  const match = isMark ? { match: { kinds } } : {}
  const rules = rulesOf([{ builtin, ...match }], 'f', compileExpression)
  const times = rules.flatMap((rule) => {
    const object = metaOf(rule, raw)
    const isAsMeant = rule.match.terminating === (object.deletedAt !== null)
    return isAsMeant ? (duenessOf(rule, object, 0)?.at ?? []) : []
  })
  return times.length === 0
    ? null
    : new Date(Math.min(...times)).toISOString().replace('.000Z', 'Z')
}

const MARKS = ['janitor', 'ttl-controller', 'unused']

function metaOf(rule: Parameters<typeof duenessOf>[0], raw: Json): ObjectMeta {
  const [reads] = readsOf([rule])
  const { namespace = '', labels, annotations, ...rest } = (raw['metadata'] ?? {}) as Json
  const { deletedAt = null, grace = null, finalizers = [] } = rest
  if (reads === undefined) throw new Error('a rule about nothing')
  const { group, kind, digest } = reads
  const fields = readFields(raw, reads)
  if (fields === null) throw new Error('more than the caps')
  return {
    ...object('pod/a', '1'),
    ...{ group, kind, namespace: String(namespace), createdAt: Date.parse(CREATED) },
    ...{ labels: pairs(labels), annotations: pairs(annotations) },
    ...({ deletedAt, graceSeconds: grace, finalizers } as Pick<
      ObjectMeta,
      'deletedAt' | 'graceSeconds' | 'finalizers'
    >),
    projected: { reads: digest, fields, policy: null },
  }
}

function pairs(map: unknown): readonly Pair[] {
  return Object.entries((map ?? {}) as Record<string, string>).map(([key, value]) => ({
    key,
    value,
  }))
}

test('every built-in rule has cases here, and is about kinds of its own but for marks', () => {
  deepEqual([...new Set(CASES.map(([builtin]) => builtin))], Object.keys(BUILTINS))
})
