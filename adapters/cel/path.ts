/**
 * Which value a path of CEL names, such as `object.metadata.labels["app"]` or `o.kind`.
 *
 * What must stay true: a path names a value of the object's metadata, a declared field, or nothing.
 * Keys and names are users' text: they are never properties of an object of this language.
 */
import type { ASTNode } from '@marcbachmann/cel-js'
import type { ListName, MetadataName, OwnerName, Read } from '../../core/judge/expression/tree.ts'
import { METADATA_NAMES, OWNER_NAMES } from '../../core/judge/expression/tree.ts'
import { refusal } from './refusal.ts'

/** Of a macro. */
export interface Variable {
  readonly name: string
  readonly list: ListName
}

export type Resolved =
  | { readonly type: 'read'; readonly read: Read }
  | { readonly type: 'list'; readonly list: ListName }
  | { readonly type: 'pairs'; readonly of: 'label' | 'annotation' }
  | { readonly type: 'element'; readonly variable: Variable; readonly at: number }
  | { readonly type: 'now' }

interface Path {
  readonly node: ASTNode
  readonly root: string
  readonly steps: readonly Step[]
}

/** `isPlain`: after a dot, not in brackets. */
interface Step {
  readonly name: string
  readonly isPlain: boolean
}

/** Where a declared field begins: with more names after it, or without. */
const PARTS: ReadonlySet<string> = new Set(['spec', 'status', 'data'])
const WHOLE: ReadonlySet<string> = new Set(['type', 'reason'])
const ROOTS = [...PARTS, ...WHOLE]
/** No API has fields of these names, and libraries stumble over them. */
const NO_FIELDS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

export function isPath(node: ASTNode): boolean {
  return node.op === 'id' || node.op === '.' || node.op === '[]'
}

export function resolve(node: ASTNode, variables: readonly Variable[]): Resolved {
  const path = pathOf(node)
  const at = variables.findIndex(({ name }) => name === path.root)
  const variable = variables[at]
  if (variable !== undefined) return ofElement(path, variable, at)
  if (path.root === 'object') return ofObject(path)
  if (path.root === 'now' && path.steps.length === 0) return { type: 'now' }
  if (path.root === 'now') throw refusal(node, 'does not exist', 'now is a time, and has no fields')
  throw refusal(
    node,
    'is unknown',
    'the variables are object and now, and within a macro the name of its element; a text is in quotes',
  )
}

function pathOf(node: ASTNode): Path {
  const steps: Step[] = []
  let at = node
  while (at.op === '.' || at.op === '[]') {
    steps.unshift(at.op === '.' ? { name: at.args[1], isPlain: true } : bracketed(at.args[1]))
    at = at.args[0]
  }
  if (at.op === 'id') return { node, root: at.args, steps }
  throw refusal(at, 'has no fields', 'fields are read of object, such as object.spec.nodeName')
}

function bracketed(index: ASTNode): Step {
  if (index.op === 'value' && typeof index.args === 'string')
    return { name: index.args, isPlain: false }
  throw refusal(
    index,
    'cannot be in brackets',
    index.op === 'value'
      ? 'of a list, look at elements by exists(x, …) or all(x, …)'
      : 'the key of a label or an annotation has to be written out, in quotes',
  )
}

function ofElement({ node, steps }: Path, variable: Variable, at: number): Resolved {
  const [step] = steps
  if (step === undefined) return { type: 'element', variable, at }
  const name = OWNER_NAMES.find((each): each is OwnerName => each === step.name)
  if (variable.list === 'owners' && name !== undefined && step.isPlain && steps.length === 1)
    return { type: 'read', read: { op: 'owner', of: at, name } }
  throw refusal(
    node,
    'does not exist',
    variable.list === 'owners'
      ? `an owner reference has ${OWNER_NAMES.join(', ')}`
      : 'a finalizer is a text, and has no fields',
  )
}

function ofObject(path: Path): Resolved {
  const { node, steps } = path
  const [first] = steps
  if (first === undefined)
    throw refusal(node, 'is the whole object', 'read a field of it, such as object.metadata.name')
  if (first.name === 'metadata' && first.isPlain) return ofMetadata(path)
  if (WHOLE.has(first.name) ? steps.length > 1 : steps.length === 1 || !PARTS.has(first.name))
    throw refusal(
      node,
      'is no field that can be projected',
      `fields begin with object.metadata, or with object and one of ${ROOTS.join(', ')}`,
    )
  const odd = steps.find(({ name, isPlain }) => !isPlain || NO_FIELDS.has(name))
  if (odd !== undefined)
    throw refusal(
      node,
      `has ${JSON.stringify(odd.name)}`,
      'a field is read by plain names and dots',
    )
  return { type: 'read', read: { op: 'field', path: steps.map(({ name }) => name).join('.') } }
}

function ofMetadata({ node, steps }: Path): Resolved {
  const [, second, third] = steps
  const name = METADATA_NAMES.find((each): each is MetadataName => each === second?.name)
  if (steps.length === 2 && second?.isPlain === true) {
    if (name !== undefined) return { type: 'read', read: { op: 'metadata', name } }
    if (second.name === 'ownerReferences') return { type: 'list', list: 'owners' }
    if (second.name === 'finalizers') return { type: 'list', list: 'finalizers' }
  }
  const of = second?.isPlain === true ? pairsOf(second.name) : undefined
  if (of !== undefined && steps.length === 2) return { type: 'pairs', of }
  if (of !== undefined && third !== undefined && steps.length === 3)
    return { type: 'read', read: { op: of, key: third.name } }
  throw refusal(
    node,
    'does not exist',
    `object.metadata has ${METADATA_NAMES.join(', ')}, labels, annotations, ownerReferences and ` +
      'finalizers',
  )
}

function pairsOf(name: string): 'label' | 'annotation' | undefined {
  if (name === 'labels') return 'label'
  return name === 'annotations' ? 'annotation' : undefined
}
