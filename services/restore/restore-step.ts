/**
 * The steps of a plan of a restore, one for each object that was chosen, and what becomes of its
 * owner references.
 *
 * What must stay true: a step says by its fields all that advice or a report decides by; the
 * sentences are for people alone.
 *
 * Not here: which step an object gets (restore-plan.ts), carrying it out (restore-run.ts).
 */
import type { ClusterId, OwnerReference, Uid } from '../../core/model/object.ts'
import type { OwnerElsewhereName } from '../../core/model/rule/elsewhere.ts'
import type { NamedResource } from '../../ports/cluster.ts'
import type { ArchivedObject } from './archive-reader.ts'
import type { Guard } from './guarded-kind.ts'

/**
 * What becomes of references to owners that neither exist nor are restored: the object is refused,
 * the reference is left out, or it names the object that has the owner's name now.
 */
export type LostOwners = 'refuse' | 'drop' | 'relink'

export interface PlannedReference {
  readonly reference: OwnerReference
  /**
   * `made`: the uid that the owner gets when it is created. `dropped`: the reference is left out.
   */
  readonly becomes: 'same' | 'other' | 'made' | 'dropped'
  /** Of the owner that exists; of one that is created, the uid that it had. */
  readonly uid: Uid
}

/** The annotation `kinfold.io/owner`, by which it names an owner in another cluster. */
export interface PlannedElsewhere {
  readonly owner: OwnerElsewhereName
  /** As an owner reference; `unseen`: no context leads to that cluster, so it stays as it is. */
  readonly becomes: PlannedReference['becomes'] | 'unseen'
  readonly uid: Uid
  /** Where it is by now: another one than it was in, if it is restored into that. */
  readonly cluster: ClusterId
}

/** One that is added to an object that exists. */
export interface LinkedReference extends PlannedReference {
  /** Where the owner is read again before it is named. */
  readonly place: NamedResource
}

/** A reference that a restored object had, has not, and does not get. */
export interface LackingReference {
  readonly reference: OwnerReference
  /**
   * `not-asked`: relink would add it. `controlled`: another controller owns the object by now.
   * `absent`: the owner does not exist.
   */
  readonly cause: 'not-asked' | 'controlled' | 'absent' | 'unknown'
}

/** The owner for lack of which an object is refused. */
export interface LostOwner {
  readonly reference: OwnerReference
  /** `other`: another object has its name. */
  readonly now: 'absent' | 'terminating' | 'other'
}

export type Step =
  | {
      readonly type: 'create'
      readonly object: ArchivedObject
      readonly references: readonly PlannedReference[]
      /** Null: it names none. */
      readonly elsewhere: PlannedElsewhere | null
    }
  /** An earlier restore created it without these references: it gets them. */
  | {
      readonly type: 'link'
      readonly object: ArchivedObject
      readonly uid: Uid
      readonly references: readonly LinkedReference[]
      readonly lacks: readonly LackingReference[]
    }
  /** It exists, or an earlier restore created it. */
  | {
      readonly type: 'keep'
      readonly object: ArchivedObject
      readonly uid: Uid
      readonly isRestored: boolean
      readonly lacks: readonly LackingReference[]
    }
  /** This owner is its controller, exists or is restored, and so makes another by itself. */
  | {
      readonly type: 'leave'
      readonly object: ArchivedObject
      readonly controller: OwnerReference
    }
  | {
      readonly type: 'refuse'
      readonly object: ArchivedObject
      readonly reason: string
      /** Undefined: it is refused for another reason. */
      readonly lost: LostOwner | undefined
      /** What has to be asked for by name; undefined: it is refused for another reason. */
      readonly guard: Guard | undefined
    }

export type Create = Extract<Step, { readonly type: 'create' }>
export type Refuse = Extract<Step, { readonly type: 'refuse' }>
export type Link = Extract<Step, { readonly type: 'link' }>

/** Its controller's reference is left out, so nothing scales, updates or deletes it. */
export function isUnmanaged(step: Step): step is Create {
  return (
    step.type === 'create' &&
    step.references.some(
      ({ reference, becomes }) => becomes === 'dropped' && reference.controller === true,
    )
  )
}
