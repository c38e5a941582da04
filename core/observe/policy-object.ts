/**
 * Objects that have a rule, CleanupPolicies and ClusterCleanupPolicies: which of these rules are in
 * force.
 *
 * What must stay true: one that left, is being deleted or was refused has no rule and leaves
 * nothing behind; so nothing is deleted by it.
 *
 * Not here: the caps (model/rule/policy-in-force.ts), what holds a rule whose object is untrusted
 * (admit/policy-hold.ts).
 */
import { enqueue, judgeRuled, judgeWaiters, laneNamed } from '../graph/agenda.ts'
import type { Step } from '../graph/outcome.ts'
import type { ObjectMeta } from '../model/object.ts'
import {
  CLUSTER_POLICY_KIND,
  ENFORCE_ANNOTATION,
  isPolicyKind,
  POLICY_KIND,
} from '../model/rule/policy-content.ts'
import { ageOf, inForce, ruleOfPolicy } from '../model/rule/policy-in-force.ts'
import { digestOf, type Rule } from '../model/rule/rule.ts'
import type { KnownPolicies, KnownPolicy } from '../model/state.ts'

const NONE: KnownPolicies = { policies: [], isOver: false }

/** An object is seen, or leaves (null). */
export function notePolicy(step: Step, before: ObjectMeta | null, after: ObjectMeta | null): void {
  const object = after ?? before
  if (object === null || !isPolicyKind(object)) return
  const known = step.graph.clusterRules ?? NONE
  const former = known.policies.find(({ uid }) => uid === object.uid)
  const found = after === null ? null : policyOf(step, known, after)
  const isFormer = found === 'former'
  const next = isFormer ? null : found
  if (former === undefined && next === null) {
    // Should the one that has its name leave, it is looked for.
    if (isFormer && !known.isOver) {
      step.graph.setClusterRules({ ...known, isOver: true }, step.at.position)
    }
    return
  }
  if (former !== undefined && next !== null && isSame(former, next)) return
  const others = known.policies.filter(
    ({ uid, rule }) => uid !== object.uid && rule.name !== next?.rule.name,
  )
  const policies = inForce(next === null ? others : [...others, next])
  const isBeyond = next !== null && policies.length <= others.length
  const isNamesake = known.policies.length - others.length > (former === undefined ? 0 : 1)
  const isOver = known.isOver || isBeyond || isFormer || isNamesake
  const isRoom = policies.length < known.policies.length && isOver
  step.graph.setClusterRules({ policies, isOver: isOver && !isRoom }, step.at.position)
  if (isRoom) findOthers(step, object.namespace)
  for (const each of known.policies) {
    const now = policies.find(({ rule }) => rule.name === each.rule.name)
    if (now === undefined) leave(step, each)
    else if (now !== each) judgeAbout(step, each.rule, now.rule)
  }
  const isNew = known.policies.every(({ rule }) => rule.name !== next?.rule.name)
  if (next !== null && isNew && policies.includes(next)) judgeAbout(step, next.rule)
}

/** It is known again as it is: what waits for that is judged. */
export function trustPolicy(step: Step, object: ObjectMeta): void {
  if (isPolicyKind(object)) judgeWaiters(step, object)
}

/**
 * Null where it has no rule that may be in force. `former`: a younger one of its name is known, as
 * when it was made again before its deletion is reported, or when a restore brings it back.
 */
function policyOf(
  step: Step,
  { policies }: KnownPolicies,
  object: ObjectMeta,
): KnownPolicy | 'former' | null {
  const { uid, namespace, name, version, annotations } = object
  const read = ruleOfPolicy(object)
  if (read === null) return null
  const digest = digestOf(read)
  const former = policies.find((each) => each.uid === uid)
  const isAsBefore = former !== undefined && digestOf(former.rule) === digest
  // The same rule is the same object: what is known of a list of rules is remembered by it.
  const rule = isAsBefore ? former.rule : read
  const isMeant = annotations.some(
    ({ key, value }) => key === ENFORCE_ANNOTATION && value === digest,
  )
  const since = isAsBefore && former.enforcedAt > 0 ? former.enforcedAt : step.at.timestamp
  const made = ageOf(object)
  const isFormer = policies.some(
    (each) => each.uid !== uid && each.rule.name === rule.name && each.createdAt > made,
  )
  if (isFormer) return 'former'
  const about = { uid, namespace, name, version, createdAt: made }
  const account = object.projected?.policy?.account ?? ''
  return { ...about, rule, account, enforcedAt: isMeant ? Math.max(1, since) : 0 }
}

function isSame(a: KnownPolicy, b: KnownPolicy): boolean {
  const isAlike = a.rule === b.rule && a.account === b.account && a.enforcedAt === b.enforcedAt
  return isAlike && a.version === b.version
}

/** There is room for one that was beyond the caps. */
function findOthers(step: Step, namespace: string): void {
  for (const kind of [POLICY_KIND, CLUSTER_POLICY_KIND]) {
    enqueue(step, { namespace: laneNamed(namespace), todo: { type: 'policies', kind } })
  }
}

function leave(step: Step, { rule, namespace }: KnownPolicy): void {
  const { graph } = step
  if (graph.ruleRun(rule.name) !== undefined) graph.setRuleRun(rule.name, null)
  const todo = { type: 'rule-end', rule: rule.name } as const
  enqueue(step, { namespace: laneNamed(namespace), todo })
  // What waits for a list of its kind need not do so any more.
  judgeWaiters(step, namespace === '' ? CLUSTER_POLICY_KIND : POLICY_KIND)
  judgeAbout(step, rule)
}

function judgeAbout(step: Step, ...rules: readonly Rule[]): void {
  for (const rule of rules) judgeRuled(step, rule)
}
