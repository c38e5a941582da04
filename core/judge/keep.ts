/**
 * Rules that keep the newest objects of each group: the place of an object, whether it is beyond
 * what stays, and whether that can be known.
 *
 * What must stay true: unknown is never absent, and here an object that is gone and counted would
 * have another one deleted. So nothing is beyond while the watch of the kind is not in sync, a list
 * of it is under way, or what a list missed has not left yet.
 *
 * Not here: which objects are counted (admit/rule-keep.ts), the boundary
 * (graph/rule/keep-index.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { kindStatus } from '../graph/kind-status.ts'
import { keptOrder } from '../graph/row.ts'
import { isOver } from '../graph/rule/keep-index.ts'
import { CATCH_UP_MS } from '../model/constant.ts'
import type { GroupKind, ObjectMeta } from '../model/object.ts'
import type { KeepBy, Rule, RuleKeep } from '../model/rule/rule.ts'
import { digestOf } from '../model/rule/rule.ts'
import type { ClusterState, KeepGroup, KeptRow } from '../model/state.ts'
import { areTrue, textOf } from './term.ts'

/** Null where the rule keeps none, and for an object that is in no group, or of unknown age. */
export function rowOf(rule: Rule, object: ObjectMeta): KeptRow | null {
  const { keep } = rule
  const name = keep && nameOf(keep.by, object)
  if (keep === null || name === null || name === undefined || object.createdAt === null) return null
  const isFirst = keep.first.length > 0 && areTrue(keep.first, object.projected?.fields ?? [])
  const order = keptOrder(isFirst, object.createdAt, object.uid)
  const group = `${object.kind}.${object.group}/${name}`
  return { rule: digestOf(rule), group, order, newest: keep.newest }
}

/**
 * Undefined for one that is in no group. Within a namespace: a label that is written in another
 * one, or an owner that is named there, has no object deleted here.
 */
function nameOf(by: KeepBy, object: ObjectMeta): string | undefined {
  if (by.type === 'cluster') return ''
  const within = groupIn(by, object)
  return within === undefined ? undefined : `${object.namespace}/${within}`
}

function groupIn(by: KeepBy, { ownerReferences, labels }: ObjectMeta): string | undefined {
  if (by.type === 'owner') return ownerReferences.find(({ controller }) => controller === true)?.uid
  return by.type === 'label' ? textOf(labels, by.key) : ''
}

/** By a rule that keeps none everything is. */
export function isBeyond(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  if (rule.keep === null) return true
  const row = rowOf(rule, object)
  const group = row === null ? undefined : facts.keepGroup(row.rule, row.group)
  return row !== null && group !== undefined && row.order <= group.upTo
}

/** Why it is not known whether it is; empty where it is known. */
export function unsureOfCount(facts: ClusterFacts, rule: Rule, object: ObjectMeta): string {
  if (rule.keep === null) return ''
  if (!isInSync(facts, object)) {
    return `rule ${rule.name} keeps the newest ${rule.keep.newest}, and ${object.kind} is not in sync`
  }
  return isMovingBack(facts, rule, object) === null
    ? ''
    : `rule ${rule.name} counts again what it keeps`
}

/** The group, while more of it is marked than is beyond what stays; null for any other. */
export function isMovingBack(
  facts: ClusterFacts,
  rule: Rule,
  object: ObjectMeta,
): { readonly row: KeptRow; readonly group: KeepGroup } | null {
  const row = rowOf(rule, object)
  const group = row === null ? undefined : facts.keepGroup(row.rule, row.group)
  return row !== null && group !== undefined && isOver(group) ? { row, group } : null
}

/** A watcher first has to publish what happened while none ran. */
export function caughtUpAt({ startedTime }: ClusterState): number {
  return startedTime + CATCH_UP_MS
}

/** So many works on whole kinds are searched for one that removes what a list missed. */
const MOST_WORKS = 64

function isInSync(facts: ClusterFacts, kind: GroupKind): boolean {
  const { state } = facts
  const known = facts.kind(kind)
  if (state === undefined || known === undefined || known.openSync !== 0) return false
  if (kindStatus(known, kind, state).type !== 'live' || state.now < caughtUpAt(state)) return false
  const { lostAt = -1n } = facts.keeping ?? {}
  if (known.syncedAt <= lostAt) return false
  const { head, tail } = facts.lane('') ?? { head: 0, tail: 0 }
  if (tail - head > MOST_WORKS) return false
  for (let number = head; number < tail; number++) {
    const todo = facts.work('', number)?.todo
    if (todo?.type !== 'missing' && todo?.type !== 'missed') continue
    if (todo.kind.kind === kind.kind && todo.kind.group === kind.group) return false
  }
  return true
}

/** What a rule keeps, for people. */
export function keepText({ newest, by }: RuleKeep): string {
  const of = { owner: 'each controller', namespace: 'each namespace', cluster: 'the cluster' }
  const ofLabel = by.type === 'label' && `each value of label ${by.key} in a namespace`
  const whose = ofLabel || of[by.type as keyof typeof of]
  return `the newest ${newest} of ${whose}`
}
