/**
 * What an owner of an archived object is by now: created by the same plan, there, replaced, left to
 * its controller, lost, or unknown.
 *
 * What must stay true: by its uid alone no object is an owner, and unknown is never lost.
 *
 * Not here: what follows for the dependent (restore-plan.ts).
 */
import { isNamedBy } from '../../core/graph/identity.ts'
import type { ObjectMeta, OwnerReference, Uid } from '../../core/model/object.ts'
import type { NamedResource } from '../../ports/cluster.ts'
import { type ArchivedObject, placeOf } from './archive-reader.ts'
import type { Step } from './restore-step.ts'
import { isRestored } from './restored-mark.ts'
import { identityIn } from './selection.ts'
import type { Survey } from './survey.ts'

export type OwnerStatus =
  /** By this plan; its uid is not known yet. */
  | { readonly type: 'Created'; readonly place: NamedResource }
  /** It exists, or an earlier restore created it. */
  | { readonly type: 'Same'; readonly uid: Uid; readonly place: NamedResource }
  /** Another object has its name. */
  | { readonly type: 'Other'; readonly uid: Uid; readonly place: NamedResource }
  /** Its own controller makes it, and has not done so yet. */
  | { readonly type: 'Left' }
  /** `refused`: the plan has it, and does not create it. */
  | { readonly type: 'Lost'; readonly how: 'absent' | 'terminating' | 'refused' }
  | { readonly type: 'Unknown'; readonly reason: string }

export interface Owner {
  readonly reference: OwnerReference
  readonly status: OwnerStatus
}

/** `steps`: those that were planned so far, by uid; owners come first. */
export function ownersOf(
  object: ArchivedObject,
  steps: ReadonlyMap<Uid, Step>,
  survey: Survey,
): readonly Owner[] {
  return object.ownerReferences.map((reference) => {
    const step = namedBy(object, reference, steps.get(reference.uid))
    return { reference, status: planned(step) ?? surveyed(object, reference, step, survey) }
  })
}

function planned(step: Step | undefined): OwnerStatus | undefined {
  switch (step?.type) {
    case 'create':
      return { type: 'Created', place: placeOf(step.object) }
    case 'keep':
    case 'link':
      return { type: 'Same', uid: step.uid, place: placeOf(step.object) }
    case 'leave':
    case 'refuse':
    case undefined:
      return undefined
  }
}

function surveyed(
  object: ArchivedObject,
  reference: OwnerReference,
  step: Step | undefined,
  survey: Survey,
): OwnerStatus {
  const look = survey.owner(object, reference)
  const left: OwnerStatus | undefined = step?.type === 'leave' ? { type: 'Left' } : undefined
  switch (look.type) {
    case 'Unknown':
      return look
    case 'Absent':
      return left ?? { type: 'Lost', how: step === undefined ? 'absent' : 'refused' }
    case 'Found': {
      const { object: found } = look
      const { uid, deletedAt } = found
      if (deletedAt !== null) return left ?? { type: 'Lost', how: 'terminating' }
      const isIt = uid === reference.uid || isRestored(found, reference.uid)
      return { type: isIt ? 'Same' : 'Other', uid, place: placeAt(found) }
    }
  }
}

/** A reference with other coordinates than its owner dangles. */
function namedBy(
  object: ArchivedObject,
  reference: OwnerReference,
  step: Step | undefined,
): Step | undefined {
  if (step === undefined) return undefined
  return isNamedBy(identityIn(step.object), object, reference) ? step : undefined
}

function placeAt({
  group,
  kind,
  version,
  resource,
  scope,
  namespace,
  name,
}: ObjectMeta): NamedResource {
  return { group, kind, version, resource, scope, namespace, name }
}
