/**
 * `continue` of an answer that comes in pages: where the next page begins, and of which question it
 * is.
 *
 * What must stay true: a cursor of another question is refused, whatever its positions look like,
 * so no client skips what that question would have shown. It holds positions, uids and clusters,
 * and no name but one that was asked for.
 *
 * Not here: what the positions mean, and whether they are well-formed: each question checks its
 * own.
 */
import { createHash } from 'node:crypto'
import { Problem } from '../../../../runtime/http/problem.ts'

type Words = Readonly<Record<string, string | undefined>>

/** What was asked: its route, and the words that make it this question. */
export interface PagedQuestion {
  readonly route: string
  readonly words: Words
}

/** These do not make it another question. */
const BESIDE: ReadonlySet<string> = new Set(['continue', 'limit'])

export function cursorText(of: PagedQuestion, parts: readonly (string | number | null)[]): string {
  return Buffer.from(JSON.stringify([markOf(of), ...parts])).toString('base64url')
}

/** The places in it. Undefined: the first page. */
export function cursorIn(
  text: string | undefined,
  of: PagedQuestion,
): readonly unknown[] | undefined {
  if (text === undefined || text === '') return undefined
  const [mark, ...parts] = partsIn(text)
  if (mark !== markOf(of)) throw strange()
  return parts
}

export function strange(): Problem {
  return new Problem(400, 'continue is not from an answer to this question; begin without it')
}

function markOf({ route, words }: PagedQuestion): string {
  const asked = Object.entries(words).filter(([name]) => !BESIDE.has(name))
  const text = JSON.stringify([route, asked.sort(([a], [b]) => (a < b ? -1 : 1))])
  return createHash('sha256').update(text).digest('base64url').slice(0, 16)
}

function partsIn(text: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    return Array.isArray(parts) ? parts : []
  } catch {
    return []
  }
}
