/**
 * Compiles the CEL of a rule into a tree of our own: ports/expression.ts.
 *
 * What must stay true: nothing of the library is in what comes out, and nothing is evaluated by it:
 * its evaluation has no bound. Whatever the text, this ends soon, with a tree or a sentence.
 */
import type { ParseResult } from '@marcbachmann/cel-js'
import { readTree } from '../../core/judge/expression/read-tree.ts'
import type { Expression } from '../../core/judge/expression/tree.ts'
import { costOf, STEPS_BOUND } from '../../core/judge/expression/tree.ts'
import type { Compilation, CompiledExpression } from '../../ports/expression.ts'
import type { Lowering } from './lower.ts'
import { lower } from './lower.ts'
import { Refusal } from './refusal.ts'
import { checkTypes, environmentOf, parseSentence } from './type-check.ts'

const SOURCE_BYTES = 4_096

export function compileExpression(source: string): Compilation {
  try {
    return { type: 'Compiled', expression: compiled(source) }
  } catch (error) {
    if (error instanceof Refusal) return { type: 'Refused', reason: error.message }
    throw error
  }
}

function compiled(source: string): CompiledExpression {
  const bytes = Buffer.byteLength(source)
  if (bytes > SOURCE_BYTES)
    throw new Refusal(
      `the expression has ${bytes} bytes: at most ${SOURCE_BYTES} are possible, so make it two rules`,
    )
  const read: Lowering = {
    fields: new Set(),
    labels: new Set(),
    annotations: new Set(),
    variables: [],
    depth: 0,
  }
  const tree = lower(parse(source, []).ast, read)
  checkTypes(parse(source, read.fields), source)
  return {
    source,
    tree: bounded(tree),
    fields: [...read.fields].sort(),
    labels: [...read.labels].sort(),
    annotations: [...read.annotations].sort(),
  }
}

/** For each set of fields anew: a library's tree belongs to the schema that it was parsed with. */
function parse(source: string, fields: Iterable<string>): ParseResult {
  const environment = environmentOf(fields)
  try {
    return environment.parse(source)
  } catch (error) {
    throw new Refusal(parseSentence(error, source))
  }
}

function bounded(tree: Expression): string {
  const steps = costOf(tree)
  if (steps > STEPS_BOUND)
    throw new Refusal(
      `the expression takes up to ${steps} steps for one object, and ${STEPS_BOUND} are possible: ` +
        'a macro takes the steps within it 64 times for owner references and 256 times for finalizers, ' +
        'so take a macro out of another, or ask less within it',
    )
  const json = JSON.stringify(tree)
  if (readTree(json) === undefined)
    throw new Refusal('the expression is too large or nested too deeply: make it two rules')
  return json
}
