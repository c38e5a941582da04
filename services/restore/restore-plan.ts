/**
 * What a restore would do: each chosen object in an order in which owners come first, its
 * references, or why it is not created.
 *
 * What must stay true: nothing is planned that would be deleted again. Each reference of what is
 * created names an owner that exists, or that is created before it; one that is lost is dropped or
 * led to another only if a person said so. Unknown is never absent. What hands out rights, and
 * Secrets, are created only where a person named them. What a controller that exists makes by
 * itself is left to it, unless a person said otherwise: two of them would fight. What holds data is
 * not, since no controller knows what was in it.
 *
 * Not here: reading the cluster (survey.ts), what owners are by now (owner-status.ts), carrying it
 * out (restore-run.ts).
 */
import {
  type ClusterId,
  groupOf,
  type ObjectMeta,
  type OwnerReference,
  type Uid,
} from '../../core/model/object.ts'
import { type OwnerElsewhereName, ownerElsewhere } from '../../core/model/rule/elsewhere.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { type Guard, guardOf, guardText } from './guarded-kind.ts'
import { ownersFirst } from './owner-order.ts'
import { type Owner, type OwnerStatus, ownersOf } from './owner-status.ts'
import type {
  LackingReference,
  LinkedReference,
  LostOwner,
  LostOwners,
  PlannedReference,
  Refuse,
  Step,
} from './restore-step.ts'
import { isRestored } from './restored-mark.ts'
import type { Look, Survey } from './survey.ts'

export interface Wishes {
  readonly lost: LostOwners
  /** Also what a controller makes by itself. */
  readonly controlled: boolean
  /** Kinds that are created only where they are asked for by name. */
  readonly included: ReadonlySet<Guard>
}

export function planRestore(
  chosen: readonly ArchivedObject[],
  survey: Survey,
  wishes: Wishes,
  elsewhere: OwnersElsewhere = () => undefined,
): readonly Step[] {
  const { ordered, cyclic } = ownersFirst(chosen)
  const steps = new Map<Uid, Step>()
  for (const object of ordered) {
    const owners = ownersOf(object, steps, survey)
    const step = stepOf(object, owners, survey.at(object), wishes)
    steps.set(object.uid, withElsewhere(step, elsewhere, wishes))
  }
  for (const object of cyclic) {
    const reason = 'it is in or below an ownership cycle, so no owner can be created first'
    steps.set(object.uid, refused(object, reason))
  }
  return [...steps.values()]
}

function stepOf(
  object: ArchivedObject,
  owners: readonly Owner[],
  here: Look,
  { lost, controlled, included }: Wishes,
): Step {
  if (here.type === 'Unknown') return refused(object, here.reason)
  const found = here.type === 'Found' ? here.object : undefined
  if (found && (found.uid === object.uid || isRestored(found, object.uid))) {
    return existing(object, found, owners, lost)
  }
  const controller = controlled ? undefined : makerOf(object, owners, found)
  if (controller !== undefined) return { type: 'leave', object, controller }
  if (found) return refused(object, `another object of that name is there (uid ${found.uid})`)
  if (object.content === 'metadata') {
    return refused(object, 'of a Secret only the metadata was archived (archive.secrets)')
  }
  const guard = guardOf(object)
  if (guard !== undefined && !included.has(guard)) {
    return { ...refused(object, guardText(guard)), guard }
  }
  const references: PlannedReference[] = []
  for (const owner of owners) {
    const planned = plannedOf(owner, lost)
    if ('becomes' in planned) references.push(planned)
    else return refused(object, planned.reason, planned.lost)
  }
  return { type: 'create', object, references, elsewhere: null }
}

/** What is known of an owner in another cluster; undefined: no context leads there. */
export type OwnersElsewhere = (owner: OwnerElsewhereName) => OwnerElsewhere | undefined

export interface OwnerElsewhere {
  readonly status: OwnerStatus
  /** To which the context leads. */
  readonly cluster: ClusterId
}

/** The owner in another cluster becomes what an owner here would. */
function withElsewhere(step: Step, elsewhere: OwnersElsewhere, { lost }: Wishes): Step {
  const owner = step.type === 'create' ? ownerElsewhere(step.object.ownerElsewhere) : null
  if (step.type !== 'create' || owner === null) return step
  const found = elsewhere(owner)
  if (found === undefined) {
    const { uid, cluster } = owner
    return { ...step, elsewhere: { owner, becomes: 'unseen', uid, cluster } }
  }
  const { status, cluster } = found
  const planned = plannedOf({ reference: referenceOf(owner), status }, lost)
  if ('reason' in planned) {
    const reason = `in cluster ${cluster} ${planned.reason}`
    return refused(step.object, reason, planned.lost)
  }
  const { becomes, uid } = planned
  return { ...step, elsewhere: { owner, becomes, uid, cluster } }
}

/** As if it were an owner in its own cluster; no version is known of it. */
export function referenceOf({ group, kind, name, uid }: OwnerElsewhereName): OwnerReference {
  const apiVersion = group === '' ? 'v1' : `${group}/v1`
  return { apiVersion, kind, name, uid, controller: null, blockOwnerDeletion: null }
}

function refused(object: ArchivedObject, reason: string, lost?: LostOwner): Refuse {
  return { type: 'refuse', object, reason, lost, guard: undefined }
}

/** Kinds whose content no controller can make again: of a claim, the volume. */
const DATA: ReadonlySet<string> = new Set(['ConfigMap', 'PersistentVolumeClaim', 'Secret'])

/**
 * The controller that makes the object by itself, or has made another of its name. A Deployment
 * that was deleted and applied again has another uid, and a ReplicaSet of its own a moment later;
 * the archived one would be a second, which it scales down and deletes, or one that no controller
 * manages.
 */
function makerOf(
  object: ArchivedObject,
  owners: readonly Owner[],
  found: ObjectMeta | undefined,
): OwnerReference | undefined {
  const controller = owners.find(({ reference }) => reference.controller === true)
  if (controller === undefined) return undefined
  const { reference, status } = controller
  const isData = object.group === '' && DATA.has(object.kind) && object.content === 'whole'
  switch (status.type) {
    case 'Lost':
    case 'Unknown':
      return undefined
    case 'Created':
    case 'Left':
      return isData ? undefined : reference
    case 'Same':
    case 'Other': {
      const isMade = found?.ownerReferences.some(
        (each) => each.controller === true && each.uid === status.uid,
      )
      return isData && isMade !== true ? undefined : reference
    }
  }
}

/**
 * An object that was restored without an owner has no controller that deletes or manages it, so it
 * can get that owner back.
 */
function existing(
  object: ArchivedObject,
  found: ObjectMeta,
  owners: readonly Owner[],
  lost: LostOwners,
): Step {
  if (found.deletedAt !== null) {
    return refused(object, 'it is being deleted: wait until it is deleted')
  }
  const { uid } = found
  if (uid === object.uid) return { type: 'keep', object, uid, isRestored: false, lacks: [] }
  const references: LinkedReference[] = []
  const lacks: LackingReference[] = []
  for (const owner of owners) {
    if (hasReference(found, owner.reference)) continue
    const linked = linkedOf(owner, found, lost)
    if ('becomes' in linked) references.push(linked)
    else lacks.push(linked)
  }
  if (references.length > 0) return { type: 'link', object, uid, references, lacks }
  return { type: 'keep', object, uid, isRestored: true, lacks }
}

export function hasReference(
  found: ObjectMeta,
  { apiVersion, kind, name }: OwnerReference,
): boolean {
  const group = groupOf(apiVersion)
  return found.ownerReferences.some(
    (each) => each.kind === kind && each.name === name && groupOf(each.apiVersion) === group,
  )
}

function linkedOf(
  { reference, status }: Owner,
  found: ObjectMeta,
  lost: LostOwners,
): LinkedReference | LackingReference {
  if (status.type === 'Unknown') return { reference, cause: 'unknown' }
  if (status.type === 'Lost' || status.type === 'Left') return { reference, cause: 'absent' }
  const hasController = found.ownerReferences.some(({ controller }) => controller === true)
  if (reference.controller === true && hasController) return { reference, cause: 'controlled' }
  if (lost !== 'relink') return { reference, cause: 'not-asked' }
  const { place } = status
  if (status.type === 'Created') return { reference, becomes: 'made', uid: reference.uid, place }
  return { ...living(reference, status.uid), place }
}

interface Unplanned {
  readonly reason: string
  readonly lost: LostOwner | undefined
}

/** Of what is created. */
function plannedOf({ reference, status }: Owner, lost: LostOwners): PlannedReference | Unplanned {
  const owner = `owner ${reference.kind}/${reference.name}`
  switch (status.type) {
    case 'Created':
      return { reference, becomes: 'made', uid: reference.uid }
    case 'Same':
      return living(reference, status.uid)
    case 'Unknown':
      return { reason: `${owner} could not be looked up: ${status.reason}`, lost: undefined }
    case 'Other':
      if (lost === 'relink') return living(reference, status.uid)
      break
    case 'Left':
    case 'Lost':
      break
  }
  if (lost === 'drop') return { reference, becomes: 'dropped', uid: '' }
  return unplanned(reference, status, owner)
}

function unplanned(reference: OwnerReference, status: LostStatus, owner: string): Unplanned {
  const again = 'so it would be deleted again'
  switch (status.type) {
    case 'Left':
      return {
        reason: `${owner} is left to its controller, which has not created it yet, ${again}`,
        lost: undefined,
      }
    case 'Other': {
      const reason = `${owner} (uid ${reference.uid}) was replaced by another object of its name, ${again}`
      return { reason, lost: { reference, now: 'other' } }
    }
    case 'Lost': {
      const { how } = status
      const lost = how === 'refused' ? undefined : { reference, now: how }
      return { reason: `${owner} (uid ${reference.uid}) ${LOST_TEXT[how]}, ${again}`, lost }
    }
  }
}

const LOST_TEXT = {
  absent: 'does not exist',
  terminating: 'is being deleted',
  refused: 'is refused',
} as const

type LostStatus = Extract<Owner['status'], { readonly type: 'Left' | 'Lost' | 'Other' }>

function living(reference: OwnerReference, uid: Uid): PlannedReference {
  return { reference, becomes: uid === reference.uid ? 'same' : 'other', uid }
}
