/**
 * Rules about objects that name another one which is not there: a pod whose Node is gone.
 *
 * What must stay true: unknown is never absent. None is absent before its kind was listed in this
 * epoch of the cluster, and nothing is deleted while the watch of the kind is not reliable.
 *
 * Not here: what is known by name (graph/rule/name-index.ts), the live GET before a deletion
 * (issue/issue.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { isSynced, kindStatus } from '../graph/kind-status.ts'
import type { Coordinates, ObjectMeta } from '../model/object.ts'
import type { Rule } from '../model/rule/rule.ts'
import { caughtUpAt } from './keep.ts'
import { textOf } from './term.ts'

/** Null where the rule asks for none, or the object names none. */
export function namedBy({ absent }: Rule, object: ObjectMeta): Coordinates | null {
  const name = absent && textOf(object.projected?.fields ?? [], absent.field)
  if (absent === null || name === null || name === undefined || name === '') return null
  const { group, kind } = absent
  return { group, kind, namespace: '', name }
}

/** By a rule that asks for none it is. */
export function isGone(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  if (rule.absent === null) return true
  const named = namedBy(rule, object)
  const { state } = facts
  if (named === null || state === undefined) return false
  return isSynced(facts.kind(named), state) && facts.named(named) === 0
}

/** Why it is not known whether it is; empty where it is known. */
export function unsureOfAbsent(facts: ClusterFacts, { name, absent }: Rule): string {
  const { state } = facts
  if (absent === null || state === undefined) return ''
  const known = facts.kind(absent)
  const isLive = kindStatus(known, absent, state).type === 'live'
  const isRead = (known?.syncedAt ?? -1n) > facts.unreadableAt('')
  if (isLive && isRead && state.now >= caughtUpAt(state)) return ''
  return `rule ${name} is about what names no ${absent.kind}, and ${absent.kind} is not in sync`
}
