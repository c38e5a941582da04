/**
 * What the watcher compiled of a CleanupPolicy or a ClusterCleanupPolicy.
 *
 * What must stay true: the fold reads no specification. A rule is here only if all of it may be
 * carried out; else `problem` says why not, and the object has no rule.
 *
 * Not here: reading a specification (ports/rule), which of these rules are in force
 * (core/observe/policy-object.ts).
 */
import type { GroupKind } from './group-kind.ts'
import type { Rule } from './rule.ts'

/** The kinds whose objects are policies: of one namespace, and of a whole cluster. */
export const POLICY_KIND: GroupKind = { group: 'kinfold.dev', kind: 'CleanupPolicy' }
export const CLUSTER_POLICY_KIND: GroupKind = { group: 'kinfold.dev', kind: 'ClusterCleanupPolicy' }

/** Its value is the digest of the rule that is to be carried out. */
export const ENFORCE_ANNOTATION = 'kinfold.dev/enforce'

export function isPolicyKind({ group, kind }: GroupKind): boolean {
  return (
    group === POLICY_KIND.group && (kind === POLICY_KIND.kind || kind === CLUSTER_POLICY_KIND.kind)
  )
}

export interface PolicyContent {
  /** Named `NAMESPACE/NAME`, of a ClusterCleanupPolicy `*\/NAME`. Null where it was refused. */
  readonly rule: Rule | null
  /** One sentence: why it was refused. Empty for not. */
  readonly problem: string
  /**
   * `system:serviceaccount:NAMESPACE:NAME`, with whose rights its objects are deleted. Empty: with
   * those of the reaper.
   */
  readonly account: string
}
