/** What a user wrote into an object is restored; what only a server sets is not. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { type JsonObject, parseObject } from '../../runtime/exact-json.ts'
import { freshObject } from './fresh-object.ts'

const MARK = { key: 'example.com/restored', value: 'ConfigMap/a' }

function fresh(body: object): JsonObject {
  return freshObject(body as JsonObject, [], [MARK])
}

test('leaves out what a server gives, and says what it was', () => {
  const metadata = {
    ...{
      name: 'a',
      namespace: 'ns',
      labels: { a: 'b' },
      finalizers: ['foregroundDeletion', 'example.com/keep', 'orphan'],
    },
    ...{ uid: 'u-old', resourceVersion: '7', generation: 3, creationTimestamp: 'then' },
    ...{ deletionTimestamp: 'now', deletionGracePeriodSeconds: 30, managedFields: [{}] },
    ownerReferences: [{ uid: 'u-owner' }],
    annotations: { mine: 'yes', 'pv.kubernetes.io/bind-completed': 'yes' },
  }
  deepEqual(fresh({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { a: 'b' } }), {
    ...{ apiVersion: 'v1', kind: 'ConfigMap', data: { a: 'b' } },
    metadata: {
      ...{ name: 'a', namespace: 'ns', labels: { a: 'b' }, finalizers: ['example.com/keep'] },
      annotations: { mine: 'yes', 'example.com/restored': 'ConfigMap/a' },
    },
  })
})

test('names owners as they are told, absent flags absent', () => {
  const one = { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: 'u' }
  const references = [
    { ...one, controller: true, blockOwnerDeletion: false },
    { ...one, controller: null, blockOwnerDeletion: null },
  ]
  const { metadata } = freshObject({ metadata: { name: 'a' } }, references, [MARK])
  deepEqual((metadata as JsonObject)['ownerReferences'], [references[0], one])
})

const specs: readonly (readonly [string, string, string, object, object])[] = [
  [
    'a Service its addresses',
    'v1',
    'Service',
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1'], ports: [1] },
    { ports: [1] },
  ],
  ['no headless Service its None', 'v1', 'Service', { clusterIP: 'None' }, { clusterIP: 'None' }],
  ['a Pod its node', 'v1', 'Pod', { nodeName: 'n', containers: [] }, { containers: [] }],
  [
    'a Job what its controller named by its uid',
    'batch/v1',
    'Job',
    {
      selector: {},
      template: { metadata: { labels: { 'controller-uid': 'u', app: 'a' } }, spec: 1 },
    },
    { template: { metadata: { labels: { app: 'a' } }, spec: 1 } },
  ],
  [
    'no Job a selector of its own',
    'batch/v1',
    'Job',
    { manualSelector: true, selector: 1 },
    { manualSelector: true, selector: 1 },
  ],
  [
    'nothing of a kind of that name elsewhere',
    'example.com/v1',
    'Pod',
    { nodeName: 'n' },
    { nodeName: 'n' },
  ],
]
for (const [what, apiVersion, kind, before, after] of specs) {
  test(`takes from ${what}`, () => {
    deepEqual(fresh({ apiVersion, kind, metadata: {}, spec: before })['spec'], after)
  })
}

test('keeps numbers as they are spelled', () => {
  const text =
    '{"kind":"Thing","metadata":{"name":"a"},"spec":{"n":9007199254740993,"f":1.50,"i":7}}'
  const object = parseObject(text) ?? {}
  const { spec } = freshObject(object, [], [MARK])
  equal(JSON.stringify(spec), '{"n":9007199254740993,"f":1.50,"i":7}')
})
