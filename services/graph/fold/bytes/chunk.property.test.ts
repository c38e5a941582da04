/**
 * A long list in chunks: whole, in order, and a change of few entries leaves nearly all chunks as
 * they are, however the list is chosen.
 */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { editsOf } from '../../../../ports/record/list-edit.ts'
import { cutsOf } from './chunk.ts'

interface Chunked<T> {
  readonly list: readonly T[]
  readonly chunks: readonly (readonly T[])[]
  readonly kept: number
}

function next<T>({ list: former, chunks }: Chunked<T>, list: readonly T[]): Chunked<T> {
  const edits = editsOf(list, list, former)
  const cuts = cutsOf(
    edits,
    chunks.map(({ length }) => length),
  )
  for (const { of, from, to } of cuts) if (of >= 0) deepEqual(list.slice(from, to), chunks[of])
  const kept = cuts.filter(({ of }) => of >= 0)
  return {
    list,
    chunks: cuts.map(({ from, to }) => list.slice(from, to)),
    kept: new Set(kept.map(({ of }) => of)).size,
  }
}

const NONE = { list: [], chunks: [], kept: 0 } as const

/** What a change does with a list: takes a stretch out, and puts entries in. */
const EDIT = fc.record({
  at: fc.nat(1_000),
  removed: fc.oneof(fc.nat(3), fc.nat(200)),
  added: fc.array(fc.nat(30), { maxLength: 80 }),
})

test('is the list after any changes of it, in chunks of 16 to 64', () => {
  fc.assert(
    fc.property(fc.array(EDIT, { maxLength: 20 }), (edits) => {
      let chunked: Chunked<number> = NONE
      for (const { at, removed, added } of edits) {
        const list = chunked.list.toSpliced(at, removed, ...added)
        chunked = next(chunked, list)
        deepEqual(chunked.chunks.flat(), list)
        for (const { length } of chunked.chunks) {
          ok(length <= 64 && (length >= 16 || chunked.chunks.length === 1), `${length}`)
        }
      }
    }),
  )
})

for (const [what, entryAt] of [
  ['all different', (index: number) => `r${index}`],
  ['all the same', () => 'r'],
  ['every other one the same', (index: number) => (index % 2 === 0 ? 'r' : `r${index}`)],
  ['the same again and again', (index: number) => `r${index % 65}`],
] as const) {
  test(`changes at most five chunks with an entry, of 6,000 that are ${what}`, () => {
    const list = Array.from({ length: 6_000 }, (_, index) => entryAt(index))
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.nat(5_999), fc.boolean()), { maxLength: 6 }), (changes) => {
        let chunked = next<string>(NONE, list)
        for (const [at, isAdded] of changes) {
          const before = chunked.chunks.length
          chunked = next(
            chunked,
            isAdded ? chunked.list.toSpliced(at, 0, 'new') : chunked.list.toSpliced(at, 1),
          )
          ok(before - chunked.kept <= 5, `${before - chunked.kept}`)
        }
      }),
      { numRuns: 20 },
    )
  })
}
