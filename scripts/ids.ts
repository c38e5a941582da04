/**
 * Ids such as B30, F39 or I11: where their rows are, and which ids of a text have none.
 *
 * What must stay true: an id that a reader meets in code, tests or documents leads to a row of one
 * of the pages below.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Pages whose tables begin with ids. */
export const PAGES: readonly string[] = [
  'docs/inside/invariants.md',
  'docs/operate/attacks.md',
  'docs/inside/faults.md',
  'docs/inside/first-hour.md',
  'docs/inside/semantics.md',
]

/** In semantics.md the scenarios name rows that are above them. */
const USES = '\n## The scenarios\n'
const ROW = /^\| ([A-Z]\d{1,3}(?:\.\d{1,2})?) \|/gm
/**
 * Not E: classes of evidence, in ARCHITECTURE.md. Not `C3 01`: two bytes. Not P99: a percentile.
 */
const ID = /\b(?!P99\b|C3 01)(?:[ABCDFIPRSTUX]\d{1,3}(?:\.\d{1,2})?)\b/g
/** Documents that are not in this repository. */
const ABSENT = /\b(?:D[E]SIGN|S[T]YLE)\b/g

export function knownIds(root: string): ReadonlySet<string> {
  const ids = PAGES.flatMap((page) => {
    const [rows = ''] = readFileSync(join(root, page), 'utf8').split(USES)
    return [...rows.matchAll(ROW)].map(([, id = '']) => id)
  })
  return new Set(ids)
}

/** The ids in a text that a reader cannot look up, each once. */
export function unknownIds(text: string, known: ReadonlySet<string>): readonly string[] {
  const ids = [...text.matchAll(ID)].map(([id]) => id).filter((id) => !known.has(id))
  const documents = [...text.matchAll(ABSENT)].map(([name]) => name)
  return [...new Set([...ids, ...documents])]
}
