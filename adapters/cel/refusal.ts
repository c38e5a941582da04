/**
 * Why an expression is refused, as a sentence for the user who wrote it.
 *
 * What must stay true: it says what was found, where, and what is possible instead.
 */
import type { ASTNode } from '@marcbachmann/cel-js'

/** Thrown within this folder only: `compileExpression` answers it. */
export class Refusal extends Error {
  override readonly name = 'Refusal'
}

/** `advice`: a sentence that says what is possible. */
export function refusal(node: ASTNode, what: string, advice: string): Refusal {
  const { start, end } = node.range
  return new Refusal(sentence(excerpt(node.input.slice(start, end)), node, `${what}: ${advice}`))
}

/** Such as: `x + 1` (line 1, column 4) is no bool: compare it. */
export function sentence(
  found: string,
  at: { readonly input: string; readonly range: { readonly start: number } },
  what: string,
): string {
  return `${found} (${placeOf(at.input, at.range.start)}) ${what}`
}

export function placeOf(source: string, start: number): string {
  const lines = source.slice(0, start).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

/** On one line, and short. */
export function excerpt(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return `\`${line.length > 60 ? `${line.slice(0, 60)}…` : line}\``
}
