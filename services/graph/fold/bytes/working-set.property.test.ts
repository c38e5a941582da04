/**
 * A working set answers as the store and its changes say, whatever was read, written or forgotten
 * before; and no decoded object outlives the batch, unless there are few of its kind.
 */
import { deepEqual, notEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AGENDA_KEY, DIRECTIVES_KEY, POLICY_KEY } from '../../../../core/graph/key.ts'
import type { Seen, StateValue } from '../../../../core/model/state.ts'
import { runs } from '../../../../testing/hostile.ts'
import { codec } from '../../../../testing/rig/task-rig.ts'
import { DECODED_VALUES } from '../../config.ts'
import { rowOf, valueIn } from '../former/row.ts'
import { WorkingSet } from './working-set.ts'

const PREFIXES = ['node/c/', 'cluster/', 'kind/c/', 'unreadable/', 'edge/c/', 'due/c/', 'work/c/']
const key = fc.oneof(
  fc.constantFrom(AGENDA_KEY, DIRECTIVES_KEY, POLICY_KEY),
  fc.tuple(fc.constantFrom(...PREFIXES), fc.nat(3)).map(([prefix, number]) => prefix + number),
)
const value = fc.option(fc.nat(1_000).map((sync) => seen(sync)))
const record = fc.record({
  reads: fc.array(key, { maxLength: 8 }),
  writes: fc.array(fc.tuple(key, value), { maxLength: 4 }),
})
const batch = fc.array(record, { maxLength: 4 })

function seen(sync: number): Seen {
  return { type: 'Seen', resourceVersion: 'x'.repeat(sync % 60), sync, clusterEpoch: 0 }
}

/** The changes of the present record become bytes, as a batch does it; in their order. */
function settled(set: WorkingSet): void {
  for (const entry of set.takeRecent()) {
    set.settle(entry, entry.value ? codec.encode(entry.value) : null)
    entry.settled = entry.value
  }
}

/** Of one task: the working set over its store, and what both are to answer. */
class Task {
  readonly rows = new Map<string, Uint8Array>()
  readonly stored = new Map<string, StateValue>()
  now = new Map<string, StateValue>()
  readonly set: WorkingSet
  readonly #isOfRows: boolean

  constructor(isOfRows: boolean) {
    const read = (key: string): Uint8Array | undefined => this.rows.get(key)
    this.set = new WorkingSet(isOfRows ? { row: read } : { get: read }, codec)
    this.#isOfRows = isOfRows
  }

  write(key: string, value: Seen | null): void {
    if (value === null) this.set.remove(key)
    else this.set.put(key, value)
    if (value === null) this.now.delete(key)
    else this.now.set(key, value)
  }

  check(key: string, before: ReadonlyMap<string, StateValue>): void {
    deepEqual(this.set.get(key), this.now.get(key), key)
    deepEqual(this.set.stored.get(key), this.stored.get(key), key)
    const entry = this.set.entry(key)
    deepEqual(this.set.settledOf(entry) ?? undefined, before.get(key), key)
    const bytes = this.set.bytesOf(entry)
    deepEqual(bytes && codec.decode(bytes), before.get(key), key)
    const row = this.set.rowOf(entry)
    deepEqual(row && codec.decode(this.#isOfRows ? valueIn(row) : row), this.stored.get(key), key)
  }

  commit(): void {
    const rows = this.set.changed.map(({ key, bytes = null }) => {
      return [key, bytes && this.#isOfRows ? rowOf(bytes) : bytes] as const
    })
    for (const [key, row] of rows) {
      if (row === null) this.rows.delete(key)
      else this.rows.set(key, row)
    }
    this.stored.clear()
    for (const [key, value] of this.now) this.stored.set(key, value)
    this.set.clear(rows)
  }
}

test('a read answers what the store and the changes hold', () => {
  fc.assert(
    fc.property(fc.array(batch, { maxLength: 8 }), (batches) => {
      const tasks = [new Task(true), new Task(false)]
      // Another task's values must not be seen here.
      const other = new WorkingSet({ get: () => codec.encode(seen(77)) }, codec)
      for (const records of batches) {
        for (const { reads, writes } of records) {
          for (const task of tasks) {
            const before = new Map(task.now)
            for (const key of reads) task.check(key, before)
            for (const [key, value] of writes) task.write(key, value)
            for (const key of reads) task.check(key, before)
            settled(task.set)
          }
          for (const key of reads) deepEqual(other.get(key), seen(77))
        }
        for (const task of tasks) task.commit()
      }
    }),
    runs(400),
  )
})

test('what nothing changed is forgotten within a batch, and no change is', () => {
  const task = new Task(true)
  task.write('node/c/changed', seen(1))
  settled(task.set)
  task.write('node/c/recent', seen(2))
  for (let at = 0; at < 3 * DECODED_VALUES; at++) task.set.get(`node/c/${at}`)
  deepEqual(task.set.get('node/c/changed'), seen(1))
  deepEqual(task.set.get('node/c/recent'), seen(2))
  deepEqual(
    task.set.takeRecent().map(({ key }) => key),
    ['node/c/recent'],
  )
})

test('a value is the same object within a batch, and another one after it, unless there are few of its kind', () => {
  const values = new WorkingSet({ get: () => codec.encode(seen(1)) }, codec)
  const [node, cluster] = [values.get('node/c/1'), values.get('cluster/c')]
  ok(node === values.get('node/c/1'))
  values.clear([])
  notEqual(values.get('node/c/1'), node)
  ok(values.get('cluster/c') === cluster)
})
