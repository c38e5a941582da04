/**
 * The expression of a rule, from the text that a user wrote to what an event of the log carries.
 *
 * *Guarantees*: an expression that is compiled is of type bool, reads nothing but what it names,
 * and evaluates within a bound that was computed beforehand; its tree depends on no library, so a
 * replay is the same with any version. *Assumes* nothing of the text: it may be a hostile tenant's.
 *
 * Not here: the tree (core/judge/expression/tree.ts), and who may have which field projected.
 */

/** As an event of the log carries it. */
export interface CompiledExpression {
  /** As the user wrote it. */
  readonly source: string
  /** JSON of the tree. */
  readonly tree: string
  /** Paths of the declared fields that it reads, such as `spec.nodeName`; each list is sorted. */
  readonly fields: readonly string[]
  /** Keys of the labels and annotations that it reads. */
  readonly labels: readonly string[]
  readonly annotations: readonly string[]
}

export type Compilation =
  | { readonly type: 'Compiled'; readonly expression: CompiledExpression }
  /** For people: what is wrong, where, and what to do. */
  | { readonly type: 'Refused'; readonly reason: string }

export type CompileExpression = (source: string) => Compilation
