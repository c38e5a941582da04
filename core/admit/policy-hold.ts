/**
 * What holds a rule whose own object, a CleanupPolicy or a ClusterCleanupPolicy, is untrusted.
 *
 * What must stay true: unknown is never absent, and neither is it present: while it is not known
 * that the object is still there, as it was, its rule deletes nothing and is not forgotten.
 *
 * Not here: which rules are in force (observe/policy-object.ts); that the reaper asks for the
 * object once more (services/reaper).
 */

import type { ClusterFacts } from '../graph/facts.ts'
import { policyWith } from '../graph/rule/cluster-rules.ts'
import type { GroupKind } from '../model/object.ts'
import { annotateCommand } from '../model/rule/annotate.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../model/rule/policy-content.ts'
import { digestOf, type Rule } from '../model/rule/rule.ts'
import type { KnownPolicy } from '../model/state.ts'
import { shellWord } from '../model/text.ts'

/** The kind of the object that a rule is of, while that is untrusted; null for not. */
export function untrustedPolicy(facts: ClusterFacts, rule: Rule): GroupKind | null {
  const policy = policyWith(facts.clusterRules, rule)
  if (policy === undefined) return null
  const kind = kindOf(policy)
  return isTrusted(facts, policy, kind) ? null : kind
}

function isTrusted(facts: ClusterFacts, { uid, namespace }: KnownPolicy, kind: GroupKind): boolean {
  const node = facts.node(uid)
  const seen = facts.seen(kind, uid)
  const known = facts.kind(kind)
  if (node === undefined || node.doubt !== null || seen === undefined) return false
  if (seen.clusterEpoch !== facts.state?.clusterEpoch) return false
  if (known === undefined || known.phase === 'unserved' || known.phase === 'unmonitored')
    return false
  // Records of its home were lost: only what was listed since then is known.
  const unreadableAt = facts.unreadableAt(namespace)
  return unreadableAt < 0n || known.syncedAt > unreadableAt
}

function kindOf({ namespace }: KnownPolicy): GroupKind {
  return namespace === '' ? CLUSTER_POLICY_KIND : POLICY_KIND
}

/** The command by which a person has a rule carried out, as it is. */
export function enforceText(rule: Rule): string {
  if (rule.name.includes('/')) return `"${annotateCommand(rule.name, digestOf(rule))}"`
  return `"kinfold rules enforce ${shellWord(rule.name)} --why …"`
}

/** The same where it is carried out, and something holds all of it. */
export function releaseText(rule: Rule): string {
  if (!rule.name.includes('/')) return `${enforceText(rule)} releases it`
  return 'annotation kinfold.dev/enforce, removed and set again, releases it'
}
