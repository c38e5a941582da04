/** A tail has its last entries or says that it has not: never a gap, never more than its bound. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { Produced } from '../../ports/log.ts'
import { Tail } from './tail.ts'

const BYTES = 20_000

test('gives what was appended, from any offset it still has', () => {
  const tail = new Tail(BYTES)
  tail.append(7, 1, some(3))
  tail.append(10, 2, some(2))
  deepEqual(offsets(tail, 7n, 9), [7n, 8n, 9n, 10n, 11n])
  deepEqual(offsets(tail, 9n, 2), [9n, 10n])
  deepEqual(offsets(tail, 12n, 9), [])
  equal(tail.read(6n, 9), undefined)
  equal(tail.read(10n, 1)?.[0]?.timestamp, 2)
})

test('has nothing before the first append', () => {
  equal(new Tail(BYTES).read(0n, 1), undefined)
})

test('lets go of its oldest, and has all from the first it still has', () => {
  const tail = new Tail(BYTES)
  for (let offset = 0; offset < 1_000; offset += 10) tail.append(offset, 1, some(10))
  const first = Array.from({ length: 1_000 }, (_, at) => BigInt(at)).find(
    (at) => tail.read(at, 1) !== undefined,
  )!
  ok(first > 900n && first < 990n, `its first is ${first}`)
  deepEqual(
    offsets(tail, first, 1_000),
    Array.from({ length: 1_000 - Number(first) }, (_, at) => first + BigInt(at)),
  )
})

test('lets go of all when one append is beyond its bound', () => {
  const tail = new Tail(BYTES)
  tail.append(0, 1, [{ key: 'large', value: new Uint8Array(BYTES) }])
  equal(tail.read(0n, 1), undefined)
  tail.append(1, 1, some(1))
  deepEqual(offsets(tail, 1n, 9), [1n])
})

test('keeps the bytes as they were, small and large, whatever becomes of the ones it was given', () => {
  const tail = new Tail(1_000_000)
  const sizes = [0, 1, 7, 8_000, 9_000, 60_000, 8_192, 8_192, 3]
  const values = sizes.map((size, at) => new Uint8Array(size).fill(at + 1))
  const given = values.map((value) => value.slice())
  tail.append(
    0,
    1,
    given.map((value) => ({ key: 'key', value })),
  )
  for (const value of given) value.fill(0)
  deepEqual(
    tail.read(0n, 99)?.map(({ value }) => value),
    values,
  )
})

function some(count: number): Produced[] {
  return Array.from({ length: count }, () => ({ key: 'key', value: new Uint8Array(10) }))
}

function offsets(tail: Tail, from: bigint, limit: number): bigint[] | undefined {
  return tail.read(from, limit)?.map(({ offset }) => offset)
}
