/**
 * The nouns that objects and rules share.
 *
 * What must stay true: it imports nothing, so that an object may carry a rule, and a rule name
 * kinds of objects, without a cycle of files.
 *
 * Not here: objects (model/object.ts), rules (rule.ts).
 */

export interface GroupKind {
  /** Empty for the core group. */
  readonly group: string
  readonly kind: string
}

export type PropagationPolicy = 'Background' | 'Foreground' | 'Orphan'
