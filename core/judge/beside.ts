/**
 * Rules about objects that name another one: which is not there (a pod whose Node is gone), or
 * which is as the rule says (a pod on a Node that is out of service).
 *
 * What must stay true: unknown is never absent, and says nothing of what an object is like. None is
 * absent before its kind was listed in this epoch of the cluster, and one counts only as it was
 * read with all that rules read of it. Nothing is deleted while the watch of the kind is not
 * reliable.
 *
 * Not here: what is known by name (graph/rule/name-index.ts), the live GET before a deletion
 * (issue/issue.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { isSynced, kindStatus } from '../graph/kind-status.ts'
import type { Node } from '../model/node.ts'
import type { Coordinates, ObjectMeta } from '../model/object.ts'
import type { Rule, RuleBeside } from '../model/rule/rule.ts'
import { besideOf, readsWithin } from '../model/rule/rule.ts'
import { caughtUpAt } from './keep.ts'
import { areTrue, textOf } from './term.ts'

/** Null where the rule asks for none, or the object names none. */
export function namedBy(rule: Rule, object: ObjectMeta): Coordinates | null {
  const beside = besideOf(rule)
  const name = beside && textOf(object.projected?.fields ?? [], beside.field)
  if (beside === null || name === null || name === undefined || name === '') return null
  const { group, kind } = beside
  return { group, kind, namespace: '', name }
}

/** By a rule that asks for none it is. */
export function isGone(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  if (rule.absent === null) return true
  const named = namedBy(rule, object)
  const { state } = facts
  if (named === null || state === undefined) return false
  return isSynced(facts.kind(named), state) && facts.named(named).length === 0
}

/** By a rule that asks for nothing of the kind it is. */
export function isBeside(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  const { beside } = rule
  const { state } = facts
  if (beside === null) return true
  const other = otherOf(facts, rule, object)
  if (other === undefined || state === undefined || other.doubt !== null) return false
  if (!isSynced(facts.kind(beside), state)) return false
  return isAsSaid(beside, other.object, readsWithin(facts.rules, beside)?.digest ?? '')
}

/** `digest`: of what rules read of its kind. */
export function isAsSaid({ when }: RuleBeside, { projected }: ObjectMeta, digest: string): boolean {
  return projected !== null && projected.reads === digest && areTrue(when, projected.fields)
}

/** The only one of that name: of two one has left, and it is not known which. */
export function otherOf(facts: ClusterFacts, rule: Rule, object: ObjectMeta): Node | undefined {
  const named = namedBy(rule, object)
  const [uid, ...more] = named === null ? [] : facts.named(named)
  return uid === undefined || more.length > 0 ? undefined : facts.node(uid)
}

/** Why it is not known whether it is; empty where it is known. */
export function unsureOfBeside(facts: ClusterFacts, rule: Rule): string {
  const { state } = facts
  const beside = besideOf(rule)
  if (beside === null || state === undefined) return ''
  const known = facts.kind(beside)
  const isLive = kindStatus(known, beside, state).type === 'live'
  const isRead = (known?.syncedAt ?? -1n) > facts.unreadableAt('')
  if (isLive && isRead && state.now >= caughtUpAt(state)) return ''
  const what = rule.absent === null ? 'what is on some' : 'what names no'
  return `rule ${rule.name} is about ${what} ${beside.kind}, and ${beside.kind} is not in sync`
}
