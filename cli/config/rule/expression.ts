/**
 * The expression of a rule, compiled when a config has one: its library is loaded then only.
 *
 * What must stay true: what the compiler refuses ends the start with its own sentence.
 */
import { createRequire } from 'node:module'
import { extname } from 'node:path'
import type { compileExpression } from '../../../adapters/cel/compile.ts'
import type { RuleExpression } from '../../../core/model/rule/rule.ts'
import { bad } from '../setting.ts'

/** Required, since a config is read at once: in the checkout a source, in a package compiled. */
function compiler(): typeof compileExpression {
  const file = `../../../adapters/cel/compile${extname(import.meta.filename)}`
  const loaded = createRequire(import.meta.url)(file) as {
    readonly compileExpression: typeof compileExpression
  }
  return loaded.compileExpression
}

export function compiledRule(source: string, from: string): RuleExpression {
  const made = compiler()(source)
  if (made.type === 'Refused') throw bad(`${from}: ${made.reason}`)
  return made.expression
}
