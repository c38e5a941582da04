/** What changed in a list makes the list of the former one; what did not change is not in it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { edited, editsOf } from './list-edit.ts'

const LIST = fc.array(fc.constantFrom(...'abcdefgh'), { maxLength: 30 })

test('makes any list of any other', () => {
  fc.assert(
    fc.property(LIST, LIST, (former, list) => {
      deepEqual(edited(former, editsOf(list, list, former)), list)
    }),
  )
})

for (const [what, list] of [
  ['nothing', (former: number[]) => former],
  ['one removed', (former: number[]) => former.toSpliced(2_000, 1)],
  ['one replaced at either end', (former: number[]) => [-1, ...former.slice(1, -1), -2]],
  ['one put first', (former: number[]) => [-1, ...former]],
  [
    'the halves exchanged',
    (former: number[]) => [...former.slice(3_000), ...former.slice(0, 3_000)],
  ],
] as const) {
  test(`holds of ${what} among 6,000 no more than that`, () => {
    const former = Array.from({ length: 6_000 }, (_, index) => index)
    const after = list(former)
    const edits = editsOf(after, after, former)
    const added = edits.flatMap((edit) => edit.added)
    deepEqual(
      added,
      after.filter((entry) => entry < 0),
    )
    equal(edits.length <= 3, true)
    deepEqual(edited(former, edits), after)
  })
}

test('tells equal entries apart by what is before them', () => {
  const former = Array.from({ length: 600 }, (_, index) => (index % 2 === 0 ? 'x' : `a${index}`))
  const after = ['new', ...former]
  equal(editsOf(after, after, former).length, 2)
})

test('is of no other list', () => {
  equal(edited(['a'], [{ from: 0, count: 2, added: [] }]), undefined)
})
