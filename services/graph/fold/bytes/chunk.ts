/**
 * How a long list is cut into chunks, so that a change of one entry changes one or two chunks.
 *
 * What must stay true: the chunks together are the list, in its order. A chunk that is still there
 * as a whole is kept, twice if the list has that stretch twice; what is left between those that are
 * kept is cut anew. No chunk has more than `MOST` entries, and none fewer than `LEAST`, unless the
 * list has. So how many chunks there are, and how many a change costs, depends on the number of
 * changes, not on what entries say: their authors do not choose where a list is cut.
 *
 * Not here: where chunks are kept (long-node.ts).
 */
import type { ListEdit } from '../../../../ports/record/list-edit.ts'

const LEAST = 16
const MOST = 64

/**
 * Of a list: `of` of the former chunks, or entries that are in none as they are now, by their index
 * in the list.
 */
export interface Cut {
  /** Index of a former chunk that is kept, or -1. */
  readonly of: number
  readonly from: number
  readonly to: number
}

/** `counts` are those of the former chunks; `edits` say how the list came out of the former one. */
export function cutsOf<T>(edits: readonly ListEdit<T>[], counts: readonly number[]): Cut[] {
  const parts = partsOf(edits, counts)
  const cuts: Cut[] = []
  for (let index = 0; index < parts.length; index++) {
    const part = parts[index]!
    if (part.of >= 0) {
      cuts.push(part)
      continue
    }
    // Too few for a chunk: with those of a neighbour.
    let { from, to } = part
    const next = parts[index + 1]
    if (to - from < LEAST && next !== undefined) {
      to = next.to
      parts[index + 1] = { of: -1, from, to }
      continue
    }
    if (to - from < LEAST) from = cuts.pop()?.from ?? from
    cuts.push(...pieces(from, to))
  }
  return cuts
}

/** Former chunks that are there as a whole, and all that is between them. */
function partsOf<T>(edits: readonly ListEdit<T>[], counts: readonly number[]): Cut[] {
  const begins = [0]
  for (const count of counts) begins.push(begins.at(-1)! + count)
  const byBegin = new Map(begins.slice(0, -1).map((begin, index) => [begin, index]))
  const parts: Cut[] = []
  let at = 0
  const pass = (to: number): void => {
    if (to === at) return
    const last = parts.at(-1)
    if (last?.of === -1) parts[parts.length - 1] = { ...last, to }
    else parts.push({ of: -1, from: at, to })
    at = to
  }
  for (const { from, count, added } of edits) {
    const [shift, end] = [at - from, from + count]
    for (let old = from; old < end; ) {
      const of = byBegin.get(old) ?? -1
      const next = begins[of + 1] ?? 0
      if (of >= 0 && next <= end) {
        parts.push({ of, from: at, to: next + shift })
        at = next + shift
        old = next
      } else {
        old += 1
        pass(old + shift)
      }
    }
    pass(at + added.length)
  }
  return parts
}

/** As equal as can be. */
function pieces(from: number, to: number): Cut[] {
  const count = Math.ceil((to - from) / MOST)
  return Array.from({ length: count }, (_, index) => {
    const at = (part: number): number => from + Math.floor(((to - from) * part) / count)
    return { of: -1, from: at(index), to: at(index + 1) }
  })
}
