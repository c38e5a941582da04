/**
 * The guard of each change: what a call must carry so that it takes effect only on the object the command was judged for.
 *
 * What must stay true: a DELETE has both preconditions and a policy; a patch tests the uid and every entry it removes, all tests before the first removal, and that the object whose finalizer is removed is still being deleted
 * (I4). The gate has refused commands that lack the fields needed here. A field that the stored entry lacks is missing from the test, too: absent and false differ.
 */
import type { DeleteObject, OrphanDependent, RemoveFinalizer } from '../../core/model/command.ts'
import { invariant } from '../../core/model/invariant.ts'
import type { OwnerReference, ResourceVersion } from '../../core/model/object.ts'
import { timeText } from '../../core/model/time-text.ts'
import { isKnownByDigest } from '../../ports/cap.ts'
import type { DeleteOptions, PatchOperation } from '../../ports/cluster.ts'

/** `resourceVersion` is the command's, or that of a later GET of an unchanged object. */
export function deleteGuard(
  command: DeleteObject,
  resourceVersion: ResourceVersion,
  dryRun: boolean,
): DeleteOptions {
  const { id: auditId, target, propagationPolicy } = command
  return { uid: target.uid, resourceVersion, propagationPolicy, dryRun, auditId }
}

export function patchGuard(command: OrphanDependent | RemoveFinalizer): readonly PatchOperation[] {
  const entries =
    command.type === 'OrphanDependent' ? droppedEntries(command) : finalizerEntry(command)
  return [
    { op: 'test', path: '/metadata/uid', value: command.target.uid },
    ...deletion(command),
    ...entries.map(({ path, value }) => ({ op: 'test', path, value }) as const),
    ...entries.map(({ path }) => ({ op: 'remove', path }) as const),
  ]
}

/** Another server may write its times otherwise. */
function deletion(command: OrphanDependent | RemoveFinalizer): readonly PatchOperation[] {
  if (command.type !== 'RemoveFinalizer' || command.deletedAt === 0) return []
  if (command.target.aggregated) return []
  // A server's own are whole seconds.
  if (command.deletedAt % 1_000 !== 0) return []
  return [{ op: 'test', path: '/metadata/deletionTimestamp', value: timeText(command.deletedAt) }]
}

interface GuardedEntry {
  readonly path: string
  readonly value: unknown
}

/** Descending, so that no removal moves an entry still to be removed. One known by a digest stays: it may not keep the others. */
function droppedEntries(command: OrphanDependent): readonly GuardedEntry[] {
  return [...new Set(command.drop)]
    .sort((a, b) => b - a)
    .flatMap((index) => {
      const reference = command.references[index]
      invariant(reference !== undefined, `${command.id} drops reference ${index}, which it lacks`)
      if (isKnownByDigest(reference)) return []
      return { path: `/metadata/ownerReferences/${index}`, value: storedEntry(reference) }
    })
}

function finalizerEntry(command: RemoveFinalizer): readonly GuardedEntry[] {
  const index = command.finalizers.indexOf(command.finalizer)
  invariant(index >= 0, `${command.id} removes finalizer ${command.finalizer}, which it lacks`)
  return [{ path: `/metadata/finalizers/${index}`, value: command.finalizer }]
}

function storedEntry(reference: OwnerReference): Record<string, string | boolean> {
  const { apiVersion, kind, name, uid, controller, blockOwnerDeletion } = reference
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller === null ? {} : { controller }),
    ...(blockOwnerDeletion === null ? {} : { blockOwnerDeletion }),
  }
}
