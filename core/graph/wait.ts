/**
 * What a node waits for: kinds that are not served, not in sync, or have to be relisted before it
 * can be judged.
 *
 * What must stay true: a node that waits is judged again when the kind changes (work.ts), and waits
 * only for kinds that it references.
 */
import type { GroupKind, ObjectMeta, Uid } from '../model/object.ts'
import { kindOfReference } from '../model/reference.ts'
import type { Step } from './outcome.ts'

/** Means all kinds: an object that waits for it is judged again when any kind gets in sync. */
export const ANY_KIND: GroupKind = { group: '', kind: '' }

/** A node that left, or names other kinds now, waits for none but those it still names. */
export function stopWaiting({ graph }: Step, before: ObjectMeta, after: ObjectMeta | null): void {
  const named = (object: ObjectMeta): readonly GroupKind[] => [
    object,
    ...object.ownerReferences.map(kindOfReference),
  ]
  const kept = new Set(after === null ? [] : named(after).map(waitedAs))
  // As an owner it may have waited for a relist of those.
  const blockers = after === null ? (graph.kind(before)?.blockers ?? []) : []
  const gone = after === null ? [ANY_KIND, ...blockers] : []
  for (const kind of [...gone, ...named(before)]) {
    if (!kept.has(waitedAs(kind)) && graph.isWaiting(kind, before.uid)) {
      graph.setWaiting(kind, before.uid, false)
    }
  }
}

export function waitFor({ graph }: Step, kind: GroupKind, uid: Uid): void {
  if (!graph.isWaiting(kind, uid)) graph.setWaiting(kind, uid, true)
}

/** Kinds that are equal in lower case are waited for as one. */
function waitedAs({ group, kind }: GroupKind): string {
  return `${group}/${kind.toLowerCase()}`
}
