/**
 * Carries out a DELETE (B69): marks an object that has finalizers or a grace period to wait for,
 * removes any other, answers as the server does.
 *
 * What must stay true: an object is removed exactly once, in `Storage.remove`, and only without
 * finalizers. Some kinds answer a removal with the object (pods, services, service accounts,
 * volumes and claims), all others with a Status.
 *
 * Not here: the rules (deletion.ts), namespaces and CustomResourceDefinitions, which wait for their
 * content (sweep.ts).
 */
import type { Clock } from '../../../../ports/clock.ts'
import { DEFINITION, type Kind, NAMESPACE } from '../kind.ts'
import { type ApiObject, arrayAt, hasFinalizers, isSameJson } from '../object.ts'
import { forbidden, preconditionFailed } from '../status.ts'
import { type Storage, withMetadata } from '../storage.ts'
import {
  BACKGROUND,
  checkPreconditions,
  type DeleteOptions,
  finalizersAfter,
  graceOf,
  marked,
} from './deletion.ts'

export interface Removal {
  readonly object: ApiObject
  readonly isGone: boolean
}

const LASTING_NAMESPACES: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public'])

/** Handles objects that are deleted only after their content (sweep.ts). */
export interface Sweeping {
  begin(kind: Kind, object: ApiObject, isDryRun: boolean): ApiObject
}

export interface RemovalContext {
  readonly storage: Storage
  readonly clock: Clock
  readonly sweeper: Sweeping
}

export function remove(
  context: RemovalContext,
  kind: Kind,
  object: ApiObject,
  options: DeleteOptions,
): Removal {
  if (kind === NAMESPACE && LASTING_NAMESPACES.has(object.metadata.name)) {
    throw forbidden(kind, object.metadata.name, 'this namespace may not be deleted')
  }
  checkPreconditions(kind, object.metadata, options)
  if (kind === NAMESPACE || kind === DEFINITION) {
    return { object: context.sweeper.begin(kind, object, options.isDryRun), isGone: false }
  }
  const { storage, clock } = context
  const grace = graceOf(kind, object, options, clock.now())
  if (grace === 'pending') return { object, isGone: false }

  const now = clock.now()
  const finalizers = finalizersAfter(kind, object.metadata.finalizers ?? [], options)
  let next = withMetadata(object, { finalizers })
  if (grace !== 'none') next = marked(next, grace.seconds, grace.endsAtMs)
  else if (finalizers.length > 0) next = marked(next, 0, firstMarkedAt(object, now))

  const waits = finalizers.length > 0 || (grace !== 'none' && grace.seconds > 0)
  if (!waits && grace === 'none') checkFreed(kind, object, options)
  if (!options.isDryRun && !isSameJson(next, object)) next = storage.put(kind, next)
  if (waits) return { object: next, isGone: false }
  return { object: options.isDryRun ? next : storage.remove(kind, next), isGone: true }
}

/**
 * Where the policy takes the last finalizers away, the server compares the version that was asked
 * for with that of an empty object (updateForGracefulDeletionAndFinalizers answers none).
 */
function checkFreed(kind: Kind, { metadata }: ApiObject, options: DeleteOptions): void {
  if (options.resourceVersion === undefined || !hasFinalizers(metadata)) return
  const { name, resourceVersion } = metadata
  const why = `Precondition failed: ResourceVersion in precondition: , ResourceVersion in object meta: ${resourceVersion}`
  throw preconditionFailed(kind, name, why)
}

/**
 * In the background and without conditions: how a namespace or a CustomResourceDefinition deletes
 * its content.
 */
export function removeInBackground(context: RemovalContext, kind: Kind, object: ApiObject): void {
  remove(context, kind, object, BACKGROUND)
}

/** Whether an update deletes an object that was only waiting for its last finalizer. */
export function isFinished(kind: Kind, object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0 } = object.metadata
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0) return false
  if (hasFinalizers(object.metadata)) return false
  return kind !== NAMESPACE || arrayAt(object['spec'], 'finalizers').length === 0
}

export function removedStatus(kind: Kind, { metadata: { name, uid } }: ApiObject): object {
  const group = kind.group === '' ? {} : { group: kind.group }
  const details = { name, ...group, kind: kind.resource, uid }
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details }
}

function firstMarkedAt({ metadata }: ApiObject, now: number): number {
  const { deletionTimestamp } = metadata
  return deletionTimestamp === undefined ? now : Math.min(Date.parse(deletionTimestamp), now)
}
