/** A row gives back the value and the list that it was made of. */
import { deepEqual, equal, throws } from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { MOST_RECENT, nextRow, recentIn, rowOf, valueIn } from './row.ts'

const number = fc.maxSafeNat()
const records = fc.uniqueArray(number, { minLength: 1, maxLength: MOST_RECENT })

const ascending = (a: number, b: number): number => a - b

suite('a row', () => {
  test('has its value and its list', () => {
    fc.assert(
      fc.property(fc.uint8Array(), records, number, (value, numbers, behind) => {
        const list = numbers.toSorted(ascending)
        const position = Math.max(0, list.at(-1)! - behind)
        const row = rowOf(value, { position, records: list })
        deepEqual([...valueIn(row)], [...value])
        deepEqual(recentIn(row), { position, records: list })
      }),
    )
  })

  test('may have no list', () => {
    const row = rowOf(new Uint8Array([0, 7]))
    deepEqual([...valueIn(row)], [0, 7])
    deepEqual(recentIn(row), undefined)
  })

  test('of another value has its list, and one record more', () => {
    fc.assert(
      fc.property(records, fc.nat(1_000), (numbers, more) => {
        const [number = 0, ...rest] = numbers
          .map((each) => Math.floor(each / 2))
          .toSorted(ascending)
        let row = rowOf(new Uint8Array([1]), { position: number, records: [number] })
        const listed = [number]
        for (const next of [...new Set(rest)].filter((each) => each > number)) {
          const behind = Math.min(more, next)
          const longer = nextRow(new Uint8Array([2]), row, {
            number: next,
            position: next - behind,
          })
          if (longer === undefined) break
          listed.push(next)
          row = longer
          deepEqual(recentIn(row), { position: next - behind, records: listed })
        }
        const other = nextRow(new Uint8Array([3]), row, undefined)
        deepEqual([...valueIn(other!)], [3])
        deepEqual(recentIn(other!), recentIn(row))
      }),
    )
  })

  test('with a long list is not grown', () => {
    const list = { position: 9_999, records: Array.from({ length: MOST_RECENT }, (_, i) => i) }
    equal(
      nextRow(new Uint8Array(), rowOf(new Uint8Array(), list), { number: 1e4, position: 1e4 }),
      undefined,
    )
  })

  test('is refused where it cannot be one', () => {
    throws(() => valueIn(new Uint8Array([1, 0, 9])), /ends with the length of its list/)
    throws(() => valueIn(new Uint8Array()), /ends with the length of its list/)
  })
})
