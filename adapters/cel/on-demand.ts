/**
 * As `compileExpression`, with its library loaded when there is an expression.
 *
 * What must stay true: a process that has none loads nothing of it.
 */
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import type { CompileExpression } from '../../ports/expression.ts'

export const compileOnDemand: CompileExpression = (source) => compiler()(source)

/** Required, since rules are read at once: in the checkout a source, in a package compiled. */
function compiler(): CompileExpression {
  const file = `./compile${extname(import.meta.filename)}`
  const loaded = createRequire(import.meta.url)(file) as {
    readonly compileExpression: CompileExpression
  }
  return loaded.compileExpression
}
