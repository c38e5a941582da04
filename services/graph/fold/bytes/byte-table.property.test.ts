/**
 * A table of bytes against a plain map: it knows the last value put, or nothing; its memory has a
 * bound; an entry that is read stays.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { runs } from '../../../../testing/hostile.ts'
import { ABSENT, ByteTable } from './byte-table.ts'

const OWNERS = 3

const key = fc
  .tuple(fc.constantFrom('', 'node/c/', 'count/c/', `edge/${'x'.repeat(150)}/`), fc.nat(40))
  .map(([prefix, number]) => prefix + number)
const owner = fc.nat(OWNERS - 1)
const put = fc.record({
  what: fc.constant('put' as const),
  owner,
  key,
  /** The size of the value; negative for one that is absent. */
  size: fc.oneof(fc.integer({ min: -1, max: 40 }), fc.integer({ min: -1, max: 700 })),
})
const get = fc.record({ what: fc.constant('get' as const), owner, key })
const forget = fc.record({ what: fc.constant('forget' as const), owner, key })
const step = fc.oneof({ weight: 5, arbitrary: put }, { weight: 4, arbitrary: get }, forget)
const steps = fc.array(step, { maxLength: 400, size: 'max' })

/** A multiple of 8 each. */
const limits = fc.constantFrom(1_024, 2_048, 4_104, 16_384, 65_536)

test('a table knows the last value put for a key, or nothing, within its limit', () => {
  let known = 0
  let forgotten = 0
  fc.assert(
    fc.property(steps, limits, (steps, limit) => {
      const table = new ByteTable(limit, 1_024)
      const owners = Array.from({ length: OWNERS }, () => table.newOwner())
      const model = new Map<string, Uint8Array | null>()
      const check = (of: number, key: string): void => {
        const held = table.get(owners[of]!, key)
        const right = model.get(`${of} ${key}`)
        if (held === undefined) forgotten += right === undefined ? 0 : 1
        else {
          deepEqual(held === ABSENT ? null : Uint8Array.from(held), right)
          known += 1
        }
      }
      let last = 0
      for (const each of steps) {
        const name = `${each.owner} ${each.key}`
        last += 1
        if (each.what === 'put') {
          const value = each.size < 0 ? null : new Uint8Array(each.size).fill(last)
          table.put(owners[each.owner]!, each.key, value)
          model.set(name, value)
        } else if (each.what === 'forget') {
          table.forget(owners[each.owner]!, each.key)
          model.delete(name)
        }
        check(each.owner, each.key)
        ok(table.memory <= limit + Math.max(limit / 4, 8_192), `${table.memory} of ${limit}`)
      }
      for (const name of model.keys()) check(Number(name[0]), name.slice(2))
    }),
    runs(1_500),
  )
  ok(known > 10_000 && forgotten > 10_000, `${known} known, ${forgotten} forgotten`)
})

test('nothing is forgotten for as long as there is room', () => {
  const table = new ByteTable(1 << 22)
  const mine = table.newOwner()
  const values = Array.from({ length: 5_000 }, (_, i) => new Uint8Array((i * 7) % 400).fill(i))
  for (let round = 0; round < 3; round++) {
    for (const [i, value] of values.entries()) table.put(mine, `node/c/${i}`, value)
    for (const [i, value] of values.entries()) {
      const held = table.get(mine, `node/c/${i}`)
      ok(held instanceof Uint8Array)
      deepEqual(Uint8Array.from(held), value)
    }
  }
})

test('what is read stays while a hundred times the limit is put, and what is not makes room', () => {
  const table = new ByteTable(65_536)
  const mine = table.newOwner()
  table.put(mine, 'read', Uint8Array.of(1, 2, 3))
  table.put(mine, 'unread', Uint8Array.of(4))
  for (let i = 0; i < 100_000; i++) {
    table.put(mine, `node/c/${i}`, new Uint8Array(i % 90))
    if (i % 50 === 0) deepEqual([...(table.get(mine, 'read') as Uint8Array)], [1, 2, 3])
  }
  equal(table.get(mine, 'unread'), undefined)
})

test('a table whose entries are all read still takes what is new', () => {
  const table = new ByteTable(16_384)
  const mine = table.newOwner()
  for (let i = 0; i < 2_000; i++) {
    table.put(mine, `node/c/${i}`, new Uint8Array(40))
    for (let j = Math.max(0, i - 400); j <= i; j++) table.get(mine, `node/c/${j}`)
    ok(table.get(mine, `node/c/${i}`) !== undefined, `${i}`)
  }
})

test('what is too large, or has too long a key, is not known, whatever was before', () => {
  const table = new ByteTable(16_384)
  const mine = table.newOwner()
  table.put(mine, 'a', Uint8Array.of(1))
  table.put(mine, 'a', new Uint8Array(10_000))
  equal(table.get(mine, 'a'), undefined)
  const long = 'k'.repeat(2_000)
  table.put(mine, long, Uint8Array.of(1))
  equal(table.get(mine, long), undefined)
})
