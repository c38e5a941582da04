/** A row gives back the value and the list that it was made of. */
import { deepEqual, throws } from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { MOST_RECENT, recentIn, rowOf, valueIn } from './row.ts'

const number = fc.maxSafeNat()
const records = fc.uniqueArray(number, { minLength: 1, maxLength: MOST_RECENT })

suite('a row', () => {
  test('has its value and its list', () => {
    fc.assert(
      fc.property(fc.uint8Array(), records, number, (value, numbers, behind) => {
        const list = numbers.toSorted((a, b) => a - b)
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

  test('is refused where it cannot be one', () => {
    throws(() => valueIn(new Uint8Array([1, 0, 9])), /ends with the length of its list/)
    throws(() => valueIn(new Uint8Array()), /ends with the length of its list/)
  })
})
