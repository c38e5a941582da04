/** Which of the archived objects a restore is about. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import type { ArchivedObject } from './archive-reader.ts'
import { existingAt } from './selection.ts'

function archived(
  uid: string,
  createdAt: number | null,
  at: number,
): readonly [string, ArchivedObject] {
  const object: ArchivedObject = {
    ...{ type: 'Archived', cluster: 'c', uid, group: '', kind: 'ConfigMap', namespace: 'default' },
    ...{ name: 'a', version: 'v1', resource: 'configmaps', resourceVersion: '7' },
    ...{ ownerReferences: [], command: '', createdAt, at, content: 'whole', keyId: '' },
    ...{ nonce: new Uint8Array(), digest: '', partition: 0, offset: 0n },
  }
  return [uid, object]
}

const OBJECTS = new Map([
  archived('first', 10, 20),
  archived('second', 20, 30),
  archived('later', 40, 50),
  archived('unknown', null, 25),
])

for (const [atMs, expected] of [
  [9, ['unknown']],
  [10, ['first', 'unknown']],
  [20, ['first', 'second', 'unknown']],
  [26, ['second']],
  [35, []],
  [50, ['later']],
  [51, []],
] as const) {
  test(`at ${atMs} there were ${expected.join(', ') || 'none'}, and they were deleted since`, () => {
    deepEqual([...existingAt(OBJECTS, atMs).keys()], expected)
  })
}
