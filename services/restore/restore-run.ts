/**
 * Carries a plan of a restore out: one object after the other, owners first, each with the uids
 * that its owners have by now.
 *
 * What must stay true: an object is created only when every owner that it is to name is there; it
 * is marked with the uid that it had, so that the same restore, run again after a failure, takes it
 * for done. Nothing is deleted, and nothing is changed but what an earlier restore created.
 *
 * Not here: what is created and in which order (restore-plan.ts), how an owner reference is added
 * (owner-link.ts).
 */
import type { OwnerReference, Uid } from '../../core/model/object.ts'
import {
  OWNER_ANNOTATION,
  type OwnerElsewhereName,
  ownerElsewhereWith,
} from '../../core/model/rule/elsewhere.ts'
import type { Restorer } from '../../ports/restorer.ts'
import type { JsonObject } from '../../runtime/exact-json.ts'
import { type ArchivedObject, placeOf } from './archive-reader.ts'
import { type Annotation, freshObject } from './fresh-object.ts'
import { linkOwners, type NewOwner } from './owner-link.ts'
import type { Create, Link, PlannedElsewhere, PlannedReference, Step } from './restore-step.ts'
import { isRestored, markOf } from './restored-mark.ts'
import { look } from './survey.ts'

export interface RestoreParts {
  readonly restorer: Restorer
  /** Of these objects, by uid, as far as the archive has them. */
  readonly bodies: (of: readonly ArchivedObject[]) => Promise<ReadonlyMap<Uid, JsonObject>>
  /** Of an owner in another cluster that is created before: the uid that it has by now. */
  readonly madeElsewhere?: (owner: OwnerElsewhereName) => Uid | undefined
  /** The server checks all, and keeps nothing. */
  readonly dryRun: boolean
}

export interface Restored {
  readonly step: 'create' | 'link'
  readonly object: ArchivedObject
  /** Undefined: it was not done, for this reason. */
  readonly uid: Uid | undefined
  readonly reason: string
}

export async function* runRestore(
  steps: readonly Step[],
  parts: RestoreParts,
  signal: AbortSignal,
): AsyncIterable<Restored> {
  const uids = new Map<Uid, Uid>()
  for (let from = 0; from < steps.length; from += BODIES_AT_ONCE) {
    const some = steps.slice(from, from + BODIES_AT_ONCE)
    const bodies = await parts.bodies(
      some.flatMap((step) => (step.type === 'create' ? [step.object] : [])),
    )
    for (const step of some) {
      signal.throwIfAborted()
      if (step.type === 'keep' || step.type === 'link') uids.set(step.object.uid, step.uid)
      if (step.type === 'create') {
        const made = await create(step, uids, bodies.get(step.object.uid), parts, signal)
        if (made.uid !== undefined) uids.set(step.object.uid, made.uid)
        yield made
      } else if (step.type === 'link') yield await link(step, uids, parts, signal)
    }
  }
}

/** Held in memory: of 1.5 MB each, were they as large as they may be, 750 MB. */
const BODIES_AT_ONCE = 500

/** Of old uids, those that objects have by now. */
type Uids = ReadonlyMap<Uid, Uid>

/** With the uid that the owner has by now; undefined: it was not restored. */
function referenceNow(
  { reference, becomes, uid }: PlannedReference,
  uids: Uids,
): OwnerReference | undefined {
  const now = becomes === 'made' ? uids.get(uid) : uid
  return now === undefined ? undefined : { ...reference, uid: now }
}

function lacking({ reference: { kind, name } }: PlannedReference): string {
  return `its owner ${kind}/${name} was not restored`
}

async function link(
  step: Link,
  uids: Uids,
  { restorer, dryRun }: RestoreParts,
  signal: AbortSignal,
): Promise<Restored> {
  const { object, uid } = step
  const done = (reason: string): Restored => {
    return { step: 'link', object, uid: reason === '' ? uid : undefined, reason }
  }
  const owners: NewOwner[] = []
  for (const planned of step.references) {
    const reference = referenceNow(planned, uids)
    if (reference === undefined) return done(lacking(planned))
    const isOnlyChecked = dryRun && planned.becomes === 'made'
    owners.push({ reference, place: isOnlyChecked ? undefined : planned.place })
  }
  return done(await linkOwners(step, owners, restorer, dryRun, signal))
}

/** The annotation as it is to be, or that there is none; undefined: its owner was not restored. */
function elsewhereNow(
  { owner, becomes, uid, cluster }: PlannedElsewhere,
  made: RestoreParts['madeElsewhere'],
): readonly Annotation[] | undefined {
  if (becomes === 'unseen') return []
  if (becomes === 'dropped') return [{ key: OWNER_ANNOTATION, value: null }]
  const now = becomes === 'made' ? made?.(owner) : uid
  if (now === undefined) return undefined
  return [{ key: OWNER_ANNOTATION, value: ownerElsewhereWith({ ...owner, cluster, uid: now }) }]
}

function marksOf(object: ArchivedObject, named: readonly Annotation[]): readonly Annotation[] {
  return [...named, markOf(object)]
}

async function create(
  step: Create,
  uids: Uids,
  body: JsonObject | undefined,
  { restorer, dryRun, madeElsewhere }: RestoreParts,
  signal: AbortSignal,
): Promise<Restored> {
  const { object, elsewhere } = step
  const failed = (reason: string): Restored => {
    return { step: 'create', object, uid: undefined, reason }
  }
  const made = (uid: Uid): Restored => ({ step: 'create', object, uid, reason: '' })
  const references: OwnerReference[] = []
  for (const planned of step.references) {
    if (planned.becomes === 'dropped') continue
    const reference = referenceNow(planned, uids)
    if (reference === undefined) return failed(lacking(planned))
    references.push(reference)
  }
  const named = elsewhere && elsewhereNow(elsewhere, madeElsewhere)
  if (elsewhere !== null && named === undefined) {
    const { kind, name, cluster } = elsewhere.owner
    return failed(`its owner ${kind}/${name} in cluster ${cluster} was not restored`)
  }
  if (body === undefined) return failed('its body is not in the archive any more')
  const place = placeOf(object)
  const text = JSON.stringify(freshObject(body, references, marksOf(object, named ?? [])))
  const answer = await restorer.create(place, text, dryRun, signal)
  switch (answer.type) {
    case 'Created':
      return made(answer.uid)
    case 'Refused':
      return failed(answer.reason)
    case 'Exists':
    case 'Unknown': {
      // It may be ours, of this try or of an earlier one.
      const found = await look(restorer, place, signal)
      const isOurs = found.type === 'Found' && isRestored(found.object, object.uid)
      return isOurs ? made(found.object.uid) : failed(answer.reason)
    }
  }
}
