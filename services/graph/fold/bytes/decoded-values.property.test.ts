/**
 * A remembered value equals the store's answer, whatever was read or written before; and no decoded
 * object outlives the batch.
 */
import { deepEqual, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AGENDA_KEY, DIRECTIVES_KEY, POLICY_KEY } from '../../../../core/graph/key.ts'
import type { Seen, StateValue } from '../../../../core/model/state.ts'
import { runs } from '../../../../testing/hostile.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { DecodedValues } from './decoded-values.ts'

const PREFIXES = ['node/c/', 'cluster/', 'kind/c/', 'unreadable/', 'edge/c/', 'due/c/', 'work/c/']
const key = fc.oneof(
  fc.constantFrom(AGENDA_KEY, DIRECTIVES_KEY, POLICY_KEY),
  fc.tuple(fc.constantFrom(...PREFIXES), fc.nat(3)).map(([prefix, number]) => prefix + number),
)
const value = fc.option(fc.nat(1_000).map((sync) => seen(sync)))
const batch = fc.record({
  reads: fc.array(key, { maxLength: 12 }),
  writes: fc.array(fc.tuple(key, value), { maxLength: 8 }),
})

function seen(sync: number): Seen {
  return { type: 'Seen', resourceVersion: 'x'.repeat(sync % 60), sync, clusterEpoch: 0 }
}

test('a read answers what the store holds', () => {
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 12 }), (batches) => {
      const stored = new Map<string, Uint8Array>()
      const model = new Map<string, StateValue>()
      const store = { get: (key: string) => stored.get(key) }
      // With another task, whose values must not be seen here.
      const all = [new DecodedValues(store, codec), new DecodedValues(store, codec)]
      const other = new DecodedValues({ get: () => codec.encode(seen(77)) }, codec)
      for (const { reads, writes } of batches) {
        for (const key of reads) {
          deepEqual(other.get(key), seen(77))
          for (const each of all) deepEqual(each.get(key), model.get(key), key)
        }
        const changes = new Map<string, Uint8Array | null>()
        for (const [key, value] of writes) {
          changes.set(key, value === null ? null : codec.encode(value))
          if (value === null) model.delete(key)
          else model.set(key, value)
        }
        for (const [key, bytes] of changes) {
          if (bytes === null) stored.delete(key)
          else stored.set(key, bytes)
        }
        for (const each of all) each.stored(changes)
      }
    }),
    runs(600),
  )
})

test('a value is the same object within a batch, and another one after it, unless there are few of its kind', () => {
  const values = new DecodedValues({ get: () => codec.encode(seen(1)) }, codec)
  const [node, cluster] = [values.get('node/c/1'), values.get('cluster/c')]
  ok(node === values.get('node/c/1'))
  values.stored(new Map())
  notEqual(values.get('node/c/1'), node)
  ok(values.get('cluster/c') === cluster)
})
