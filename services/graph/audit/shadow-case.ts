/**
 * What one lineage record says to a comparison with another collector of the same cluster: that
 * Kinfold would delete the object, that another client deleted it, and whether Kinfold would have.
 *
 * What must stay true: it is derived from the public record alone. A watch does not say who sent a
 * delete: the deletion of an object whose owners are all deleted counts as the collector's, and the
 * deletion of an object beside a living owner counts for neither collector.
 *
 * Not here: counting, and waiting for later records (shadow.ts).
 */
import type { Evidence } from '../../../core/model/proof.ts'
import type { Standing } from '../../../core/model/reference.ts'
import type { Lineage } from '../../../ports/record/lineage.ts'

/**
 * - `agreed`: it was deleted, and Kinfold would have deleted it.
 * - `theirs`: it was deleted, and Kinfold would not have deleted it.
 * - `ours`: Kinfold would have deleted it, and it stayed.
 * - `unclear`: it was deleted beside an owner that existed, or that Kinfold would have verified
 *   first, or that cannot be looked up, for which upstream deletes nothing either (B27): a user, a
 *   controller or a wrong delete.
 */
export type Agreement = 'agreed' | 'theirs' | 'ours' | 'unclear'

export interface Would {
  readonly because: string
  readonly evidence: Evidence | null
  /** Not without approval or whatever else would hold it. */
  readonly isHeld: boolean
}

/** Undefined where Kinfold would keep it, only drop references, or has not decided. */
export function wouldTake(lineage: Lineage): Would | undefined {
  const { owners, phase, deletedAt, verdict, admission, why, evidence } = lineage
  if (phase !== 'observed' || deletedAt !== null || verdict !== 'delete') return undefined
  // Of a long list the record has the first owners only.
  if (lineage.moreOwners > 0) return undefined
  if (owners.length === 0 || !owners.every(({ standing }) => isOver(standing))) return undefined
  // Where its references have changed since, what holds it is found when it is judged.
  const isHeld = evidence === 'bulk' || admission?.by !== 'mode'
  const because = isHeld ? heldText(why, admission) : goneText(owners)
  return { because, evidence, isHeld }
}

function heldText(why: string, admission: Lineage['admission']): string {
  return admission === null ? why : `${why}; held by ${admission.by}: ${admission.because}`
}

/** Owners that one sentence names. */
const NAMED = 5

function goneText(owners: Lineage['owners']): string {
  const names = owners
    .slice(0, NAMED)
    .map(
      ({ kind, name, standing }) =>
        `${kind} "${name}" ${standing === 'waiting' ? 'waits' : 'no longer exists'}`,
    )
  const left = owners.length - names.length
  return names.join(', ') + (left > 0 ? ` and ${left} more` : '')
}

/** It was deleted, or is being deleted. */
export function isLeaving({ phase, deletedAt }: Lineage): boolean {
  return phase === 'gone' || deletedAt !== null
}

export interface Departure {
  readonly agreement: Exclude<Agreement, 'ours'>
  readonly because: string
  /**
   * Owners that existed when it was deleted, as far as it was known then: another watch may report
   * a moment later that they were deleted before.
   */
  readonly living: readonly string[]
}

/**
 * Undefined for an object without owners: no collector's business. `would`: what was said of it
 * before.
 */
export function departureOf(lineage: Lineage, would: Would | undefined): Departure | undefined {
  const { owners } = lineage
  if (owners.length === 0) return undefined
  const living = owners.filter(({ standing }) => standing === 'solid')
  if (living.length > 0) {
    const names = living.map(({ kind, name }) => `${kind} "${name}"`)
    const because = `${names.join(', ')} was there: a user, a controller or a wrong delete`
    return { agreement: 'unclear', because, living: living.map(({ uid }) => uid) }
  }
  const doubt = owners.find(({ standing }) => DOUBTS[standing] !== undefined)
  if (doubt !== undefined) {
    const because = `owner ${doubt.kind} "${doubt.name}": ${DOUBTS[doubt.standing]}`
    const agreement = isTheirs(doubt) ? 'theirs' : 'unclear'
    return { agreement, because, living: [] }
  }
  if (lineage.moreOwners > 0) {
    const because = `${lineage.moreOwners} more owners, of which the record says nothing`
    return { agreement: 'unclear', because, living: [] }
  }
  if (would?.isHeld) return { agreement: 'theirs', because: would.because, living: [] }
  return { agreement: 'agreed', because: would?.because ?? 'its owners were deleted', living: [] }
}

/**
 * Kinds of which no object can be read: upstream sends a GET all the same, and takes any NotFound
 * for an absence (B75).
 */
const WITHOUT_OBJECTS = /(List|Review|^Binding)$/

/**
 * For an owner whose kind it cannot resolve upstream deletes nothing (B27, B47), so who deletes
 * such a dependent is mostly a user.
 */
function isTheirs({ standing, kind }: Lineage['owners'][number]): boolean {
  return standing === 'orphaned' || (standing === 'unresolvable' && WITHOUT_OBJECTS.test(kind))
}

function isOver(standing: Standing): boolean {
  return standing === 'dangling' || standing === 'waiting'
}

const DOUBTS: Readonly<Partial<Record<Standing, string>>> = {
  orphaned: 'it asked to orphan, so only the reference would have been removed',
  unresolvable:
    'it cannot be looked up, so Kinfold deletes nothing for it: a user, a controller or a wrong delete',
  unverified: 'never observed, and mode observe does not verify owners',
}
