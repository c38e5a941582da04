/**
 * Shows which fields of an object are kept, and that one beyond the caps keeps its identity and can
 * never be judged.
 */
import { deepEqual, equal, match, notEqual, ok } from 'node:assert/strict'
import { describe, test } from 'node:test'
import { phaseOf } from '../../core/model/node.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Resource } from '../../ports/cluster.ts'
import { HOLD_REFERENCE } from '../../ports/record/cap.ts'
import { NO_MARK_KEYS } from '../../ports/record/manager-mark.ts'
import { isPathSegmentName } from '../../ports/record/object-name.ts'
import type { Projection } from '../../ports/record/projection.ts'
import { readMeta } from './meta.ts'

const PODS: Resource = {
  group: '',
  version: 'v1',
  resource: 'pods',
  kind: 'Pod',
  scope: 'Namespaced',
}
const NODES: Resource = { ...PODS, resource: 'nodes', kind: 'Node', scope: 'Cluster' }
const NOTHING: Projection = { labels: [], annotations: [], marks: NO_MARK_KEYS, kinds: [] }
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
      projected: null,
    }
    const projection = { ...NOTHING, labels: ['app', 'tier'], annotations: ['a', 'b'] }
    const read = readMeta(raw, PODS, projection)
    deepEqual(read, expected)
    ok(!JSON.stringify(read).includes('canary'))
  })

  test('of a plain object is null and empty where nothing is said', () => {
    const { generation, createdAt, deletedAt, graceSeconds, finalizers, ownerReferences } = read({})
    deepEqual([generation, createdAt, deletedAt, graceSeconds], [null, null, null, null])
    deepEqual([finalizers, ownerReferences], [[], []])
  })

  test('keeps all annotations below a prefix, which ends with a slash', () => {
    const annotations = { 'x.dev/b': '2', 'x.dev/a': '1', 'x.dev.org/a': '3', 'x.dev': '4', y: '5' }
    const allow = { ...NOTHING, annotations: ['y', 'x.dev/'] }
    const kept = readMeta({ metadata: { ...META, annotations } }, PODS, allow)?.annotations
    deepEqual(
      kept?.map(({ key }) => key),
      ['y', 'x.dev/a', 'x.dev/b'],
    )
  })

  test('keeps of what is below a prefix no more than a record can have, and holds nothing for it', () => {
    const many = Array.from({ length: 1_000 }, (_, each) => [`x.dev/${1_000 + each}`, 'v'] as const)
    const annotations = { 'x.dev/0': 'v'.repeat(2_000), ...Object.fromEntries(many) }
    const allow = { ...NOTHING, annotations: ['x.dev/'] }
    const kept = readMeta({ metadata: { ...META, annotations } }, PODS, allow)
    deepEqual([kept?.annotations.length, kept?.annotations[0]?.key], [64, 'x.dev/1000'])
    deepEqual(kept?.ownerReferences, [])
  })

  test('keeps no label that is none of its own', () => {
    const labels = JSON.parse('{"__proto__":"a"}')
    const allow = { ...NOTHING, labels: ['__proto__', 'constructor', 'toString'] }
    deepEqual(readMeta({ metadata: { ...META, labels } }, PODS, allow)?.labels, [
      { key: '__proto__', value: 'a' },
    ])
  })

  test('with a label or an annotation that is kept and too long is held: it may be what protects', () => {
    const allow = { ...NOTHING, labels: ['l'], annotations: ['a'] }
    for (const [field, key, length] of [
      ['labels', 'l', 63],
      ['annotations', 'a', 1_024],
    ] as const) {
      const of = (value: string): ObjectMeta | null =>
        readMeta({ metadata: { ...META, [field]: { [key]: value } } }, PODS, allow)
      deepEqual(of('x'.repeat(length))?.ownerReferences, [])
      deepEqual(of('x'.repeat(length + 1))?.ownerReferences, [HOLD_REFERENCE])
    }
  })

  test('reads numbers that are no counts as none, and halves of characters as what stands for them', () => {
    const odd = JSON.parse('{"generation":1e400,"deletionGracePeriodSeconds":0.5}')
    const { generation, graceSeconds } = read(odd)
    deepEqual([generation, graceSeconds], [null, null])
    const [reference] = read({
      ownerReferences: [{ ...REFERENCE, uid: 'a\ud800b' }],
    }).ownerReferences
    equal(reference?.uid, 'a\ufffdb')
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
    ['a version of a megabyte', { metadata: { ...META, resourceVersion: '1'.repeat(2 ** 20) } }],
    ['a uid of a megabyte', { metadata: { ...META, uid: 'u'.repeat(2 ** 20) } }],
    ['a time beyond all', { metadata: { ...META, creationTimestamp: '-271821-04-20T00:00:00Z' } }],
    ['a time that is none', { metadata: { ...META, creationTimestamp: 'soon' } }],
  ]
  for (const [what, raw] of unreadable) {
    test(`is none with ${what}`, () => equal(readMeta(raw, PODS, NOTHING), null))
  }

  test('of a cluster-scoped object has an empty namespace', () => {
    equal(readMeta({ metadata: { ...META, namespace: undefined } }, NODES, NOTHING)?.namespace, '')
  })

  test('of a kind that is namespaced by now, and was told as cluster-scoped, is none', () => {
    equal(readMeta({ metadata: META }, NODES, NOTHING), null)
  })

  const many = (count: number) =>
    Array.from({ length: count }, (_, uid) => ({ ...REFERENCE, uid: `${uid}` }))
  const beyond: [string, object][] = [
    ['too many references', { ownerReferences: many(40_000) }],
    [
      'a reference with a huge name outside of the core group, as a living ClusterRole may have',
      {
        ownerReferences: [
          {
            apiVersion: 'rbac.authorization.k8s.io/v1',
            kind: 'ClusterRole',
            name: 'x'.repeat(254),
            uid: 'role-1',
          },
        ],
      },
    ],
    ['a reference with a huge kind', { ownerReferences: [{ ...REFERENCE, kind: 'x'.repeat(64) }] }],
    [
      'a reference with a huge version',
      { ownerReferences: [{ ...REFERENCE, apiVersion: 'x'.repeat(318) }] },
    ],
    ['too many finalizers', { finalizers: Array.from({ length: 257 }, (_, it) => `${it}`) }],
    ['a huge finalizer', { finalizers: ['x'.repeat(321)] }],
    ['a huge uid', { uid: 'x'.repeat(129) }],
  ]
  for (const [what, changed] of beyond) {
    test(`with ${what} is held: who it is, and one reference that nobody can resolve`, () => {
      const { name, uid, ownerReferences, finalizers } = read(changed)
      deepEqual({ name, uid }, { name: META.name, uid: META.uid, ...pick(changed) })
      deepEqual([ownerReferences, finalizers], [[HOLD_REFERENCE], []])
    })
  }

  test('with a reference whose uid or name no object can have names an owner that never was, by a digest', () => {
    const long = { uid: 'x'.repeat(129), name: 'y'.repeat(254) }
    const [byUid, byName, other] = read({
      ownerReferences: [
        { ...REFERENCE, uid: long.uid },
        { ...REFERENCE, apiVersion: 'v1', kind: 'ConfigMap', name: long.name },
        { ...REFERENCE, uid: 'z'.repeat(129) },
      ],
    }).ownerReferences
    match(byUid?.uid ?? '', /^beyond-caps:sha256:[0-9a-f]{64}$/)
    equal(byUid?.name, REFERENCE.name)
    match(byName?.name ?? '', /^beyond-caps\/sha256\/[0-9a-f]{64}$/)
    equal(isPathSegmentName(byName?.name ?? ''), false)
    equal(byName?.uid, REFERENCE.uid)
    notEqual(byUid?.uid, other?.uid)
    const [most] = read({
      ownerReferences: [{ ...REFERENCE, uid: 'x'.repeat(128) }],
    }).ownerReferences
    equal(most?.uid, 'x'.repeat(128))
  })

  test('beyond the caps still orphans its dependents, if that was asked for', () => {
    const finalizers = [...Array.from({ length: 257 }, (_, it) => `${it}`), 'orphan']
    for (const asked of [
      { finalizers },
      { finalizers: ['orphan'], ownerReferences: many(40_000) },
    ]) {
      const deletionTimestamp = '2026-01-01T00:00:00Z'
      const object = read({ ...asked, deletionTimestamp })
      deepEqual([object.ownerReferences, object.finalizers], [[HOLD_REFERENCE], ['orphan']])
      equal(phaseOf(object), 'orphaning')
    }
  })

  test('with a huge name is held under the beginning of it', () => {
    const { name, uid, ownerReferences } = read({ name: `${'x'.repeat(252)}\u{1f600}more` })
    deepEqual([name, uid], [`${'x'.repeat(252)}\ufffd`, META.uid])
    deepEqual(ownerReferences, [HOLD_REFERENCE])
  })

  test('with more references than a record can claim, each of them within its cap, is held', () => {
    const name = '\u20ac'.repeat(200)
    const of = (count: number): ObjectMeta =>
      read({ ownerReferences: many(count).map((each) => ({ ...each, name })) })
    equal(of(4_300).ownerReferences.length, 4_300)
    deepEqual(of(4_500).ownerReferences, [HOLD_REFERENCE])
  })

  test('with as many references as etcd takes of those that controllers write is kept whole', () => {
    const uid = '1b2f3a52-55d4-4d4c-8f7e-000000000000'
    const ownerReferences = many(19_000).map((each) => ({ ...each, uid, name: 'web-5d9c8b7f6d' }))
    equal(read({ ownerReferences }).ownerReferences.length, 19_000)
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
