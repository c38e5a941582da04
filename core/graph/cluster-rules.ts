/**
 * The rules of one cluster: those of the policy, and those that its own objects have.
 *
 * What must stay true: the list is the same object as long as neither changes, since what is known
 * of a list of rules is remembered by it (model/rule/rule.ts).
 *
 * Not here: which objects have a rule in force (observe/policy-object.ts).
 */
import { digestOf, type EnforcedRule, type Rule } from '../model/rule/rule.ts'
import type { ClusterRules, Directives, KnownPolicy, PolicyState } from '../model/state.ts'

export function rulesIn(
  { policy: { rules } }: PolicyState,
  own: ClusterRules | undefined,
): readonly Rule[] {
  return own === undefined ? rules : joined(RULES, own, rules, () => own.policies.map(ruleOf))
}

export function enforcedIn(
  { rules: orders }: Directives,
  own: ClusterRules | undefined,
): readonly EnforcedRule[] {
  return own === undefined ? orders : joined(ENFORCED, own, orders, () => enforcedOf(own))
}

/** Undefined for a rule of the policy. */
export function policyWith(
  own: ClusterRules | undefined,
  { name }: Pick<Rule, 'name'>,
): KnownPolicy | undefined {
  if (own === undefined || !name.includes('/')) return undefined
  return own.policies.find(({ rule }) => rule.name === name)
}

type Joined<T> = WeakMap<ClusterRules, WeakMap<readonly T[], readonly T[]>>

const RULES: Joined<Rule> = new WeakMap()
const ENFORCED: Joined<EnforcedRule> = new WeakMap()

function joined<T>(
  known: Joined<T>,
  own: ClusterRules,
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

function enforcedOf({ policies }: ClusterRules): readonly EnforcedRule[] {
  return policies
    .filter(({ enforcedAt }) => enforcedAt > 0)
    .map(({ rule, enforcedAt }) => {
      const order = { name: rule.name, digest: digestOf(rule), at: enforcedAt }
      return { ...order, who: '', why: 'annotated' }
    })
}
