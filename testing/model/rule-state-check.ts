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
import type { EnforcedRule, Rule } from '../../core/model/rule/rule.ts'
import { ruleDigest, rulesOfKind } from '../../core/model/rule/rule.ts'
import type { Directives, RuleOwner, RuleRun } from '../../core/model/state.ts'
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

export function checkRun({ due, heldAt, because, heldIn }: RuleRun): string[] {
  const complaints: string[] = []
  if (heldAt > 0 !== (because !== '')) complaints.push('held, and not for a reason')
  const names = new Set(heldIn.map(({ namespace }) => namespace))
  if (names.size !== heldIn.length) complaints.push('a namespace is held twice')
  if (due.length > 60) complaints.push('it counts more than an hour')
  return complaints
}

export function checkRuleOwner({ deleted, replaced, deletedAt }: RuleOwner): string[] {
  return deletedAt <= 0 || replaced > deleted ? ['more was made again than was deleted'] : []
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
  const { rules } = facts.policy.policy
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
  const isRead = (object.projected?.reads ?? '') === reads
  const isLeft = verdict === null || verdict.type === 'keep' || verdict.type === 'deleting'
  if (!isRead || !(isLeft || verdict.rule !== null)) return complaints
  const now = facts.state?.now ?? 0
  for (const rule of rules) {
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
  }
  return { ...about, labels, annotations, field: (path) => fields[path] }
}

function recordOf(pairs: readonly Pair[]): Readonly<Record<string, string>> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, value]))
}
