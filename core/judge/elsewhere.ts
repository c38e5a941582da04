/**
 * What is known of the owner that an object names in another cluster, as a rule that imports such
 * owners sees it.
 *
 * What must stay true: unknown is never absent. An owner is gone only by a deletion that a live
 * watch observed, in the epoch of its cluster that is followed now; and nothing is deleted while
 * that cluster is not. Of a cluster that an order forgets none is gone. Consent is asked before any
 * fact, and an owner of which nothing is known is said to be as one under another name: who writes
 * annotations learns nothing of what is not shared.
 *
 * Not here: what is published (observe/elsewhere.ts), which owners are named
 * (graph/rule/elsewhere-index.ts), the live GET before a deletion (issue/issue.ts).
 */
import type { ClusterFacts } from '../graph/facts.ts'
import { elsewhereClusterWait, elsewhereWait, namersWait } from '../graph/rule/elsewhere-index.ts'
import { ELSEWHERE_FRESH_MS, MOST_NAMERS } from '../model/constant.ts'
import type { ClusterId, GroupKind, ObjectMeta } from '../model/object.ts'
import { isSamePlace } from '../model/object.ts'
import {
  OWNER_ANNOTATION,
  type OwnerElsewhereName,
  ownerNamedBy,
  type RuleElsewhere,
} from '../model/rule/elsewhere.ts'
import type { Rule } from '../model/rule/rule.ts'
import type { ElsewhereFact, ForgottenCluster } from '../model/state.ts'
import { timeText } from '../model/text.ts'
import { isLike } from './like.ts'
import { textOf } from './term.ts'

/**
 * - `unnamed`: the object names none, or has owners here, which come first.
 * - `refused`: one that is not imported, or not exported to this cluster.
 * - `forgotten`: one in a cluster that an order forgets.
 * - `unknown`: whether it is there.
 * - `there`, `orphaned`: it is; it was deleted, and the object was to stay.
 * - `deleted`: since that log time.
 */
export type ElsewhereStatus =
  | { readonly type: NotGone; readonly because: string }
  | DeletedElsewhere

type NotGone = 'unnamed' | 'refused' | 'forgotten' | 'unknown' | 'there' | 'orphaned'

export interface DeletedElsewhere {
  readonly type: 'deleted'
  readonly because: string
  /** Log time since when this is so, and its cluster is followed. */
  readonly since: number
  readonly owner: OwnerElsewhereName
  readonly fact: ElsewhereFact
}

/** Null by a rule that does not ask. */
export function elsewhereOf(
  facts: ClusterFacts,
  { elsewhere }: Pick<Rule, 'elsewhere'>,
  object: ObjectMeta,
): ElsewhereStatus | null {
  if (elsewhere === null) return null
  const owner = ownerNamedBy(object.annotations)
  const unnamed = owner === null ? unnamedBecause(object) : ownedBecause(object)
  if (owner === null || unnamed !== '') return { type: 'unnamed', because: unnamed }
  const refused = refusedBecause(elsewhere, owner, facts.cluster)
  if (refused !== '') return { type: 'refused', because: refused }
  const forgotten = forgottenOf(facts, owner.cluster)
  if (forgotten !== undefined) return { type: 'forgotten', because: forgottenText(forgotten) }
  if (facts.elsewhereNamers(object.namespace)?.isOver === true) return overOf(object)
  return statusOf(facts, owner)
}

/** The order that forgets that cluster. */
export function forgottenOf(
  { cluster, directives }: ClusterFacts,
  owner: ClusterId,
): ForgottenCluster | undefined {
  return directives.forgotten.find((each) => each.cluster === cluster && each.owner === owner)
}

function forgottenText({ owner, who, why, at }: ForgottenCluster): string {
  return `it names an owner in cluster ${owner}, which ${who} had forgotten at ${timeText(at)} (${why}), and so it stays`
}

function unnamedBecause({ annotations }: ObjectMeta): string {
  const written = textOf(annotations, OWNER_ANNOTATION)
  if (written === undefined) return `it has no annotation ${OWNER_ANNOTATION}`
  return `annotation ${OWNER_ANNOTATION} is not CLUSTER/GROUP/KIND/NAMESPACE/NAME/UID`
}

function ownedBecause({ ownerReferences }: ObjectMeta): string {
  return ownerReferences.length === 0 ? '' : 'it has owners in its own cluster, which decide'
}

/** By the rule alone. `cluster`: of the object. Empty: both sides consent. */
function refusedBecause(
  { cluster, kinds, namespaces, exports }: RuleElsewhere,
  owner: OwnerElsewhereName,
  dependents: string,
): string {
  const isImported = owner.cluster === cluster && isAmong(owner, { kinds, namespaces })
  if (!isImported) return 'it names an owner of a cluster, kind or namespace that is not imported'
  const isExported = exports.some(({ to, ...each }) => {
    return to.includes(dependents) && isAmong(owner, each)
  })
  return isExported ? '' : 'it names an owner that is not exported to this cluster'
}

/** Both sides consent. `dependents`: the cluster of the objects that name it. */
export function isShared(
  rule: RuleElsewhere,
  owner: OwnerElsewhereName,
  dependents: string,
): boolean {
  return refusedBecause(rule, owner, dependents) === ''
}

function isAmong(
  { group, kind, namespace }: OwnerElsewhereName,
  { kinds, namespaces }: Pick<RuleElsewhere, 'kinds' | 'namespaces'>,
): boolean {
  const isKind = kinds.some((each) => each.kind === kind && each.group === group)
  return isKind && namespaces.some((pattern) => isLike(namespace, pattern))
}

function overOf({ namespace }: ObjectMeta): ElsewhereStatus {
  const because = `more than ${MOST_NAMERS} objects of namespace ${namespace} name owners in other clusters`
  return { type: 'unknown', because }
}

/** One answer, whatever the reason: it says nothing of what is there under another name. */
const UNKNOWN: ElsewhereStatus = {
  type: 'unknown',
  because: 'whether that owner is there is not known',
}

function statusOf(facts: ClusterFacts, owner: OwnerElsewhereName): ElsewhereStatus {
  const fact = facts.elsewhere(owner.cluster, owner.uid)?.fact ?? null
  const of = facts.elsewhereCluster(owner.cluster)
  if (fact === null || of === undefined || !isSamePlace(fact.place, owner)) return UNKNOWN
  if (fact.ownerEpoch !== of.ownerEpoch) return UNKNOWN
  switch (fact.state) {
    case 'unknown':
      return UNKNOWN
    case 'there':
      return { type: 'there', because: 'that owner is there' }
    case 'orphaned':
      return {
        type: 'orphaned',
        because: 'that owner was deleted, and its dependents were to stay',
      }
    case 'deleted': {
      const because = `that owner was deleted (known since ${timeText(fact.since)})`
      const since = Math.max(fact.since, of.since)
      return { type: 'deleted', because, since, owner, fact }
    }
  }
}

/** By a rule that does not ask it is. */
export function isGoneElsewhere(facts: ClusterFacts, rule: Rule, object: ObjectMeta): boolean {
  return rule.elsewhere === null || elsewhereOf(facts, rule, object)?.type === 'deleted'
}

/** Log time from which a hold counts; 0 where the rule does not ask. */
export function goneElsewhereSince(facts: ClusterFacts, rule: Rule, object: ObjectMeta): number {
  const status = elsewhereOf(facts, rule, object)
  return status?.type === 'deleted' ? status.since : 0
}

/** Of an object that is due; empty by a rule that does not ask. */
export function goneElsewhereText({ elsewhere }: Rule, { annotations }: ObjectMeta): string {
  const owner = elsewhere === null ? null : ownerNamedBy(annotations)
  if (owner === null) return ''
  return `, and its owner ${owner.kind} "${owner.name}" in cluster ${owner.cluster} was deleted`
}

/** Why nothing of that cluster is sure now; empty where it is. */
export function unsureOfElsewhere(facts: ClusterFacts, { name, elsewhere }: Rule): string {
  if (elsewhere === null) return ''
  const { cluster } = elsewhere
  const because = unfollowedBecause(facts, cluster)
  return because === '' ? '' : `rule ${name} asks for owners in cluster ${cluster}, ${because}`
}

/** Said of that cluster; empty where it is followed. */
export function unfollowedBecause(facts: ClusterFacts, owner: ClusterId): string {
  const { state } = facts
  if (state === undefined) return ''
  const of = facts.elsewhereCluster(owner)
  if (of === undefined) return 'which was never followed'
  if (of.state === 'cut-off') return `which is cut off: ${of.because}`
  if (of.epoch !== state.epoch) return 'which is not followed yet: a watcher has just begun'
  if (state.now - of.heardAt > ELSEWHERE_FRESH_MS) {
    return `of which nothing was heard since ${timeText(of.heardAt)}`
  }
  if (of.position > facts.unreadableAt('')) return ''
  return 'of which nothing was heard since a record was lost'
}

/** What may change what is said of it: its owner, that one's cluster, its namespace. */
export function waitsForElsewhere({ annotations, namespace }: ObjectMeta): readonly GroupKind[] {
  const owner = ownerNamedBy(annotations)
  if (owner === null) return []
  const { cluster, uid } = owner
  return [elsewhereWait(cluster, uid), elsewhereClusterWait(cluster), namersWait(namespace)]
}
