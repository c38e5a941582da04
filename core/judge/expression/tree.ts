/**
 * An expression of a rule as a tree: all that may be in one, and its limits.
 *
 * What must stay true: the tree is JSON, and is in the event of its rule, so a case is never
 * removed and never gets another meaning; `SHAPES` (read-tree.ts) has each case. Each read names
 * what it reads, so a rule can say what has to be projected.
 *
 * Not here: how CEL is read (adapters/cel), what a tree evaluates to (../expression.ts).
 */

/** A list that an object has, and how many of its elements an expression looks at. */
export type ListName = 'owners' | 'finalizers'
export const LIST_BOUND: Readonly<Record<ListName, number>> = { owners: 64, finalizers: 256 }
/** A value with more characters (UTF-16) is an error. */
export const TEXT_BOUND = 4_096
/** Searching, ordering or copying a text costs as many steps as evaluating this many nodes. */
export const TEXT_STEPS = 64
/** Elements of a list that is written out. */
export const VALUES_BOUND = 256
/** `exists` in `all`: two. */
export const MACROS_BOUND = 2
export const DEPTH_BOUND = 40
export const STEPS_BOUND = 100_000
/** Characters of a tree as JSON. */
export const TREE_BOUND = 65_536

export const METADATA_NAMES = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
] as const
export type MetadataName = (typeof METADATA_NAMES)[number]

export const OWNER_NAMES = ['kind', 'name', 'uid', 'apiVersion', 'controller'] as const
export type OwnerName = (typeof OWNER_NAMES)[number]

export const VALUE_TYPES = ['int', 'double', 'bool', 'timestamp', 'duration'] as const
/** What a text can be converted to. */
export type ValueType = (typeof VALUE_TYPES)[number]

export type Literal =
  | { readonly op: 'string'; readonly value: string }
  /** Decimal, 64 bits. */
  | { readonly op: 'int'; readonly value: string }
  | { readonly op: 'double'; readonly value: number }
  | { readonly op: 'bool'; readonly value: boolean }
  | { readonly op: 'timestamp'; readonly ms: number }
  | { readonly op: 'duration'; readonly ms: number }

export interface MetadataRead {
  readonly op: 'metadata'
  readonly name: MetadataName
}

/** A value that an object may lack: then reading it is an error. */
export type Read =
  | MetadataRead
  | { readonly op: 'label'; readonly key: string }
  | { readonly op: 'annotation'; readonly key: string }
  /** A declared field, such as `spec.nodeName`. */
  | { readonly op: 'field'; readonly path: string }
  /** Of the element of a macro over owners: 0 is the outermost macro. */
  | { readonly op: 'owner'; readonly of: number; readonly name: OwnerName }

export type List =
  | { readonly op: 'list'; readonly list: ListName }
  | { readonly op: 'values'; readonly values: readonly Literal[] }

export type Expression =
  | Literal
  | Read
  | { readonly op: 'now' }
  /** The element of a macro over finalizers: 0 is the outermost macro. */
  | { readonly op: 'finalizer'; readonly of: number }
  /** Of a list: whether it has an element. */
  | { readonly op: 'has'; readonly of: Read | List }
  | { readonly op: 'size'; readonly of: Expression | List }
  | { readonly op: 'not'; readonly of: Expression }
  | { readonly op: 'negate'; readonly of: Expression }
  | { readonly op: 'lowerAscii'; readonly of: Expression }
  | { readonly op: 'to'; readonly type: ValueType; readonly of: Expression }
  | { readonly op: Logic; readonly of: readonly Expression[] }
  | {
      readonly op: Comparison | Sum | Search
      readonly left: Expression
      readonly right: Expression
    }
  | { readonly op: 'in'; readonly item: Expression; readonly list: List }
  | {
      readonly op: 'choose'
      readonly when: Expression
      readonly yes: Expression
      readonly no: Expression
    }
  | { readonly op: Macro; readonly list: ListName; readonly holds: Expression }

export type Logic = 'and' | 'or'
export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='
export type Sum = '+' | '-'
export type Search = 'startsWith' | 'endsWith' | 'contains'
export type Macro = 'exists' | 'all' | 'exists_one'

/** Steps of the costliest object: a product over nested macros of the bounds of their lists. */
export function costOf(tree: Expression | List): number {
  switch (tree.op) {
    case 'exists':
    case 'all':
    case 'exists_one':
      return 1 + LIST_BOUND[tree.list] * (1 + costOf(tree.holds))
    case 'in':
      return 1 + costOf(tree.item) + lengthOf(tree.list)
    case 'and':
    case 'or':
      return tree.of.reduce((sum, each) => sum + costOf(each), 1)
    case 'choose':
      return 1 + costOf(tree.when) + costOf(tree.yes) + costOf(tree.no)
    case '==':
    case '!=':
      return 1 + costOf(tree.left) + costOf(tree.right)
    case '<':
    case '<=':
    case '>':
    case '>=':
    case '+':
    case '-':
    case 'startsWith':
    case 'endsWith':
    case 'contains':
      return TEXT_STEPS + costOf(tree.left) + costOf(tree.right)
    case 'size':
    case 'lowerAscii':
    case 'to':
      return TEXT_STEPS + costOf(tree.of)
    case 'not':
    case 'negate':
    case 'has':
      return 1 + costOf(tree.of)
    default:
      return 1
  }
}

function lengthOf(list: List): number {
  return list.op === 'values' ? list.values.length : LIST_BOUND[list.list]
}
