/**
 * Shows that every record about an object with as many references as are accepted is within the
 * limit of a record.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { DeleteObject, OrphanDependent, OwnerClaim } from '../../core/model/command.ts'
import type { Node } from '../../core/model/node.ts'
import type { ObjectMeta, OwnerReference } from '../../core/model/object.ts'
import { isBeyondCaps } from '../../ports/record/cap.ts'
import type { Writable } from '../../ports/record/codec.ts'
import { MAX_RECORD_BYTES } from '../../ports/record/record-limit.ts'
import { deleteObject, object, orphanDependent } from '../../testing/rig/reaper.ts'
import { avroCodec } from './codec.ts'

const codec = avroCodec()
/** In a chunk of a snapshot there may be as much before it. */
const CHUNK_BYTES = 512 * 1024
/** Offsets are varints: few logs are longer. */
const OFFSET = 2n ** 48n

const shapes: readonly [what: string, reference: OwnerReference, namespace: string][] = [
  ['shortest', reference('v1', 'A', 'a', 'u'), 'default'],
  [
    'as controllers write them',
    reference('apps/v1', 'ReplicaSet', 'web-5d9c8b7f6d', '1b2f3a52-55d4-4d4c-8f7e-000000000000'),
    'default',
  ],
  [
    'longest',
    reference(
      'g'.repeat(253) + '/' + 'v'.repeat(63),
      'K'.repeat(63),
      'n'.repeat(253),
      'u'.repeat(128),
    ),
    'n'.repeat(63),
  ],
  [
    'not of our letters',
    reference('v1', '\u4e2d'.repeat(63), '\u4e2d'.repeat(253), '\u4e2d'.repeat(128)),
    'n'.repeat(63),
  ],
]

for (const [what, each, namespace] of shapes) {
  test(`the most references, ${what}, fit into every record`, () => {
    const most = mostOf(each, namespace)
    const sizes = recordsOf(most).map((record) => [record.type, codec.encode(record).length])
    const [largest = 0] = sizes.map(([, size]) => Number(size)).sort((a, b) => b - a)
    ok(largest + CHUNK_BYTES <= MAX_RECORD_BYTES, `${JSON.stringify(sizes)}`)
    const command = codec.decode(codec.encode(deleteOf(most)))
    deepEqual(command, deleteOf(most))
  })
}

test('25,000 references are within the cap', () => {
  const [, shortest, namespace] = shapes[0] as (typeof shapes)[number]
  equal(isBeyondCaps(withReferences(25_000, shortest, namespace)), false)
})

function reference(apiVersion: string, kind: string, name: string, uid: string): OwnerReference {
  return { apiVersion, kind, name, uid, controller: false, blockOwnerDeletion: false }
}

function withReferences(count: number, each: OwnerReference, namespace: string): ObjectMeta {
  return { ...object({ ownerReferences: Array<OwnerReference>(count).fill(each) }), namespace }
}

/** One more would be beyond the cap. */
function mostOf(each: OwnerReference, namespace: string): ObjectMeta {
  let [within, beyond] = [0, 100_000]
  while (beyond - within > 1) {
    const count = Math.floor((within + beyond) / 2)
    if (isBeyondCaps(withReferences(count, each, namespace))) beyond = count
    else within = count
  }
  return withReferences(within, each, namespace)
}

function recordsOf(most: ObjectMeta): readonly Writable[] {
  const about = { cluster: 'c1', epoch: 1 }
  return [
    { type: 'ObjectAdded', ...about, sync: null, object: most },
    { type: 'ObjectDeleted', ...about, object: most, ageMs: 0 },
    nodeOf(most),
    deleteOf(most),
    dropOf(most),
  ]
}

function nodeOf(most: ObjectMeta): Node {
  const indexes = most.ownerReferences.map((_, index) => index)
  return {
    ...{ type: 'Node', object: most, hash: 'h'.repeat(16), position: OFFSET },
    places: most.ownerReferences.map(({ kind }) => ({ kind, namespace: most.namespace })),
    ...{
      namedAt: [],
      orphanedAt: null,
      isFreed: false,
      letGoAt: null,
      going: null,
      ringed: false,
      doubt: null,
      deletion: null,
    },
    ...{ protectedUntil: null, isWarned: false, warnedAt: [], dueBy: '', hold: null },
    verdict: {
      type: 'drop',
      evidence: 'deleted',
      because: 'it is gone',
      basis: basisOf(most),
      rule: null,
    },
    attempt: {
      ...{ command: '0-1-0', verb: 'OrphanDependent', intent: `drop ${indexes.join(',')}` },
      ...{ isDryRun: false, finalizer: '', state: 'issued', count: 1, since: 1, until: 2 },
      ...{ outcome: null, reason: '' },
    },
  } as Node
}

function basisOf({ ownerReferences }: ObjectMeta): readonly bigint[] {
  return ownerReferences.map((_, index) => OFFSET + BigInt(index))
}

function deleteOf(most: ObjectMeta): DeleteObject {
  const { ownerReferences: references } = most
  return deleteObject({ references, owners: claimsOf(most), basis: basisOf(most) })
}

function dropOf(most: ObjectMeta): OrphanDependent {
  const { ownerReferences: references } = most
  const drop = references.map((_, index) => index).reverse()
  return orphanDependent({ references, drop, owners: claimsOf(most), basis: basisOf(most) })
}

/** Of a kind with a long resource, and by a version with a long name. */
function claimsOf({ namespace, ownerReferences }: ObjectMeta): readonly OwnerClaim[] {
  return ownerReferences.map(({ apiVersion, kind, name, uid }) => ({
    ...{ group: apiVersion.split('/')[1] === undefined ? '' : (apiVersion.split('/')[0] ?? '') },
    ...{ kind, namespace, name, uid, version: 'v'.repeat(63), resource: 'r'.repeat(63) },
    claim: 'absent',
    cluster: '',
    clusterEpoch: 0,
    createdAt: null,
  }))
}
