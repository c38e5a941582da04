/**
 * Reads the tree of an expression from an event of the log.
 *
 * What must stay true: a tree that this gives back has the shape of its type and is within all
 * limits, so evaluating it ends within `STEPS_BOUND` steps. Anything else is undefined: it was
 * written by another version, or not by Kinfold, and its rule cannot be evaluated.
 */
import type { Expression, ListName } from './tree.ts'
import {
  costOf,
  DEPTH_BOUND,
  LIST_BOUND,
  MACROS_BOUND,
  METADATA_NAMES,
  OWNER_NAMES,
  STEPS_BOUND,
  TEXT_BOUND,
  TREE_BOUND,
  VALUE_TYPES,
  VALUES_BOUND,
} from './tree.ts'
import { FIRST_TIMESTAMP_MS, isInt, LAST_TIMESTAMP_MS, LONGEST_DURATION_MS } from './value.ts'

/** Where a node is: the lists of the macros around it, the outermost first, and how deep. */
interface Scope {
  readonly macros: readonly ListName[]
  readonly depth: number
}

type Check = (value: unknown, scope: Scope) => boolean

export function readTree(json: string): Expression | undefined {
  if (json.length > TREE_BOUND) return undefined
  const tree = parsed(json)
  if (!isExpression(tree, { macros: [], depth: 0 })) return undefined
  return costOf(tree) <= STEPS_BOUND ? tree : undefined
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}

const expression: Check = (value, scope) => isExpression(value, scope)
const text: Check = (value) => typeof value === 'string' && value.length <= TEXT_BOUND
const ONE: Readonly<Record<string, Check>> = { of: expression }
const TWO: Readonly<Record<string, Check>> = { left: expression, right: expression }
const MANY: Readonly<Record<string, Check>> = {
  of: (value, scope) =>
    Array.isArray(value) && value.length >= 2 && value.every((each) => isExpression(each, scope)),
}
const MACRO: Readonly<Record<string, Check>> = { list: isListName, holds: expression }

/** What each case has beside `op`, and nothing else. */
const SHAPES: Readonly<Record<Expression['op'], Readonly<Record<string, Check>>>> = {
  string: { value: text },
  int: { value: isInt },
  double: { value: Number.isFinite },
  bool: { value: (value) => typeof value === 'boolean' },
  timestamp: { ms: between(FIRST_TIMESTAMP_MS, LAST_TIMESTAMP_MS) },
  duration: { ms: between(-LONGEST_DURATION_MS, LONGEST_DURATION_MS) },
  metadata: { name: oneOf(METADATA_NAMES) },
  label: { key: text },
  annotation: { key: text },
  field: { path: text },
  owner: { of: elementOf('owners'), name: oneOf(OWNER_NAMES) },
  now: {},
  finalizer: { of: elementOf('finalizers') },
  has: { of: (value, scope) => isList(value, ['list']) || isNode(value, scope, isRead) },
  size: { of: (value, scope) => isList(value, ['list']) || isExpression(value, scope) },
  not: ONE,
  negate: ONE,
  lowerAscii: ONE,
  to: { type: oneOf(VALUE_TYPES), of: expression },
  and: MANY,
  or: MANY,
  '==': TWO,
  '!=': TWO,
  '<': TWO,
  '<=': TWO,
  '>': TWO,
  '>=': TWO,
  '+': TWO,
  '-': TWO,
  startsWith: TWO,
  endsWith: TWO,
  contains: TWO,
  in: { item: expression, list: (value) => isList(value, ['list', 'values']) },
  choose: { when: expression, yes: expression, no: expression },
  exists: MACRO,
  all: MACRO,
  exists_one: MACRO,
}

const MACROS: ReadonlySet<string> = new Set(['exists', 'all', 'exists_one'])
const READS: ReadonlySet<string> = new Set(['metadata', 'label', 'annotation', 'field', 'owner'])
const LITERALS: ReadonlySet<string> = new Set(['string', 'int', 'double', 'bool'])

function isExpression(value: unknown, scope: Scope): value is Expression {
  return isNode(value, scope, () => true)
}

/** `isCase`: of the cases that may be here. */
function isNode(value: unknown, scope: Scope, isCase: (op: string) => boolean): boolean {
  if (scope.depth >= DEPTH_BOUND || !isRecord(value)) return false
  const { op, ...parts } = value
  if (typeof op !== 'string' || !isCase(op) || !Object.hasOwn(SHAPES, op)) return false
  const shape = SHAPES[op as Expression['op']]
  const inner = scopeIn(op, parts['list'], scope)
  if (inner.macros.length > MACROS_BOUND) return false
  const names = Object.keys(shape)
  return (
    Object.keys(parts).length === names.length &&
    names.every((name) => Object.hasOwn(parts, name) && shape[name]?.(parts[name], inner) === true)
  )
}

function scopeIn(op: string, list: unknown, { macros, depth }: Scope): Scope {
  const isMacro = MACROS.has(op) && isListName(list)
  return { macros: isMacro ? [...macros, list] : macros, depth: depth + 1 }
}

function isRead(op: string): boolean {
  return READS.has(op)
}

function isList(value: unknown, ops: readonly string[]): boolean {
  if (!isRecord(value) || Object.keys(value).length !== 2) return false
  const { op, list, values } = value
  if (typeof op !== 'string' || !ops.includes(op)) return false
  return op === 'list' ? isListName(list) : isLiterals(values)
}

function isLiterals(values: unknown): boolean {
  if (!Array.isArray(values) || values.length > VALUES_BOUND) return false
  return values.every((each) => isNode(each, { macros: [], depth: 0 }, (op) => LITERALS.has(op)))
}

function isListName(value: unknown): value is ListName {
  return typeof value === 'string' && Object.hasOwn(LIST_BOUND, value)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function oneOf(names: readonly string[]): Check {
  return (value) => typeof value === 'string' && names.includes(value)
}

function between(first: number, last: number): Check {
  return (value) => Number.isSafeInteger(value) && Number(value) >= first && Number(value) <= last
}

function elementOf(list: ListName): Check {
  return (value, { macros }) => typeof value === 'number' && macros[value] === list
}
