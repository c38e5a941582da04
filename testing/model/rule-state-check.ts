/**
 * What must hold of all that a partition's state has of rules whenever its agenda is empty.
 *
 * What must stay true: when an object is due is taken from the oracle (rule-oracle.ts), so a timer
 * that the core forgets is missed here.
 *
 * Not here: the other relations of keys (state-check.ts).
 */
import type { ClusterFacts } from '../../core/graph/facts.ts'
import type { StateReader } from '../../core/graph/graph.ts'
import { policyOf } from '../../core/graph/graph.ts'
import { relistsAwaited } from '../../core/judge.ts'
import type { Node } from '../../core/model/node.ts'
import type { ObjectMeta, Pair } from '../../core/model/object.ts'
import { isPolicyKind } from '../../core/model/rule/policy-content.ts'
import type { EnforcedRule, Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest, rulesOfKind, rulesWithin } from '../../core/model/rule/rule.ts'
import type { Directives, RuleOwner, RuleRun } from '../../core/model/state.ts'
import { groupIn } from './oracle.ts'
import type { RuledObject } from './rule-oracle.ts'
import { dueMsOf } from './rule-oracle.ts'

/** An order enforces a rule of the policy, as it is. */
export function checkOrders(graph: StateReader, { rules }: Directives): string[] {
  const { policy } = policyOf(graph)
  return rules
    .filter((order) => !policy.rules.some((rule) => isOf(rule, order)))
    .map(({ name }) => `an order for rule ${name}, which the policy does not have so`)
}

function isOf(rule: Rule, { name, digest }: Pick<EnforcedRule, 'name' | 'digest'>): boolean {
  return rule.name === name && ruleDigest(rule) === digest
}

export function checkRun(facts: ClusterFacts, name: string, run: RuleRun): string[] {
  const { due, heldAt, because, heldIn } = run
  const complaints: string[] = checkLeft(facts, name)
  if (heldAt > 0 !== (because !== '')) complaints.push('held, and not for a reason')
  const names = new Set(heldIn.map(({ namespace }) => namespace))
  if (names.size !== heldIn.length) complaints.push('a namespace is held twice')
  if (due.length > 60) complaints.push('it counts more than an hour')
  return complaints
}

export function checkRuleOwner(
  facts: ClusterFacts,
  name: string,
  { deleted, replaced, deletedAt }: RuleOwner,
): string[] {
  const isTrue = deletedAt > 0 && replaced <= deleted
  return [...checkLeft(facts, name), ...(isTrue ? [] : ['more was made again than was deleted'])]
}

/** The rule of an object that left leaves nothing behind. */
function checkLeft({ rules }: ClusterFacts, name: string): string[] {
  const isThere = !name.includes('/') || rules.some((rule) => rule.name === name)
  return isThere ? [] : [`rule ${name} left`]
}

/** Each is of a node that has that rule, in the order of age; and no name is there twice. */
export function checkClusterRules(facts: ClusterFacts): string[] {
  const { policies = [] } = facts.clusterRules ?? {}
  const complaints: string[] = []
  const names = new Set(policies.map(({ rule }) => rule.name))
  if (names.size !== policies.length) complaints.push('two rules of a name')
  for (const { uid, rule, enforcedAt } of policies) {
    const object = facts.node(uid)?.object
    const read = object?.projected?.policy?.rule ?? null
    const isThere = object?.deletedAt === null && read !== null
    if (!isThere || ruleDigest(read) !== ruleDigest(rule)) {
      complaints.push(`no object has the rule ${rule.name}`)
    }
    const named = object?.annotations.find(({ key }) => key === 'kinfold.dev/enforce')?.value
    if (enforcedAt > 0 !== (named === ruleDigest(rule))) {
      complaints.push(`its annotation says something else of ${rule.name}`)
    }
  }
  return complaints
}

/** A rule of a namespace that is about another one is not in force. */
export function checkPolicyNode(facts: ClusterFacts, { object }: Node): string[] {
  const rule = isPolicyKind(object) ? (object.projected?.policy?.rule ?? null) : null
  const isOwn = object.namespace === '' || rule?.match.namespaces.join() === object.namespace
  if (rule === null || isOwn) return []
  const isKnown = facts.clusterRules?.policies.some(({ uid }) => uid === object.uid) ?? false
  return isKnown ? [`its rule ${rule.name} is about another namespace`] : []
}

/**
 * It is by a rule of the policy; and there is a timer for each time at which a rule says something
 * else. `hasTimerBy`: whether the node has one of that time or before it.
 */
export function checkRuled(
  facts: ClusterFacts,
  node: Node,
  hasTimerBy: (latest: number) => boolean,
): string[] {
  const { verdict, hold, object } = node
  const { rules } = facts
  if (rules.length === 0 && verdict?.rule == null) return []
  const complaints: string[] = []
  if ((verdict?.evidence === 'rule') !== (verdict?.rule != null))
    complaints.push('a verdict by a rule has evidence rule, and only one')
  if (hold?.by === 'rule' && verdict?.rule == null)
    complaints.push('a rule holds it that decided nothing')
  if (relistsAwaited(facts, node)?.length !== 0) return complaints
  if (verdict?.rule != null && !rules.some(({ name }) => name === verdict.rule))
    complaints.push(`its rule ${verdict.rule} is not in the policy`)
  const reads = rulesOfKind(rules, object)?.reads.digest
  const bound = rulesWithin(rules, object.namespace)
  const isRead = (object.projected?.reads ?? '') === reads
  const isLeft = verdict === null || verdict.type === 'keep' || verdict.type === 'deleting'
  if (!isRead || !(isLeft || verdict.rule !== null)) return complaints
  const now = facts.state?.now ?? 0
  for (const rule of bound) {
    const dueMs = (dueMsOf(rule, ruledOf(object)) ?? 0) - rule.warnMs
    if (dueMs <= now) continue
    if (!hasTimerBy(dueMs)) complaints.push(`no timer for rule ${rule.name}`)
  }
  return complaints
}

export function ruledOf({ group, kind, namespace, createdAt, ...rest }: ObjectMeta): RuledObject {
  const { deletedAt, graceSeconds, finalizers } = rest
  const [labels, annotations] = [recordOf(rest.labels), recordOf(rest.annotations)]
  const fields = recordOf(rest.projected?.fields ?? [])
  const deletedMs = deletedAt === null ? null : Math.max(0, deletedAt - (graceSeconds ?? 0) * 1_000)
  const about = {
    ...{ group, kind, namespace, createdMs: createdAt },
    ...{ deletedMs, graceSeconds, hasFinalizers: finalizers.length > 0 },
    ownerKinds: rest.ownerReferences.map(
      ({ apiVersion, kind }) => `${kind}.${groupIn(apiVersion)}`,
    ),
  }
  return { ...about, labels, annotations, field: (path) => fields[path] }
}

function recordOf(pairs: readonly Pair[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
}
