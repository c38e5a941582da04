/**
 * What a node waits for: kinds that are not served, not in sync, or have to be relisted before it
 * can be judged.
 *
 * What must stay true: a node that waits is judged again when the kind changes (work.ts), and waits
 * only for kinds that it references.
 */
import type { GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { isSameReferences } from '../model/object.ts'
import { kindOfReference } from '../model/reference.ts'
import { CLUSTER_POLICY_KIND, POLICY_KIND } from '../model/rule/policy-content.ts'
import type { Step } from './outcome.ts'

/** Means all kinds: an object that waits for it is judged again when any kind gets in sync. */
export const ANY_KIND: GroupKind = { group: '', kind: '' }

/** A node that left, or names other kinds now, waits for none but those it still names. */
export function stopWaiting(step: Step, before: ObjectMeta, after: ObjectMeta | null): void {
  if (after === null) return stopAll(step, before)
  if (isSameReferences(before.ownerReferences, after.ownerReferences)) return
  const kept = new Set([after, ...after.ownerReferences.map(kindOfReference)].map(waitedAs))
  for (const kind of before.ownerReferences.map(kindOfReference)) {
    if (!kept.has(waitedAs(kind))) stop(step, kind, before.uid)
  }
}

function stopAll(step: Step, object: ObjectMeta): void {
  const { uid, ownerReferences } = object
  stop(step, ANY_KIND, uid)
  // For a list of the objects that rules are of.
  if (step.graph.clusterRules !== undefined) {
    for (const kind of [POLICY_KIND, CLUSTER_POLICY_KIND]) stop(step, kind, uid)
  }
  // As an owner it may have waited for a relist of those.
  for (const kind of step.graph.kind(object)?.blockers ?? []) stop(step, kind, uid)
  stop(step, object, uid)
  for (const reference of ownerReferences) stop(step, kindOfReference(reference), uid)
}

function stop({ graph }: Step, kind: GroupKind, uid: Uid): void {
  if (graph.isWaiting(kind, uid)) graph.setWaiting(kind, uid, false)
}

export function waitFor({ graph }: Step, kind: GroupKind, uid: Uid): void {
  if (!graph.isWaiting(kind, uid)) graph.setWaiting(kind, uid, true)
}

/** Kinds that are equal in lower case are waited for as one. */
function waitedAs({ group, kind }: GroupKind): string {
  return `${group}/${kind.toLowerCase()}`
}
