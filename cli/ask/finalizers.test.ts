/**
 * What `kinfold finalizers` prints where there is nothing to list: the server is a real one in
 * finalizers.cluster.test.ts.
 */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { FinalizerList } from '../answer.ts'
import { listText } from './finalizers.ts'

test('where no finalizer is listed it is said for how long none has held anything', () => {
  const none = { partial: '', objects: [] } as unknown as FinalizerList
  equal(listText(none, 'table', 600_000), 'No finalizer has held anything for 10 min or more.\n')
  const some = { ...none, partial: 'a process does not answer' }
  equal(listText(some, 'table', 1_000), 'Nothing is known to be held for 1 s or more.\n')
})
