/**
 * The guard of each change: what a call must carry so that it takes effect only on the object the
 * command was judged for.
 *
 * What must stay true: a DELETE has both preconditions and a policy, and is sent by the rights of
 * the account that its rule's object names; a patch tests the uid and every entry it removes (or,
 * where only a digest of one is known, the resourceVersion), all tests before the first removal,
 * and that the object whose finalizer is removed is still being deleted (I4); by an order, in the
 * version that was shown. The gate has refused commands that lack the fields needed here. An
 * annotation names both in what is merged. A field that the stored entry lacks is missing from the
 * test, too: absent and false differ.
 */
import {
  type AnnotateObject,
  type DeleteObject,
  droppedBy,
  isOrdered,
  type OrphanDependent,
  type RemoveFinalizer,
} from '../../../core/model/command.ts'
import { invariant } from '../../../core/model/invariant.ts'
import type { OwnerReference, ResourceVersion } from '../../../core/model/object.ts'
import { timeText } from '../../../core/model/text.ts'
import type {
  DeleteOptions,
  MergeChange,
  MergeOptions,
  PatchOperation,
} from '../../../ports/cluster.ts'
import { isKnownByDigest } from '../../../ports/record/cap.ts'

/** `resourceVersion` is the command's, or that of a later GET of an unchanged object. */
export function deleteGuard(
  command: DeleteObject,
  resourceVersion: ResourceVersion,
  dryRun: boolean,
): DeleteOptions {
  const { id: auditId, target, propagationPolicy, gracePeriodSeconds, rule } = command
  const as = rule?.policy?.account ?? ''
  const { uid } = target
  const base = { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun, auditId }
  return as === '' ? base : { ...base, as }
}

/**
 * A change that precedes the DELETE, or an annotation in its place: of the version that was judged
 * or read, by the same rights.
 */
export function mergeGuard(
  { id: auditId, target, rule }: DeleteObject | AnnotateObject,
  resourceVersion: ResourceVersion,
  change: MergeChange,
  dryRun: boolean,
): MergeOptions {
  const as = rule?.policy?.account ?? ''
  const options = { uid: target.uid, resourceVersion, change, dryRun, auditId }
  return as === '' ? options : { ...options, as }
}

/** `resourceVersion` as for a DELETE. */
export function patchGuard(
  command: OrphanDependent | RemoveFinalizer,
  resourceVersion: ResourceVersion,
): readonly PatchOperation[] {
  const entries =
    command.type === 'OrphanDependent' ? droppedEntries(command) : finalizerEntry(command)
  return [
    { op: 'test', path: '/metadata/uid', value: command.target.uid },
    ...deletion(command),
    ...unmoved(command, entries, resourceVersion),
    ...entries.flatMap(({ path, value }) =>
      value === undefined ? [] : [{ op: 'test', path, value } as const],
    ),
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
  /** Undefined where only a digest of it is known: then nothing of the object may have changed. */
  readonly value: unknown
}

/** An order is about the version that a person was shown. */
function unmoved(
  command: OrphanDependent | RemoveFinalizer,
  entries: readonly GuardedEntry[],
  resourceVersion: ResourceVersion,
): readonly PatchOperation[] {
  if (!isOrdered(command) && entries.every(({ value }) => value !== undefined)) return []
  return [{ op: 'test', path: '/metadata/resourceVersion', value: resourceVersion }]
}

/** Descending, so that no removal moves an entry still to be removed. */
function droppedEntries(command: OrphanDependent): readonly GuardedEntry[] {
  return [...droppedBy(command)]
    .sort(([a], [b]) => b - a)
    .map(([index, reference]) => {
      invariant(reference !== undefined, `${command.id} drops reference ${index}, which it lacks`)
      const value = isKnownByDigest(reference) ? undefined : storedEntry(reference)
      return { path: `/metadata/ownerReferences/${index}`, value }
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
