/**
 * What a node waits for: kinds that are not served, not in sync, or have to be relisted before it can be judged.
 *
 * What must stay true: a node that waits is judged again when the kind changes (work.ts), and waits only for kinds that it references.
 */
import type { ClusterId, GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { kindOfReference } from '../model/reference.ts'
import { kindOf } from './graph.ts'
import { ANY_KIND, waitKey } from './key.ts'
import type { Step } from './outcome.ts'

/** A node that left, or names other kinds now, waits for none but those it still names. */
export function stopWaiting(
  step: Step,
  cluster: ClusterId,
  before: ObjectMeta,
  after: ObjectMeta | null,
): void {
  const keysOf = (kinds: readonly GroupKind[]): string[] =>
    kinds.map((kind) => waitKey(cluster, kind, before.uid))
  const named = (object: ObjectMeta): string[] =>
    keysOf([object, ...object.ownerReferences.map(kindOfReference)])
  const kept = new Set(after === null ? [] : named(after))
  // As an owner it may have waited for a relist of those.
  const blockers = after === null ? (kindOf(step.graph, cluster, before)?.blockers ?? []) : []
  const gone = after === null ? keysOf([ANY_KIND, ...blockers]) : []
  for (const key of [...gone, ...named(before)]) {
    if (!kept.has(key) && step.graph.get(key) !== undefined) step.graph.remove(key)
  }
}

export function waitFor(step: Step, cluster: ClusterId, kind: GroupKind, uid: Uid): void {
  const key = waitKey(cluster, kind, uid)
  if (step.graph.get(key) === undefined) step.graph.put(key, { type: 'Wait' })
}
