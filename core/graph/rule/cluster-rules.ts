/**
 * The rules of one cluster: those of the policy, and those that its own objects have.
 *
 * What must stay true: the list is the same object as long as neither changes, since what is known
 * of a list of rules is remembered by it (model/rule/rule.ts).
 *
 * Not here: which objects have a rule in force (observe/policy-object.ts).
 */

import { invariant } from '../../model/invariant.ts'
import type { Uid } from '../../model/object.ts'
import { digestOf, type EnforcedRule, type Rule } from '../../model/rule/rule.ts'
import type {
  ClusterRules,
  Directives,
  KnownPolicies,
  KnownPolicy,
  PolicyState,
} from '../../model/state.ts'

/** Put together once for each state of the index. */
export function knownPolicies(
  index: ClusterRules,
  policyRule: (uid: Uid) => KnownPolicy | undefined,
): KnownPolicies {
  const known = ASSEMBLED.get(index)
  if (known !== undefined) return known
  const policies = index.uids.map((uid) => {
    const policy = policyRule(uid)
    invariant(policy !== undefined, 'a policy of the index has no rule')
    return policy
  })
  const assembled = { policies, isOver: index.isOver }
  ASSEMBLED.set(index, assembled)
  return assembled
}

const ASSEMBLED = new WeakMap<ClusterRules, KnownPolicies>()

export function rulesIn(
  { policy: { rules } }: PolicyState,
  own: KnownPolicies | undefined,
): readonly Rule[] {
  return own === undefined ? rules : joined(RULES, own, rules, () => own.policies.map(ruleOf))
}

export function enforcedIn(
  { rules: orders }: Directives,
  own: KnownPolicies | undefined,
): readonly EnforcedRule[] {
  return own === undefined ? orders : joined(ENFORCED, own, orders, () => enforcedOf(own))
}

/** Undefined for a rule of the policy. */
export function policyWith(
  own: KnownPolicies | undefined,
  { name }: Pick<Rule, 'name'>,
): KnownPolicy | undefined {
  if (own === undefined || !name.includes('/')) return undefined
  return own.policies.find(({ rule }) => rule.name === name)
}

type Joined<T> = WeakMap<KnownPolicies, WeakMap<readonly T[], readonly T[]>>

const RULES: Joined<Rule> = new WeakMap()
const ENFORCED: Joined<EnforcedRule> = new WeakMap()

function joined<T>(
  known: Joined<T>,
  own: KnownPolicies,
  others: readonly T[],
  make: () => readonly T[],
): readonly T[] {
  const ofOwn = known.get(own) ?? new WeakMap<readonly T[], readonly T[]>()
  known.set(own, ofOwn)
  const all = ofOwn.get(others) ?? [...others, ...make()]
  ofOwn.set(others, all)
  return all
}

function ruleOf({ rule }: KnownPolicy): Rule {
  return rule
}

function enforcedOf({ policies }: KnownPolicies): readonly EnforcedRule[] {
  return policies
    .filter(({ enforcedAt }) => enforcedAt > 0)
    .map(({ rule, enforcedAt }) => {
      const order = { name: rule.name, digest: digestOf(rule), at: enforcedAt }
      return { ...order, who: '', why: 'annotated' }
    })
}
