/**
 * Makes our tree of the syntax tree of CEL: the list of what an expression may have.
 *
 * What must stay true: what is not named here is refused, never passed on. Whether types fit is not
 * decided here (type-check.ts), so a tree is used only when both have passed it.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import { converted } from '../../core/judge/expression/conversion.ts'
import type {
  Expression,
  List,
  ListName,
  Literal,
  Macro,
  Read,
  Search,
  ValueType,
} from '../../core/judge/expression/tree.ts'
import {
  DEPTH_BOUND,
  MACROS_BOUND,
  VALUE_TYPES,
  VALUES_BOUND,
} from '../../core/judge/expression/tree.ts'
import { isFailure, isInt } from '../../core/judge/expression/value.ts'
import type { Resolved, Variable } from './path.ts'
import { isPath, resolve } from './path.ts'
import { refusal } from './refusal.ts'

/** What is read on the way, and the variables of the macros around. */
export interface Lowering {
  readonly fields: Set<string>
  readonly labels: Set<string>
  readonly annotations: Set<string>
  readonly variables: readonly Variable[]
  readonly depth: number
}

type Binary = Extract<ASTNode, { args: [ASTNode, ASTNode] }>

const FUNCTIONS =
  'the functions are has, size, startsWith, endsWith, contains, lowerAscii, the macros exists, all ' +
  `and exists_one, and the conversions ${VALUE_TYPES.join(', ')}`

export function lower(node: ASTNode, around: Lowering): Expression {
  const state = { ...around, depth: around.depth + 1 }
  if (state.depth > DEPTH_BOUND)
    throw refusal(node, 'is nested too deeply', `at most ${DEPTH_BOUND} levels are possible`)
  switch (node.op) {
    case 'value':
      return literal(node)
    case 'id':
    case '.':
    case '[]':
      return readValue(node, state)
    case 'call':
      return call(node, state)
    case 'rcall':
      return methodCall(node, state)
    case '?:': {
      const [when, yes, no] = node.args
      return {
        op: 'choose',
        when: lower(when, state),
        yes: lower(yes, state),
        no: lower(no, state),
      }
    }
    case '&&':
    case '||':
      return { op: node.op === '&&' ? 'and' : 'or', of: operands(node, node.op, state) }
    case '!_':
      return { op: 'not', of: lower(node.args, state) }
    case '-_':
      return negated(node, state)
    case 'in':
      return membership(node, state)
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '+':
    case '-':
      return {
        op: node.op,
        left: lower(node.args[0], state),
        right: lower(node.args[1], state),
      }
    default:
      throw refusal(node, 'cannot be used', adviceFor(node.op))
  }
}

function adviceFor(op: ASTNode['op']): string {
  switch (op) {
    case '*':
    case '/':
    case '%':
      return 'of arithmetic there are + and -; a long time can be written as duration("36h")'
    case 'list':
      return 'a list can be written to the right of `in` only'
    case 'map':
      return 'there are no maps beside object.metadata.labels and object.metadata.annotations'
    default:
      return FUNCTIONS
  }
}

function literal(node: Extract<ASTNode, { op: 'value' }>): Literal {
  const value = node.args
  switch (typeof value) {
    case 'string':
      return { op: 'string', value }
    case 'boolean':
      return { op: 'bool', value }
    case 'number':
      return { op: 'double', value }
    case 'bigint':
      return int(node, value)
    default:
      throw refusal(
        node,
        'cannot be used',
        value === null
          ? 'ask has(object.spec.nodeName) whether there is a value'
          : 'values are texts, whole numbers, doubles, true and false',
      )
  }
}

function int(node: ASTNode, value: bigint): Literal {
  if (isInt(`${value}`)) return { op: 'int', value: `${value}` }
  throw refusal(node, 'is too large', 'a whole number has at most 64 bits')
}

/** The least int can be written only so: its digits alone are too large. */
function negated(node: Extract<ASTNode, { op: '-_' }>, state: Lowering): Expression {
  const of = node.args
  if (of.op === 'value' && typeof of.args === 'bigint') return int(node, -of.args)
  if (of.op === 'value' && typeof of.args === 'number') return { op: 'double', value: -of.args }
  return { op: 'negate', of: lower(of, state) }
}

/** Of a chain of the same operator, so that a long one is not deep. */
function operands(node: Binary, op: '&&' | '||', state: Lowering): readonly Expression[] {
  const found: Expression[] = []
  let left: ASTNode = node
  while (left.op === op) {
    found.push(lower(left.args[1], state))
    left = left.args[0]
  }
  return [lower(left, state), ...found.reverse()]
}

function readValue(node: ASTNode, state: Lowering): Expression {
  const resolved = resolve(node, state.variables)
  switch (resolved.type) {
    case 'list':
      throw refusal(
        node,
        'is a list',
        'use .exists(x, …), .all(x, …), size(…), has(…), or a text with `in`',
      )
    case 'pairs':
      throw refusal(
        node,
        'has only the keys that an expression names',
        `read one by ${node.input.slice(node.range.start, node.range.end)}["key"], or ask "key" in it`,
      )
    case 'element':
      return elementValue(node, resolved)
    case 'now':
      return { op: 'now' }
    case 'read':
      return noted(resolved.read, state)
  }
}

function elementValue(
  node: ASTNode,
  { variable, at }: Extract<Resolved, { type: 'element' }>,
): Expression {
  if (variable.list === 'finalizers') return { op: 'finalizer', of: at }
  throw refusal(
    node,
    'is an owner reference',
    `read a field of it, such as ${variable.name}.kind or ${variable.name}.name`,
  )
}

function noted<R extends Read>(read: R, { fields, labels, annotations }: Lowering): R {
  if (read.op === 'field') fields.add(read.path)
  if (read.op === 'label') labels.add(read.key)
  if (read.op === 'annotation') annotations.add(read.key)
  return read
}

function call(node: Extract<ASTNode, { op: 'call' }>, state: Lowering): Expression {
  const [name, args] = node.args
  const [of] = args
  if (of !== undefined && args.length === 1) {
    if (name === 'has') return presence(of, state)
    if (name === 'size') return { op: 'size', of: listOrValue(of, state) }
    if (isValueType(name)) return conversion(node, { type: name, of }, state)
  }
  if (name === 'matches') throw noPatterns(node)
  throw refusal(node, 'cannot be called so', FUNCTIONS)
}

function isValueType(name: string): name is ValueType {
  return VALUE_TYPES.some((type) => type === name)
}

function presence(of: ASTNode, state: Lowering): Expression {
  if (of.op !== '.')
    throw refusal(
      of,
      'cannot be in has()',
      'it takes names with dots; for a key with other characters write "key" in object.metadata.labels',
    )
  const resolved = resolve(of, state.variables)
  if (resolved.type === 'list') return { op: 'has', of: { op: 'list', list: resolved.list } }
  if (resolved.type === 'read') return { op: 'has', of: noted(resolved.read, state) }
  readValue(of, state)
  throw refusal(of, 'cannot be in has()', 'it takes a field of an object or of an owner reference')
}

/** What is written out is converted once, here, so that a wrong text is refused at once. */
function conversion(
  node: ASTNode,
  { type, of }: { readonly type: ValueType; readonly of: ASTNode },
  state: Lowering,
): Expression {
  const lowered = lower(of, state)
  if (lowered.op !== 'string') return { op: 'to', type, of: lowered }
  const value = converted(type, lowered.value)
  if (typeof value !== 'object') return { op: 'to', type, of: lowered }
  if (isFailure(value))
    throw refusal(node, `has a wrong value, since ${value.text}`, EXAMPLES[type])
  return { op: value.type, ms: value.ms }
}

const EXAMPLES: Readonly<Record<ValueType, string>> = {
  int: 'a whole number is 42, without quotes',
  double: 'a double is 1.5, without quotes',
  bool: 'a bool is true or false, without quotes',
  timestamp: 'a time is as in timestamp("2026-01-31T12:00:00Z")',
  duration: 'a duration is as in duration("36h"), duration("1h30m") or duration("500ms")',
}

function listOrValue(node: ASTNode, state: Lowering): Expression | List {
  if (!isPath(node)) return lower(node, state)
  const resolved = resolve(node, state.variables)
  return resolved.type === 'list' ? { op: 'list', list: resolved.list } : readValue(node, state)
}

function methodCall(node: Extract<ASTNode, { op: 'rcall' }>, state: Lowering): Expression {
  const [name, of, args] = node.args
  const [first, second] = args
  if (isMacro(name) && first !== undefined && second !== undefined && args.length === 2)
    return macro(node, { op: name, of, variable: first, holds: second }, state)
  if (isSearch(name) && first !== undefined && args.length === 1)
    return { op: name, left: lower(of, state), right: lower(first, state) }
  if (name === 'size' && args.length === 0) return { op: 'size', of: listOrValue(of, state) }
  if (name === 'lowerAscii' && args.length === 0) return { op: name, of: lower(of, state) }
  if (name === 'matches') throw noPatterns(node)
  throw refusal(node, 'cannot be called so', FUNCTIONS)
}

function noPatterns(node: ASTNode): Error {
  return refusal(
    node,
    'has a regular expression, which can take unbounded time',
    'use startsWith, endsWith or contains, joined by && and ||',
  )
}

function isMacro(name: string): name is Macro {
  return name === 'exists' || name === 'all' || name === 'exists_one'
}

function isSearch(name: string): name is Search {
  return name === 'startsWith' || name === 'endsWith' || name === 'contains'
}

function macro(
  node: ASTNode,
  parts: { readonly op: Macro; of: ASTNode; variable: ASTNode; holds: ASTNode },
  state: Lowering,
): Expression {
  const list = listOf(parts.of, state)
  if (parts.variable.op !== 'id')
    throw refusal(
      parts.variable,
      'is no name',
      `write ${parts.op}(x, …) with a name for each element`,
    )
  const name = parts.variable.args
  if (name === 'object' || name === 'now' || state.variables.some((each) => each.name === name))
    throw refusal(parts.variable, 'has a meaning already', 'give the elements another name')
  if (state.variables.length >= MACROS_BOUND)
    throw refusal(node, 'is nested too deeply', `at most ${MACROS_BOUND} macros are possible`)
  const variables = [...state.variables, { name, list }]
  return { op: parts.op, list, holds: lower(parts.holds, { ...state, variables }) }
}

function listOf(node: ASTNode, state: Lowering): ListName {
  const resolved = isPath(node) ? resolve(node, state.variables) : undefined
  if (resolved?.type === 'list') return resolved.list
  throw refusal(
    node,
    'has no elements to look at',
    'the lists are object.metadata.ownerReferences and object.metadata.finalizers',
  )
}

function membership(node: Binary, state: Lowering): Expression {
  const [item, list] = node.args
  if (list.op === 'list') return { op: 'in', item: lower(item, state), list: values(list) }
  const resolved = isPath(list) ? resolve(list, state.variables) : undefined
  if (resolved?.type === 'pairs') {
    if (item.op !== 'value' || typeof item.args !== 'string')
      throw refusal(item, 'is not written out', 'the key of a label or an annotation has to be')
    return { op: 'has', of: noted({ op: resolved.of, key: item.args }, state) }
  }
  if (resolved?.type === 'list' && resolved.list === 'finalizers')
    return { op: 'in', item: lower(item, state), list: { op: 'list', list: resolved.list } }
  throw refusal(
    list,
    'cannot be to the right of `in`',
    'there can be a list such as ["a", "b"], and the labels, annotations or finalizers of the object',
  )
}

function values(node: Extract<ASTNode, { op: 'list' }>): List {
  if (node.args.length > VALUES_BOUND)
    throw refusal(node, 'is too long', `a list has at most ${VALUES_BOUND} elements`)
  return { op: 'values', values: node.args.map(element) }
}

function element(node: ASTNode): Literal {
  if (node.op === 'value') return literal(node)
  if (node.op === '-_' && node.args.op === 'value') {
    const { args } = node.args
    if (typeof args === 'bigint') return int(node, -args)
    if (typeof args === 'number') return { op: 'double', value: -args }
  }
  throw refusal(node, 'is not written out', 'elements of a list are texts, numbers, true or false')
}
