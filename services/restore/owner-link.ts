/**
 * Gives an object that an earlier restore created without an owner its owner reference.
 *
 * What must stay true: it takes effect only on the object as it was just read: the patch tests uid
 * and resourceVersion. An owner is read again right before, since an object that names a deleted
 * one would be deleted. No reference is changed or removed.
 *
 * Not here: which references it gets (restore-plan.ts).
 */
import type { ObjectMeta, OwnerReference, Uid } from '../../core/model/object.ts'
import type { NamedResource, PatchOperation } from '../../ports/cluster.ts'
import type { Restorer } from '../../ports/restorer.ts'
import { placeOf } from './archive-reader.ts'
import { storedEntry } from './fresh-object.ts'
import { hasReference } from './restore-plan.ts'
import type { Link } from './restore-step.ts'
import { isRestored } from './restored-mark.ts'
import { type Look, look } from './survey.ts'

/** Controllers write statuses meanwhile: each of them moves the version. */
const TRIES = 5

/** An owner with the uid that it has by now. */
export interface NewOwner {
  readonly reference: OwnerReference
  /** Undefined: the server only checked it, so it is not there. */
  readonly place: NamedResource | undefined
}

/** Why it was not done; empty when it was. */
export async function linkOwners(
  { object, uid }: Link,
  owners: readonly NewOwner[],
  restorer: Restorer,
  dryRun: boolean,
  signal: AbortSignal,
): Promise<string> {
  const place = placeOf(object)
  let reason = ''
  for (let tries = 0; tries < TRIES; tries++) {
    const now = await look(restorer, place, signal)
    if (now.type === 'Unknown') return `it could not be read: ${now.reason}`
    if (now.type === 'Absent' || now.object.uid !== uid) return 'it was deleted meanwhile'
    const { object: found } = now
    if (found.deletedAt !== null) return 'it is being deleted'
    if (!isRestored(found, object.uid)) return 'it has lost the annotation of its restore'
    const added = owners.filter(({ reference }) => !hasReference(found, reference))
    // An answer was lost, or its controller adopted it.
    if (added.length === 0) return ''
    const obstacle = await obstacleTo(found, added, restorer, signal)
    if (obstacle !== undefined) return obstacle
    const target = { ...place, uid, resourceVersion: found.resourceVersion, aggregated: false }
    const answer = await restorer.patch(target, patchOf(found, added), dryRun, signal)
    switch (answer.type) {
      case 'Changed':
      case 'WouldGo':
        return ''
      case 'Removed':
      case 'Absent':
        return 'it was deleted meanwhile'
      case 'Refused':
        return answer.reason
      case 'Conflict':
      case 'Unknown':
        reason = answer.reason
    }
  }
  return reason
}

async function obstacleTo(
  found: ObjectMeta,
  owners: readonly NewOwner[],
  restorer: Restorer,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const { reference, place } of owners) {
    if (reference.controller === true) {
      const other = found.ownerReferences.find(({ controller }) => controller === true)
      if (other !== undefined) return `${nameOf(other)} is its controller by now`
    }
    if (place === undefined) continue
    const obstacle = lossOf(reference.uid, await look(restorer, place, signal))
    if (obstacle !== undefined) return `its owner ${nameOf(reference)} ${obstacle}`
  }
  return undefined
}

function lossOf(uid: Uid, owner: Look): string | undefined {
  if (owner.type === 'Unknown') return `could not be looked up: ${owner.reason}`
  const isThere =
    owner.type === 'Found' && owner.object.uid === uid && owner.object.deletedAt === null
  return isThere ? undefined : 'was deleted meanwhile'
}

function patchOf(
  { uid, resourceVersion, ownerReferences }: ObjectMeta,
  owners: readonly NewOwner[],
): readonly PatchOperation[] {
  const entries = owners.map(({ reference }) => storedEntry(reference))
  const path = '/metadata/ownerReferences'
  const add: readonly PatchOperation[] =
    ownerReferences.length === 0
      ? [{ op: 'add', path, value: entries }]
      : entries.map((value) => ({ op: 'add', path: `${path}/-`, value }) as const)
  return [
    { op: 'test', path: '/metadata/uid', value: uid },
    { op: 'test', path: '/metadata/resourceVersion', value: resourceVersion },
    ...add,
  ]
}

function nameOf({ kind, name }: OwnerReference): string {
  return `${kind}/${name}`
}
