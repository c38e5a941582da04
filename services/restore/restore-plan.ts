/**
 * What a restore would do: each chosen object in an order in which owners come first, its references, or why it is left.
 *
 * What must stay true: nothing is planned that would be collected again. Each reference of what is made names an owner that lives, or that is made before
 * it; one that is lost is dropped or led to another only if a person said so. Unknown is never absent.
 *
 * Not here: looking (survey.ts), making (restore-run.ts).
 */
import { groupOf, type ObjectMeta, type OwnerReference, type Uid } from '../../core/model/object.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { isRestored } from './restored-mark.ts'

/** What becomes of references to owners that neither live nor are restored: the object is left out, the reference is, or it is led to what bears the owner's name now. */
export type LostOwners = 'refuse' | 'drop' | 'relink'

/** What is at some coordinates now. */
export type Look =
  | { readonly type: 'Found'; readonly object: ObjectMeta }
  | { readonly type: 'Absent' }
  | { readonly type: 'Unknown'; readonly reason: string }

export interface Survey {
  /** At the object's own place; `Unknown` too when it cannot be made there. */
  at(object: ArchivedObject): Look
  /** At the place that a reference of the object names. */
  owner(object: ArchivedObject, reference: OwnerReference): Look
}

export interface PlannedReference {
  readonly reference: OwnerReference
  /** `made`: the uid that the owner gets when it is made. `dropped`: the reference is left out. */
  readonly becomes: 'same' | 'other' | 'made' | 'dropped'
  /** Of the owner that lives; of one that is made, the uid that it had. */
  readonly uid: Uid
}

export type Step =
  | {
      readonly type: 'create'
      readonly object: ArchivedObject
      readonly references: readonly PlannedReference[]
    }
  /** It lives, or was restored before. */
  | {
      readonly type: 'keep'
      readonly object: ArchivedObject
      readonly uid: Uid
      readonly why: string
    }
  | { readonly type: 'refuse'; readonly object: ArchivedObject; readonly reason: string }

export function planRestore(
  chosen: readonly ArchivedObject[],
  survey: Survey,
  lost: LostOwners,
): readonly Step[] {
  const { ordered, ring } = ownersFirst(chosen)
  const steps = new Map<Uid, Step>()
  for (const object of ordered) steps.set(object.uid, stepOf(object, steps, survey, lost))
  for (const object of ring) {
    const reason = 'it and its owners own each other in a ring, so none can be made first'
    steps.set(object.uid, { type: 'refuse', object, reason })
  }
  return [...steps.values()]
}

function stepOf(
  object: ArchivedObject,
  steps: ReadonlyMap<Uid, Step>,
  survey: Survey,
  lost: LostOwners,
): Step {
  const refuse = (reason: string): Step => ({ type: 'refuse', object, reason })
  const here = survey.at(object)
  if (here.type === 'Unknown') return refuse(here.reason)
  if (here.type === 'Found') {
    const { object: found } = here
    const isIt = found.uid === object.uid
    if (!isIt && !isRestored(found, object.uid)) {
      return refuse(`another object of that name is there (uid ${found.uid})`)
    }
    if (found.deletedAt !== null) return refuse('it is being deleted: wait until it is gone')
    return { type: 'keep', object, uid: found.uid, why: isIt ? 'lives' : 'was restored before' }
  }
  if (object.content === 'metadata') {
    return refuse('of a Secret only the metadata was archived (archive.secrets)')
  }
  const references: PlannedReference[] = []
  for (const reference of object.ownerReferences) {
    const planned = referenceOf(object, reference, steps, survey, lost)
    if (typeof planned === 'string') return refuse(planned)
    references.push(planned)
  }
  return { type: 'create', object, references }
}

/** Or why the object cannot be restored. */
function referenceOf(
  object: ArchivedObject,
  reference: OwnerReference,
  steps: ReadonlyMap<Uid, Step>,
  survey: Survey,
  lost: LostOwners,
): PlannedReference | string {
  const step = namedBy(object, reference, steps.get(reference.uid))
  if (step?.type === 'create') return { reference, becomes: 'made', uid: reference.uid }
  if (step?.type === 'keep') return living(reference, step.uid)
  const look = survey.owner(object, reference)
  const owner = `owner ${reference.kind}/${reference.name}`
  if (look.type === 'Unknown') return `${owner} could not be looked up: ${look.reason}`
  const found = look.type === 'Found' && look.object.deletedAt === null ? look.object : undefined
  if (found?.uid === reference.uid || (found && isRestored(found, reference.uid))) {
    return living(reference, found.uid)
  }
  switch (lost) {
    case 'drop':
      return { reference, becomes: 'dropped', uid: '' }
    case 'relink':
      return found === undefined
        ? `${owner} does not live, and nothing of its name does`
        : living(reference, found.uid)
    case 'refuse': {
      const hint =
        found === undefined ? '' : ', or --lost-owners relink names the one that is there'
      return `${owner} (uid ${reference.uid}) neither lives nor is restored, so it would be collected again; --lost-owners drop leaves the reference out${hint}`
    }
  }
}

/** By uid alone nobody is an owner: a reference with another kind or name dangles. */
function namedBy(
  { namespace }: ArchivedObject,
  { apiVersion, kind, name }: OwnerReference,
  step: Step | undefined,
): Step | undefined {
  const owner = step?.object
  if (owner === undefined || owner.kind !== kind || owner.name !== name) return undefined
  const isInReach = owner.namespace === '' || owner.namespace === namespace
  return isInReach && owner.group === groupOf(apiVersion) ? step : undefined
}

function living(reference: OwnerReference, uid: Uid): PlannedReference {
  return { reference, becomes: uid === reference.uid ? 'same' : 'other', uid }
}

interface Ordered {
  readonly ordered: readonly ArchivedObject[]
  /** What is in a ring, or hangs on one. */
  readonly ring: readonly ArchivedObject[]
}

function ownersFirst(chosen: readonly ArchivedObject[]): Ordered {
  const left = new Map<Uid, number>()
  const dependents = new Map<Uid, ArchivedObject[]>()
  const uids = new Set(chosen.map(({ uid }) => uid))
  for (const object of chosen) {
    const owners = new Set(
      object.ownerReferences.map(({ uid }) => uid).filter((uid) => uids.has(uid)),
    )
    left.set(object.uid, owners.size)
    for (const owner of owners) {
      const known = dependents.get(owner)
      if (known === undefined) dependents.set(owner, [object])
      else known.push(object)
    }
  }
  const ordered = chosen.filter(({ uid }) => left.get(uid) === 0)
  for (const { uid } of ordered) {
    for (const dependent of dependents.get(uid) ?? []) {
      const count = (left.get(dependent.uid) ?? 0) - 1
      left.set(dependent.uid, count)
      if (count === 0) ordered.push(dependent)
    }
  }
  return { ordered, ring: chosen.filter(({ uid }) => (left.get(uid) ?? 0) > 0) }
}
