/** Shows what of an object is kept, and that one beyond the caps keeps its identity and can never be judged. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ObjectMeta } from '../../core/object.ts'
import type { Resource } from '../../ports/cluster.ts'
import { HOLD_REFERENCE, readMeta } from './meta.ts'

const PODS: Resource = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  scope: 'Namespaced',
}
const NODES: Resource = { ...PODS, resource: 'nodes', kind: 'Node', scope: 'Cluster' }
const NOTHING = { labels: [], annotations: [] }
const REFERENCE = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'rs', uid: 'rs-1' }
const META = { name: 'web', namespace: 'shop', uid: 'uid-1', resourceVersion: '7' }

describe('metadata', () => {
  test('is read exactly, and nothing else is', () => {
    const raw = {
      metadata: {
        ...META,
        generation: 3,
        creationTimestamp: '2026-01-01T00:00:00Z',
        deletionTimestamp: '2026-01-01T00:00:01.5Z',
        deletionGracePeriodSeconds: 30,
        finalizers: ['orphan'],
        ownerReferences: [REFERENCE, { ...REFERENCE, controller: false, blockOwnerDeletion: true }],
        labels: { app: 'web', secret: 'canary' },
        annotations: {
          'kubectl.kubernetes.io/last-applied-configuration': 'canary',
          b: '2',
          a: '1',
        },
        managedFields: [{ manager: 'canary' }],
      },
      spec: { canary: true },
    }
    const expected: ObjectMeta = {
      ...PODS,
      ...META,
      generation: 3,
      createdAt: Date.parse('2026-01-01T00:00:00Z'),
      deletedAt: Date.parse('2026-01-01T00:00:01.5Z'),
      graceSeconds: 30,
      finalizers: ['orphan'],
      ownerReferences: [
        { ...REFERENCE, controller: null, blockOwnerDeletion: null },
        { ...REFERENCE, controller: false, blockOwnerDeletion: true },
      ],
      labels: [{ key: 'app', value: 'web' }],
      annotations: [
        { key: 'a', value: '1' },
        { key: 'b', value: '2' },
      ],
    }
    const read = readMeta(raw, PODS, { labels: ['app', 'tier'], annotations: ['a', 'b'] })
    deepEqual(read, expected)
    ok(!JSON.stringify(read).includes('canary'))
  })

  test('of a plain object is null and empty where nothing is said', () => {
    const { generation, createdAt, deletedAt, graceSeconds, finalizers, ownerReferences } = read({})
    deepEqual([generation, createdAt, deletedAt, graceSeconds], [null, null, null, null])
    deepEqual([finalizers, ownerReferences], [[], []])
  })

  test('keeps no label that is none of its own, and the beginning of one too long', () => {
    const labels = JSON.parse('{"__proto__":"a","long":"' + 'x'.repeat(2_000) + '"}')
    const allow = { labels: ['__proto__', 'constructor', 'toString', 'long'], annotations: [] }
    deepEqual(readMeta({ metadata: { ...META, labels } }, PODS, allow)?.labels, [
      { key: '__proto__', value: 'a' },
      { key: 'long', value: 'x'.repeat(1_024) },
    ])
  })

  const unreadable: [string, unknown][] = [
    ['nothing', null],
    ['a list', []],
    ['no metadata', {}],
    ['no name', { metadata: { ...META, name: '' } }],
    ['no uid', { metadata: { ...META, uid: undefined } }],
    ['a version that is a number', { metadata: { ...META, resourceVersion: 7 } }],
    ['no namespace', { metadata: { ...META, namespace: undefined } }],
    ['references that are a map', { metadata: { ...META, ownerReferences: {} } }],
    [
      'a reference without a uid',
      { metadata: { ...META, ownerReferences: [{ ...REFERENCE, uid: 1 }] } },
    ],
    [
      'a flag that is a text',
      { metadata: { ...META, ownerReferences: [{ ...REFERENCE, controller: 'no' }] } },
    ],
    ['a finalizer that is a number', { metadata: { ...META, finalizers: [1] } }],
    ['a time that is none', { metadata: { ...META, creationTimestamp: 'soon' } }],
  ]
  for (const [what, raw] of unreadable) {
    test(`is none with ${what}`, () => equal(readMeta(raw, PODS, NOTHING), null))
  }

  test('of a cluster-scoped object has an empty namespace', () => {
    equal(readMeta({ metadata: { ...META, namespace: undefined } }, NODES, NOTHING)?.namespace, '')
  })

  const many = (count: number) =>
    Array.from({ length: count }, (_, uid) => ({ ...REFERENCE, uid: `${uid}` }))
  const beyond: [string, object][] = [
    ['too many references', { ownerReferences: many(1_025) }],
    ['a reference with a huge uid', { ownerReferences: [{ ...REFERENCE, uid: 'x'.repeat(129) }] }],
    [
      'a reference with a huge name',
      { ownerReferences: [{ ...REFERENCE, name: 'x'.repeat(254) }] },
    ],
    ['a reference with a huge kind', { ownerReferences: [{ ...REFERENCE, kind: 'x'.repeat(64) }] }],
    [
      'a reference with a huge version',
      { ownerReferences: [{ ...REFERENCE, apiVersion: 'x'.repeat(318) }] },
    ],
    ['too many finalizers', { finalizers: Array.from({ length: 257 }, (_, it) => `${it}`) }],
    ['a huge finalizer', { finalizers: ['x'.repeat(321)] }],
    ['a huge name', { name: 'x'.repeat(254) }],
    ['a huge uid', { uid: 'x'.repeat(129) }],
  ]
  for (const [what, changed] of beyond) {
    test(`with ${what} is held: who it is, and one reference that nobody can resolve`, () => {
      const { name, uid, ownerReferences, finalizers } = read(changed)
      deepEqual({ name, uid }, { name: META.name, uid: META.uid, ...pick(changed) })
      deepEqual([ownerReferences, finalizers], [[HOLD_REFERENCE], []])
    })
  }

  test('at the caps is kept whole', () => {
    equal(read({ ownerReferences: many(1_024) }).ownerReferences.length, 1_024)
  })
})

function read(changed: object): ObjectMeta {
  const meta = readMeta({ metadata: { ...META, ...changed } }, PODS, NOTHING)
  ok(meta)
  return meta
}

function pick(changed: { name?: string; uid?: string }): object {
  return { ...(changed.name && { name: changed.name }), ...(changed.uid && { uid: changed.uid }) }
}
