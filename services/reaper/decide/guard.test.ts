/** The guard of each change, as it is sent. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { DIGEST_OF_UID } from '../../../ports/record/cap.ts'
import {
  deleteObject,
  OTHER_OWNER,
  OWNER,
  orphanDependent,
  removeFinalizer,
} from '../../../testing/rig/reaper.ts'
import { deleteGuard, mergeGuard, patchGuard } from './guard.ts'

test('gives a DELETE both preconditions and a policy', () => {
  deepEqual(deleteGuard(deleteObject({ propagationPolicy: 'Foreground' }), '8', true), {
    uid: 'u-pod',
    resourceVersion: '8',
    propagationPolicy: 'Foreground',
    gracePeriodSeconds: null,
    dryRun: true,
    auditId: deleteObject({}).id,
  })
})

test('gives what is changed before a DELETE the version that was read, and the same account', () => {
  const change = { status: { phase: 'Failed' } }
  const account = 'system:serviceaccount:shop:cleaner'
  const about = { kind: 'CleanupPolicy', version: 'v1', namespace: 'shop', name: 'old', uid: 'u' }
  const rule = { name: 'shop/old', digest: 'd', policy: { ...about, account } }
  const command = deleteObject({ rule })
  deepEqual(mergeGuard(command, '8', change, false), {
    ...{ uid: 'u-pod', resourceVersion: '8', change, dryRun: false, auditId: command.id },
    as: account,
  })
  equal('as' in mergeGuard(deleteObject({}), '8', change, false), false)
})

test('tests the uid and every entry before it removes the first, the last entry first', () => {
  deepEqual(patchGuard(orphanDependent({ drop: [0, 1] }), '8'), [
    { op: 'test', path: '/metadata/uid', value: 'u-pod' },
    {
      op: 'test',
      path: '/metadata/ownerReferences/1',
      value: {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        name: 'rs',
        uid: 'u-rs',
        controller: true,
      },
    },
    {
      op: 'test',
      path: '/metadata/ownerReferences/0',
      value: {
        apiVersion: 'batch/v1',
        kind: 'Job',
        name: 'job',
        uid: 'u-job',
        blockOwnerDeletion: false,
      },
    },
    { op: 'remove', path: '/metadata/ownerReferences/1' },
    { op: 'remove', path: '/metadata/ownerReferences/0' },
  ])
})

test('removes a reference that is named twice once', () => {
  const paths = patchGuard(orphanDependent({ references: [OWNER, OTHER_OWNER], drop: [0, 0] }), '8')
    .filter(({ op }) => op === 'remove')
    .map(({ path }) => path)
  deepEqual(paths, ['/metadata/ownerReferences/0'])
})

test('removes a reference of which only a digest is known, where nothing of the object has changed', () => {
  const long = { ...OWNER, uid: `${DIGEST_OF_UID}${'0'.repeat(64)}` }
  const command = orphanDependent({ references: [OTHER_OWNER, long], drop: [1, 0] })
  const [, version, entry, ...rest] = patchGuard(command, '8')
  deepEqual(version, { op: 'test', path: '/metadata/resourceVersion', value: '8' })
  deepEqual(entry?.path, '/metadata/ownerReferences/0')
  deepEqual(rest, [
    { op: 'remove', path: '/metadata/ownerReferences/1' },
    { op: 'remove', path: '/metadata/ownerReferences/0' },
  ])
})

test('takes a finalizer only off what is deleted as it was then, where a server writes times as it should', () => {
  const of = (deletedAt: number, aggregated = false): unknown => {
    const command = removeFinalizer({ deletedAt })
    return patchGuard({ ...command, target: { ...command.target, aggregated } }, '8')[1]
  }
  const path = '/metadata/deletionTimestamp'
  deepEqual(of(1_700_000_000_000), { op: 'test', path, value: '2023-11-14T22:13:20Z' })
  const without = { op: 'test', path: '/metadata/finalizers/1', value: 'orphan' }
  deepEqual(of(1_700_000_000_001), without)
  deepEqual(of(1_700_000_000_000, true), without)
})

test('tests and removes a finalizer at its place', () => {
  deepEqual(patchGuard(removeFinalizer(), '8'), [
    { op: 'test', path: '/metadata/uid', value: 'u-pod' },
    { op: 'test', path: '/metadata/finalizers/1', value: 'orphan' },
    { op: 'remove', path: '/metadata/finalizers/1' },
  ])
})
