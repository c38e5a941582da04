/**
 * How far a word is from another one that may have been meant.
 *
 * Not here: which words there are (name-index.ts, ../view/kind-word.ts).
 */

/** Changes of one letter between a word and what may be meant. */
export const MOST_CHANGES = 2

/**
 * Levenshtein's distance, where two neighbours that changed places are one change; of words whose
 * lengths differ by more than what counts, that difference.
 */
export function changesBetween(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > MOST_CHANGES) return Math.abs(a.length - b.length)
  let former: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isTurned = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const turned = isTurned ? (former[j - 2] ?? 0) + 1 : changed
      next.push(Math.min(changed, turned, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    former = row
    row = next
  }
  return row[b.length] ?? 0
}
