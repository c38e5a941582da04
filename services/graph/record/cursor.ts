/**
 * `continue` of an answer about history: where the next page begins, and of which question it is.
 *
 * What must stay true: a cursor of another question is refused, so nobody skips what that one would have shown. It holds places in the log and a uid, and no name.
 */
import { createHash } from 'node:crypto'
import { Problem } from '../../../runtime/problem.ts'

type Words = Readonly<Record<string, string | undefined>>

/** These do not make it another question. */
const BESIDE: ReadonlySet<string> = new Set(['continue', 'limit'])

export function cursorText(words: Words, parts: readonly (string | number)[]): string {
  return Buffer.from(JSON.stringify([markOf(words), ...parts])).toString('base64url')
}

/** Undefined: the first page. */
export function cursorIn(words: Words): readonly unknown[] | undefined {
  const { continue: text = '' } = words
  if (text === '') return undefined
  const [mark, ...parts] = partsIn(text)
  if (mark !== markOf(words)) throw strange()
  return parts
}

export function strange(): Problem {
  return new Problem(400, 'continue is not from an answer to this question; begin without it')
}

function markOf(words: Words): string {
  const asked = Object.entries(words).filter(([name]) => !BESIDE.has(name))
  const text = JSON.stringify(asked.sort(([a], [b]) => (a < b ? -1 : 1)))
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
