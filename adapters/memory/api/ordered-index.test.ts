/**
 * Shows that the ordered index is a sorted map, and that a snapshot of it is of its moment.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { OrderedIndex, type Snapshot } from './ordered-index.ts'

interface Value {
  readonly key: string
  readonly n: number
}

/** More keys than fit into one chunk, so that chunks split and vanish. */
const KEYS = 1_500

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('set'), key: fc.nat(KEYS) }) },
  { weight: 5, arbitrary: fc.record({ type: fc.constant('delete'), key: fc.nat(KEYS) }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('snapshot'), key: fc.nat(KEYS) }) },
)

function keyOf(n: number): string {
  return `ns/${String(n).padStart(5, '0')}`
}

test('an ordered index is a sorted map whose snapshots never change', () => {
  const steps = fc.array(step, { maxLength: 400 })
  fc.assert(
    fc.property(fc.boolean(), steps, (isFull, taken) => {
      const index = new OrderedIndex<Value>()
      const map = new Map<string, Value>()
      const set = (n: number, value: number) => {
        const entry = { key: keyOf(n), n: value }
        index.set(entry)
        map.set(entry.key, entry)
      }
      if (isFull) for (let n = 0; n <= KEYS; n++) set((n * 7) % (KEYS + 1), n)
      const snapshots: [Snapshot<Value>, readonly Value[]][] = []
      for (const [at, { type, key }] of taken.entries()) {
        if (type === 'set') set(key, at)
        else if (type === 'delete') {
          index.delete(keyOf(key))
          map.delete(keyOf(key))
        } else snapshots.push([index.snapshot(), sorted(map)])
        deepEqual(index.get(keyOf(key)), map.get(keyOf(key)))
      }
      equal(index.size, map.size)
      snapshots.push([index.snapshot(), sorted(map)])
      for (const [snapshot, expected] of snapshots) {
        deepEqual([...snapshot.range('', '\uffff')], expected)
      }
      const [gte, lt] = [keyOf(300), keyOf(900)]
      const within = sorted(map).filter(({ key }) => key >= gte && key < lt)
      const [snapshot] = snapshots.at(-1)!
      deepEqual([...snapshot.range(gte, lt)], within)
      equal(snapshot.count(gte, lt), within.length)
      deepEqual(
        index.first(gte),
        sorted(map).find(({ key }) => key >= gte),
      )
    }),
    { numRuns: 60 },
  )
})

function sorted(map: ReadonlyMap<string, Value>): readonly Value[] {
  return [...map.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}
