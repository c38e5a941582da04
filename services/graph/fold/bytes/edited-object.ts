/**
 * A sighting of an object with many owner references, or the result of a command about one, of
 * which the log has what changed: made whole again from the state.
 *
 * What must stay true: it follows from the state and the record alone. It is taken for what the
 * watcher saw only where the state has the very content that the edits are of, and what comes of
 * them has the hash that the watcher named. Otherwise it says as much as it surely says: the object
 * is there, at that version, with content of that hash. The fold then distrusts what it has, judges
 * nothing by it, and asks for a relist in full; the object is never taken for absent, nor with
 * other owners.
 *
 * A result that cannot be made whole keeps its `list`: it is counted, and is no sighting.
 *
 * Not here: which edits there are (services/watcher/publish/long-list.ts), which results
 * (services/reaper/decide/result.ts).
 */
import { factsOf } from '../../../../core/graph/facts.ts'
import type { StateReader } from '../../../../core/graph/graph.ts'
import type { CommandSettled, ObjectUpdated, Touched } from '../../../../core/model/event.ts'
import {
  type ObjectMeta,
  type OwnerReference,
  projectionHash,
} from '../../../../core/model/object.ts'
import { edited } from '../../../../ports/record/list-edit.ts'
import type { ObjectEdited } from '../../../../ports/record/service-record.ts'

export function wholeOf(state: StateReader, event: ObjectEdited): ObjectUpdated | Touched {
  const { cluster, epoch, sync, hash } = event
  const object = objectOf(state, event)
  if (object !== undefined) return { type: 'ObjectUpdated', cluster, epoch, sync, object }
  const { group, kind, uid, resourceVersion } = event.object
  const entries = [{ uid, hash, resourceVersion }]
  return { type: 'Touched', group, kind, cluster, epoch, sync, entries }
}

function objectOf(
  state: StateReader,
  { cluster, object, base, hash, edits }: ObjectEdited,
): ObjectMeta | undefined {
  const node = factsOf(state, cluster).node(object.uid)
  if (node?.hash !== base) return undefined
  const ownerReferences = edited(node.object.ownerReferences, edits)
  if (ownerReferences === undefined) return undefined
  const whole = { ...object, ownerReferences }
  return projectionHash(whole) === hash ? whole : undefined
}

/**
 * The list is the state's, or the state's without what the command dropped: the watch may be ahead
 * of the result.
 */
export function wholeResult(state: StateReader, event: CommandSettled): CommandSettled {
  const { cluster, object, list } = event
  if (object === null || list === null) return event
  const known = factsOf(state, cluster).node(object.uid)?.object.ownerReferences
  if (known === undefined) return event
  for (const ownerReferences of [known, without(known, list.dropped)]) {
    const whole = { ...object, ownerReferences }
    if (projectionHash(whole) === list.hash) return { ...event, object: whole, list: null }
  }
  return event
}

function without(
  references: readonly OwnerReference[],
  indexes: readonly number[],
): readonly OwnerReference[] {
  const left = new Set(indexes)
  return references.filter((_, index) => !left.has(index))
}
