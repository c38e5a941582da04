/**
 * Evaluates the expression of a rule for one object: whether it holds, or why there is no answer.
 *
 * What must stay true: an error is never true. As in CEL, `||` leaves an error out where another
 * operand is true, `&&` where one is false, and so do `exists` and `all`. The same tree, object and
 * time give the same answer on each machine, and any time until the one that the evaluation says.
 * The work is at most what `costOf` said: a list or a text beyond its bound is an error, and is not
 * looked at.
 *
 * Not here: trees (expression/tree.ts), CEL (adapters/cel), when a rule is evaluated.
 */
import type { ObjectMeta, OwnerReference, Pair } from '../model/object.ts'
import { changesAfter } from './expression/change.ts'
import { converted } from './expression/conversion.ts'
import type {
  Comparison,
  Expression,
  List,
  ListName,
  Literal,
  Macro,
  MetadataRead,
  Read,
  Search,
} from './expression/tree.ts'
import { LIST_BOUND } from './expression/tree.ts'
import type { Value } from './expression/value.ts'
import {
  compared,
  failure,
  isFailure,
  isIn,
  lengthOf,
  lowerAscii,
  negated,
  summed,
  text,
  timestamp,
} from './expression/value.ts'

export interface ExpressionSubject {
  readonly object: Pick<
    ObjectMeta,
    | 'name'
    | 'namespace'
    | 'uid'
    | 'createdAt'
    | 'deletedAt'
    | 'finalizers'
    | 'ownerReferences'
    | 'labels'
    | 'annotations'
  >
  /** By path, such as `spec.nodeName`: the text that was projected. */
  readonly fields: ReadonlyMap<string, string>
}

export interface Evaluation {
  readonly answer: boolean | { readonly error: string }
  /** Log time at which there may be another one, of the same object; null for never. */
  readonly until: number | null
}

interface Scope {
  readonly subject: ExpressionSubject
  readonly now: number
  /** Milliseconds after which a comparison that was made has another result. */
  readonly change: { afterMs: number }
  /** Of the macros around, the outermost first. */
  readonly elements: readonly (OwnerReference | string)[]
}

/** `now`: log time in milliseconds since 1970. */
export function evaluate(
  tree: Expression,
  subject: ExpressionSubject,
  now: number,
): Evaluation['answer'] {
  return evaluation(tree, subject, now).answer
}

/**
 * What was compared decided which operands were evaluated at all, so the answer lasts as long as
 * each of those comparisons.
 */
export function evaluation(tree: Expression, subject: ExpressionSubject, now: number): Evaluation {
  const change = { afterMs: Number.POSITIVE_INFINITY }
  const value = valueIn(tree, { subject, now, change, elements: [] })
  const until = change.afterMs === Number.POSITIVE_INFINITY ? null : now + change.afterMs
  return { answer: answerOf(value), until }
}

function answerOf(value: Value): Evaluation['answer'] {
  if (typeof value === 'boolean') return value
  return { error: isFailure(value) ? value.text : 'the expression is neither true nor false' }
}

function valueIn(tree: Expression, scope: Scope): Value {
  switch (tree.op) {
    case 'string':
    case 'int':
    case 'double':
    case 'bool':
    case 'timestamp':
    case 'duration':
      return literal(tree)
    case 'now':
      return timestamp(scope.now, 1)
    case 'metadata':
    case 'label':
    case 'annotation':
    case 'field':
    case 'owner':
      return read(tree, scope) ?? failure(`${nameOf(tree)} is absent`)
    case 'finalizer':
      return elementText(scope.elements[tree.of])
    case 'has':
      return has(tree.of, scope)
    case 'size':
      return sizeOf(tree.of, scope)
    case 'not':
      return not(valueIn(tree.of, scope))
    case 'negate':
      return negated(valueIn(tree.of, scope))
    case 'lowerAscii':
      return ofText(valueIn(tree.of, scope), lowerAscii)
    case 'to':
      return converted(tree.type, valueIn(tree.of, scope))
    case 'and':
      return decided(false, tree.of, (each) => valueIn(each, scope))
    case 'or':
      return decided(true, tree.of, (each) => valueIn(each, scope))
    case '==':
    case '!=':
    case '<':
    case '<=':
    case '>':
    case '>=':
      return comparedNow(tree.op, valueIn(tree.left, scope), valueIn(tree.right, scope), scope)
    case '+':
    case '-':
      return summed(tree.op, valueIn(tree.left, scope), valueIn(tree.right, scope))
    case 'startsWith':
    case 'endsWith':
    case 'contains':
      return searched(tree.op, valueIn(tree.left, scope), valueIn(tree.right, scope))
    case 'in':
      return isElement(valueIn(tree.item, scope), tree.list, scope)
    case 'choose':
      return chosen(tree, scope)
    case 'exists':
    case 'all':
    case 'exists_one':
      return overList(tree, scope)
  }
}

function comparedNow(op: Comparison, left: Value, right: Value, { change }: Scope): Value {
  change.afterMs = Math.min(change.afterMs, changesAfter(op, left, right) ?? change.afterMs)
  return compared(op, left, right)
}

function literal(tree: Literal): Value {
  switch (tree.op) {
    case 'int':
      return BigInt(tree.value)
    case 'timestamp':
    case 'duration':
      return { type: tree.op, ms: tree.ms, slope: 0 }
    case 'string':
    case 'double':
    case 'bool':
      return tree.value
  }
}

/** Undefined when the object has none. */
function read(tree: Read, { subject, elements }: Scope): Value | undefined {
  const { object, fields } = subject
  switch (tree.op) {
    case 'label':
      return bounded(tree, valueAt(object.labels, tree.key))
    case 'annotation':
      return bounded(tree, valueAt(object.annotations, tree.key))
    case 'field':
      return bounded(tree, fields.get(tree.path))
    case 'metadata':
      return metadata(tree, object)
    case 'owner': {
      const owner = elements[tree.of]
      if (typeof owner !== 'object') return undefined
      if (tree.name === 'controller') return owner.controller ?? undefined
      return bounded(tree, owner[tree.name])
    }
  }
}

function metadata(tree: MetadataRead, object: ExpressionSubject['object']): Value | undefined {
  switch (tree.name) {
    case 'name':
    case 'uid':
      return bounded(tree, object[tree.name])
    case 'namespace':
      return object.namespace === '' ? undefined : bounded(tree, object.namespace)
    case 'creationTimestamp':
      return object.createdAt === null ? undefined : timestamp(object.createdAt)
    case 'deletionTimestamp':
      return object.deletedAt === null ? undefined : timestamp(object.deletedAt)
  }
}

function valueAt(pairs: readonly Pair[], key: string): string | undefined {
  return pairs.find((pair) => pair.key === key)?.value
}

function bounded(tree: Read, value: string | undefined): Value | undefined {
  return value === undefined ? undefined : text(value, nameOf(tree))
}

function elementText(element: OwnerReference | string | undefined): Value {
  return typeof element === 'string' ? text(element, 'a finalizer') : failure('no finalizer')
}

function nameOf(tree: Read): string {
  switch (tree.op) {
    case 'label':
    case 'annotation':
      return `the ${tree.op} ${JSON.stringify(tree.key)}`
    case 'field':
      return `object.${tree.path}`
    case 'metadata':
      return `object.metadata.${tree.name}`
    case 'owner':
      return `${tree.name} of an owner reference`
  }
}

function has(of: Read | List, scope: Scope): boolean {
  if (of.op === 'list') return elementsOf(of.list, scope).length > 0
  return of.op === 'values' || read(of, scope) !== undefined
}

function sizeOf(of: Expression | List, scope: Scope): Value {
  if (of.op === 'list') return BigInt(elementsOf(of.list, scope).length)
  if (of.op === 'values') return BigInt(of.values.length)
  return ofText(valueIn(of, scope), lengthOf)
}

function ofText(value: Value, make: (value: string) => Value): Value {
  if (typeof value === 'string') return make(value)
  return isFailure(value) ? value : failure('this value is no text')
}

function not(value: Value): Value {
  if (typeof value === 'boolean') return !value
  return isFailure(value) ? value : failure('this value is neither true nor false')
}

/** The first operand that is `decisive` decides; otherwise the first error, if there is one. */
function decided<T>(
  decisive: boolean,
  operands: readonly T[],
  valueOfOperand: (operand: T) => Value,
): Value {
  let error: Value | undefined
  for (const operand of operands) {
    const value = valueOfOperand(operand)
    if (value === decisive) return decisive
    if (value !== !decisive) error ??= not(value)
  }
  return error ?? !decisive
}

function searched(op: Search, whole: Value, part: Value): Value {
  return ofText(whole, (inWhole) =>
    ofText(part, (inPart) => {
      if (op === 'startsWith') return inWhole.startsWith(inPart)
      return op === 'endsWith' ? inWhole.endsWith(inPart) : isIn(inPart, inWhole)
    }),
  )
}

function chosen(tree: Extract<Expression, { op: 'choose' }>, scope: Scope): Value {
  const condition = not(valueIn(tree.when, scope))
  if (typeof condition !== 'boolean') return condition
  return valueIn(condition ? tree.no : tree.yes, scope)
}

function isElement(item: Value, list: List, scope: Scope): Value {
  if (isFailure(item)) return item
  if (list.op === 'values')
    return list.values.some((each) => compared('==', item, literal(each)) === true)
  const elements = elementsOf(list.list, scope)
  return tooMany(list.list, elements) ?? elements.some((each) => each === item)
}

function elementsOf(list: ListName, { subject }: Scope): readonly (OwnerReference | string)[] {
  return list === 'owners' ? subject.object.ownerReferences : subject.object.finalizers
}

function tooMany(list: ListName, elements: readonly unknown[]): Value | undefined {
  if (elements.length <= LIST_BOUND[list]) return undefined
  const name = list === 'owners' ? 'owner references' : list
  return failure(`the object has more than ${LIST_BOUND[list]} ${name}`)
}

function overList(tree: Extract<Expression, { op: Macro }>, scope: Scope): Value {
  const elements = elementsOf(tree.list, scope)
  const holds = (element: OwnerReference | string): Value =>
    valueIn(tree.holds, { ...scope, elements: [...scope.elements, element] })
  const refused = tooMany(tree.list, elements)
  if (refused !== undefined) return refused
  if (tree.op !== 'exists_one') return decided(tree.op === 'exists', elements, holds)
  const values = elements.map((element) => not(holds(element)))
  const error = values.find((value) => typeof value !== 'boolean')
  return error ?? values.filter((value) => value === false).length === 1
}
