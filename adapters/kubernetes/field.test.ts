/**
 * Which fields of an object are read for rules, as which text, and that nothing else is: not of a
 * Secret, not of metadata alone, not beyond the caps.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { ObjectMeta } from '../../core/model/object.ts'
import { BEYOND_READS, MOST_PROJECTED } from '../../core/model/rule/field-path.ts'
import type { KindReads } from '../../core/model/rule/rule.ts'
import type { Resource } from '../../ports/cluster.ts'
import { isBeyondCaps } from '../../ports/record/cap.ts'
import { NO_MARK_KEYS } from '../../ports/record/manager-mark.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { avroCodec } from '../avro/codec.ts'
import { needsWhole } from './field.ts'
import { readMeta } from './meta.ts'

const JOBS: Resource = {
  ...{ group: 'batch', version: 'v1', resource: 'jobs', kind: 'Job' },
  scope: 'Namespaced',
}
const SECRETS: Resource = { ...JOBS, group: '', resource: 'secrets', kind: 'Secret' }
const META = { name: 'one', namespace: 'shop', uid: 'uid-1', resourceVersion: '7' }
const DIGEST = 'digest'
const CANARY = 'do-not-publish'
const EXPIRATION = 'data.expiration:base64'
const BOOTSTRAP = 'bootstrap.kubernetes.io/token'
const codec = avroCodec()

interface Reads {
  readonly labels?: readonly string[]
  readonly annotations?: readonly string[]
  readonly fields?: readonly string[]
}

function projection({ group, kind }: Resource, reads: Reads): Projection {
  const of: KindReads = {
    ...{ group, kind, namespace: '', labels: [], annotations: [], fields: [], digest: DIGEST },
    ...reads,
  }
  return { labels: ['app'], annotations: ['example.com/keep'], marks: NO_MARK_KEYS, kinds: [of] }
}

function read(raw: object, reads: Reads, resource: Resource = JOBS): ObjectMeta {
  const whole = { kind: resource.kind, metadata: META, ...raw }
  const object = readMeta(whole, resource, projection(resource, reads))
  ok(object !== null)
  ok(!isBeyondCaps(object))
  const event = { type: 'ObjectAdded', cluster: 'c', epoch: 1, sync: null, object } as const
  deepEqual(codec.decode(codec.encode(event)), event)
  return object
}

/** Undefined: absent. */
function fieldOf(path: string, raw: object): string | undefined {
  const { projected } = read(raw, { fields: [path] })
  equal(projected?.reads, DIGEST)
  const [field, ...more] = projected?.fields ?? []
  deepEqual(more, [])
  if (field !== undefined) equal(field.key, path)
  return field?.value
}

const CERTIFICATE = readFileSync(new URL('test-certificates/client.crt', import.meta.url), 'utf8')
const OTHER = readFileSync(new URL('test-certificates/ca.crt', import.meta.url), 'utf8')
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const CONDITIONS = {
  status: {
    conditions: [
      { type: 'SuccessCriteriaMet', status: 'True' },
      'no condition',
      null,
      { type: 'Complete', status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z' },
      { type: 'Complete', status: 'False', lastTransitionTime: 'later' },
    ],
  },
}

const ROWS: readonly (readonly [string, string, object, string | undefined])[] = [
  ['a text', 'spec.nodeName', { spec: { nodeName: 'node-1' } }, 'node-1'],
  ['an empty text', 'spec.nodeName', { spec: { nodeName: '' } }, ''],
  ['a number', 'spec.ttl', { spec: { ttl: 100 } }, '100'],
  ['zero', 'spec.ttl', { spec: { ttl: -0 } }, '0'],
  ['a fraction', 'spec.ttl', { spec: { ttl: 0.5 } }, '0.5'],
  ['a flag', 'spec.suspend', { spec: { suspend: false } }, 'false'],
  ['null', 'spec.suspend', { spec: { suspend: null } }, undefined],
  ['an object', 'spec.template', { spec: { template: { secret: CANARY } } }, 'object'],
  ['a list', 'spec.list', { spec: { list: [CANARY] } }, 'list'],
  ['what has no such field', 'spec.nodeName', { spec: {} }, undefined],
  ['what has no such object', 'spec.nodeName', {}, undefined],
  ['below a text', 'spec.nodeName.length', { spec: { nodeName: 'x' } }, undefined],
  ['below a list', 'spec.list.length', { spec: { list: [1] } }, undefined],
  ['of the prototype', 'spec.constructor', { spec: {} }, undefined],
  ['of the prototype, below', 'constructor.name', {}, undefined],
  ['half a character', 'spec.a', { spec: { a: '\ud800' } }, '\ufffd'],
  [
    'of an element',
    'status.conditions[type=Complete].lastTransitionTime',
    CONDITIONS,
    '2026-01-01T00:00:00Z',
  ],
  ['of the first of several', 'status.conditions[type=Complete].status', CONDITIONS, 'True'],
  ['an element', 'status.conditions[type=Complete]', CONDITIONS, 'object'],
  ['of no element', 'status.conditions[type=Failed].status', CONDITIONS, undefined],
  ['of an element by a number', 'a[port=80].name', { a: [{ port: 80, name: 'web' }] }, 'web'],
  ['of an element of no list', 'a[type=b].c', { a: { type: 'b', c: 'x' } }, undefined],
  ['of an element that is a list', 'a[type=b].c', { a: [['b']] }, undefined],
  ['decoded', 'data.a:base64', { data: { a: base64('ä') } }, 'ä'],
  ['decoded, empty', 'data.a:base64', { data: { a: '' } }, ''],
  ['no base64', 'data.a:base64', { data: { a: '!!!!' } }, undefined],
  ['cut base64', 'data.a:base64', { data: { a: 'abc' } }, undefined],
  ['bytes that are no text', 'data.a:base64', { data: { a: '/w==' } }, undefined],
  ['decoded of a number', 'data.a:base64', { data: { a: 1234 } }, undefined],
  [
    'the end of a certificate',
    'status.certificate:not-after',
    { status: { certificate: base64(CERTIFICATE) } },
    '2126-10-28T12:03:00.000Z',
  ],
  [
    'the end of the first of two, after a text',
    'status.certificate:not-after',
    { status: { certificate: base64(`text\n${CERTIFICATE}${OTHER}`) } },
    '2126-10-28T12:03:00.000Z',
  ],
  ['no certificate', 'a:not-after', { a: base64('text') }, undefined],
  [
    'a damaged certificate',
    'a:not-after',
    { a: base64(CERTIFICATE.replace('MIIB', 'AAAA')) },
    undefined,
  ],
  ['a certificate that is no text', 'a:not-after', { a: 1 }, undefined],
]

describe('a field', () => {
  for (const [what, path, raw, expected] of ROWS) {
    test(`${what}: ${path} is ${expected ?? 'absent'}`, () => {
      const value = fieldOf(path, raw)
      equal(value, expected)
      ok(value?.includes(CANARY) !== true)
    })
  }

  test('that is a property of a name that JSON may have is read', () => {
    const raw = JSON.parse('{"spec":{"constructor":"a","__proto__":{"nodeName":"b"}}}')
    equal(fieldOf('spec.constructor', raw), 'a')
    equal(fieldOf('spec.nodeName', raw), undefined)
  })

  test('is published in the order of the reads, without those that are absent', () => {
    const fields = ['spec.a', 'spec.b', 'spec.c']
    deepEqual(read({ spec: { c: 3, a: 1 } }, { fields }).projected, {
      reads: DIGEST,
      policy: null,
      fields: [
        { key: 'spec.a', value: '1' },
        { key: 'spec.c', value: '3' },
      ],
    })
  })
})

const BEYOND = { reads: BEYOND_READS, fields: [], policy: null }

describe('no rule decides about an object', () => {
  const most = MOST_PROJECTED - 'spec.a'.length

  test('whose fields are beyond the cap, all together', () => {
    const fits = read({ spec: { a: 'x'.repeat(most) } }, { fields: ['spec.a', 'spec.b'] })
    equal(fits.projected?.fields[0]?.value.length, most)
    deepEqual(read({ spec: { a: 'x'.repeat(most + 1) } }, { fields: ['spec.a'] }).projected, BEYOND)
    const both = { spec: { a: 'x'.repeat(most - 6), b: '1' } }
    deepEqual(read(both, { fields: ['spec.a', 'spec.b'] }).projected, BEYOND)
  })

  test('with a text to decode that would be beyond it, or with more certificates than one has', () => {
    const long = { a: base64('x'.repeat(MOST_PROJECTED + 3)) }
    deepEqual(read(long, { fields: ['a:base64'] }).projected, BEYOND)
    const chain = { a: base64(CERTIFICATE.repeat(400)) }
    deepEqual(read(chain, { fields: ['a:not-after'] }).projected, BEYOND)
  })

  test('of a rule with a path that is none', () => {
    deepEqual(read({ spec: {} }, { fields: ['spec..a'] }).projected, BEYOND)
  })

  test('with a label or an annotation that only rules read and that is too long; it holds nothing', () => {
    for (const [field, reads, most] of [
      ['labels', { labels: ['l'] }, 63],
      ['annotations', { annotations: ['l'] }, 1_024],
    ] as const) {
      const with_ = (length: number): ObjectMeta =>
        read({ metadata: { ...META, [field]: { l: 'x'.repeat(length), app: 'a' } } }, reads)
      deepEqual(with_(most).projected, { reads: DIGEST, fields: [], policy: null })
      const long = with_(most + 1)
      deepEqual(long.projected, BEYOND)
      deepEqual([long[field].some(({ key }) => key === 'l'), long.ownerReferences], [false, []])
    }
  })

  test('that is beyond the caps itself', () => {
    const ownerReferences = [{ apiVersion: 'v1', kind: 'k'.repeat(64), name: 'a', uid: 'b' }]
    const raw = { metadata: { ...META, ownerReferences } }
    const held = read(raw, { labels: ['l'] })
    equal(held.ownerReferences[0]?.kind, 'beyond caps')
    deepEqual(held.projected, BEYOND)
    // A rule that reads nothing in addition might decide about it.
    const none = { ...projection(JOBS, {}), kinds: [] }
    deepEqual(readMeta(raw, JOBS, none)?.projected, BEYOND)
  })

  test('of which its metadata alone came, if there are fields to be read', () => {
    const partial = { kind: 'PartialObjectMetadata', metadata: META }
    const of = (raw: object, reads: Reads, isBare?: boolean) =>
      readMeta(raw, JOBS, projection(JOBS, reads), isBare)?.projected
    equal(of(partial, { fields: ['spec.a'] }), null)
    equal(of({ metadata: META }, { fields: ['spec.a'] }, true), null)
    deepEqual(of(partial, { labels: ['l'] }), { reads: DIGEST, fields: [], policy: null })
  })
})

test('labels and annotations that rules read come after the general ones, each once', () => {
  const labels = { tier: 'gold', app: 'web', other: CANARY }
  const annotations = { 'x/ttl': '1h', 'x/': CANARY, 'example.com/keep': 'true' }
  const reads = { labels: ['app', 'tier'], annotations: ['x/', 'x/ttl', 'example.com/keep'] }
  const object = read({ metadata: { ...META, labels, annotations } }, reads)
  deepEqual(object.labels, [
    { key: 'app', value: 'web' },
    { key: 'tier', value: 'gold' },
  ])
  deepEqual(object.annotations, [
    { key: 'example.com/keep', value: 'true' },
    { key: 'x/ttl', value: '1h' },
  ])
})

test('a kind that no rule is about is read as without any rule', () => {
  const raw = { kind: 'Job', metadata: { ...META, labels: { l: 'x' } }, spec: { a: 1 } }
  const without = { ...projection(JOBS, {}), kinds: [] }
  const others = projection(SECRETS, { labels: ['l'], fields: ['type'] })
  deepEqual(readMeta(raw, JOBS, others), readMeta(raw, JOBS, without))
  deepEqual([needsWhole(others, JOBS), needsWhole(others, SECRETS)], [false, true])
  equal(needsWhole(projection(JOBS, { labels: ['l'], annotations: ['a'] }), JOBS), false)
})

describe('of a Secret', () => {
  const data = { expiration: base64('2026-01-01T00:00:00Z'), password: base64(CANARY) }
  const metadata = {
    ...META,
    annotations: { 'kubectl.kubernetes.io/last-applied-configuration': CANARY, a: 'b' },
  }
  const secret = (type: string): object => ({ metadata, type, data, stringData: { p: CANARY } })

  test('its type is read, and when a bootstrap token expires', () => {
    const fields = [EXPIRATION, 'type']
    deepEqual(read(secret(BOOTSTRAP), { fields }, SECRETS).projected, {
      reads: DIGEST,
      policy: null,
      fields: [
        { key: EXPIRATION, value: '2026-01-01T00:00:00Z' },
        { key: 'type', value: BOOTSTRAP },
      ],
    })
    deepEqual(read(secret('Opaque'), { fields }, SECRETS).projected, {
      reads: DIGEST,
      policy: null,
      fields: [{ key: 'type', value: 'Opaque' }],
    })
  })

  const refused: readonly Reads[] = [
    { fields: ['data.password'] },
    { fields: ['data.password:base64'] },
    { fields: ['data.expiration'] },
    { fields: ['data'] },
    { fields: ['stringData.p'] },
    { fields: ['type', 'metadata.annotations.a'] },
    { annotations: ['a', 'kubectl.kubernetes.io/last-applied-configuration'] },
  ]
  for (const reads of refused) {
    test(`nothing is read for a rule that reads ${JSON.stringify(reads)}`, () => {
      const object = read(secret(BOOTSTRAP), reads, SECRETS)
      deepEqual([object.projected, object.annotations], [BEYOND, []])
      equal(needsWhole(projection(SECRETS, reads), SECRETS), false)
    })
  }
})

/** Any JSON, with names that paths have. */
const name = fc.constantFrom('a', 'b', 'type', 'constructor', '__proto__', 'metadata')
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
    fc.base64String(),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
})).value
const path = fc
  .array(fc.constantFrom('a', 'b', 'type', 'constructor', 'a[type=b]', 'b[a=1]'), {
    minLength: 1,
    maxLength: 4,
  })
  .chain((steps) =>
    fc.constantFrom('', ':base64', ':not-after').map((as) => `${steps.join('.')}${as}`),
  )

test('whatever an object is, it is read twice alike, within the caps, and survives the log', () => {
  fc.assert(
    fc.property(fc.dictionary(name, json), fc.array(path, { maxLength: 4 }), (raw, paths) => {
      const fields = [...new Set(paths)].sort()
      const whole = { ...raw, metadata: META }
      const once = read(whole, { fields })
      deepEqual(read(whole, { fields }), once)
      const length = (once.projected?.fields ?? []).reduce(
        (sum, { key, value }) => sum + key.length + value.length,
        0,
      )
      ok(length <= MOST_PROJECTED)
    }),
    { numRuns: 1_000 },
  )
})
