/**
 * What a restore would do, and did, as one document for programs.
 *
 * What must stay true: whatever the lines for people say is a field here, also what could not be
 * read.
 *
 * Not here: those lines (restore-report.ts).
 */
import type { OwnerReference, Uid } from '../../core/model/object.ts'
import type { ArchivedObject } from '../../services/restore/archive-reader.ts'
import type { Restored } from '../../services/restore/restore-run.ts'
import {
  isUnmanaged,
  type LackingReference,
  type PlannedElsewhere,
  type PlannedReference,
  type Step,
} from '../../services/restore/restore-step.ts'
import type { Root, RuleSelector } from '../../services/restore/selection.ts'

export interface Restore {
  readonly of: RestoredOf
  /** Uid of the cluster that it was deleted from. */
  readonly from: string
  /** Name of the cluster that it is made in. */
  readonly into: string
  readonly steps: readonly Step[]
  /** What names it, or what it owned, as its owner in other clusters. */
  readonly across: readonly FarRestore[]
  /** How the DELETE ended of those that were not deleted then. */
  readonly failures: ReadonlyMap<Uid, string>
  /**
   * Which rights those of RBAC hand out that are created, or would be if they were asked for: in
   * words.
   */
  readonly rights: ReadonlyMap<Uid, readonly string[]>
  readonly does: 'plans' | 'checks' | 'makes'
  /** What a person does next, in this order. */
  readonly advice: readonly string[]
  /** Why something may be lacking here; empty: nothing is. */
  readonly partial: string
  /** Whether what is not encrypted, so that nothing proves it, is marked as such. */
  readonly marksPlaintext: boolean
}

/** Of one other cluster. */
export interface FarRestore {
  readonly from: string
  /** Name of the context that leads there; null: none does, so nothing is planned. */
  readonly into: string | null
  readonly unplanned: readonly ArchivedObject[]
  readonly steps: readonly Step[]
}

/** What was asked for. */
export type RestoredOf =
  /** `isArchived`: the object itself is in the archive, and not only dependents of it. */
  | { readonly type: 'object'; readonly root: Root; readonly isArchived: boolean }
  | { readonly type: 'rule'; readonly selector: RuleSelector }

/** Why an object may be absent from it. */
export const WHAT_IS_ARCHIVED =
  'Kinfold archives what it deletes itself, and what it observes others delete of the kinds in archive.kinds'

/** `results`: by the uid of their cluster. */
export function documentOf(
  restore: Restore,
  results: ReadonlyMap<string, readonly Restored[]>,
): object {
  const { of, from, into, steps, across, advice, partial, does } = restore
  return {
    ...{ apiVersion: 'kinfold/v1', kind: 'Restore', does, from, into, ...askedFor(of) },
    ...stepsOf(restore, steps, results.get(from) ?? []),
    across: across.map(({ from: far, into: context, steps: its, unplanned }) => ({
      ...{ from: far, into: context },
      ...stepsOf(restore, its, results.get(far) ?? []),
      unplanned: unplanned.map(placeOf),
    })),
    advice,
    partial,
  }
}

function stepsOf(restore: Restore, steps: readonly Step[], results: readonly Restored[]): object {
  const { does } = restore
  return {
    steps: steps.map((step) => ({ ...placeOf(step.object), ...planned(step, restore) })),
    unmanaged: steps.filter(isUnmanaged).map(({ object }) => placeOf(object)),
    results:
      does === 'plans'
        ? null
        : results.map(({ step, object, uid: made, reason }) => {
            // What the server only checked gets no uid that counts.
            const uidNow = does === 'checks' ? null : (made ?? null)
            return { ...placeOf(object), step, done: made !== undefined, becomes: uidNow, reason }
          }),
  }
}

function askedFor(of: RestoredOf): object {
  if (of.type === 'rule') {
    const { rule, since } = of.selector
    return { root: null, rule: { name: rule, since: timeOf(since) } }
  }
  const { group, kind, namespace, name, uid } = of.root.identity
  return { root: { group, kind, namespace, name, uid, archived: of.isArchived }, rule: null }
}

function placeOf({ group, kind, namespace, name, uid }: ArchivedObject): object {
  return { group, kind, namespace, name, uid }
}

function planned(step: Step, { failures, rights }: Restore): object {
  const { at, uid, keyId } = step.object
  const archived = {
    ...{ archivedAt: timeOf(at), encrypted: keyId !== '' },
    ...{ deleteFailed: failures.get(uid) ?? null, rights: rights.get(uid) ?? [] },
  }
  switch (step.type) {
    case 'create': {
      const owners = step.references.map(plannedOwner)
      const elsewhere = step.elsewhere && ownerElsewhereOf(step.elsewhere)
      return { step: 'create', owners, elsewhere, reason: '', ...archived }
    }
    case 'link': {
      const owners = step.references.map(plannedOwner)
      const lacks = step.lacks.map(lackingOwner)
      return {
        ...{ step: 'link', becomes: step.uid, owners, lacks, reason: RESTORED_BEFORE },
        ...archived,
      }
    }
    case 'keep': {
      const reason = step.isRestored ? RESTORED_BEFORE : 'exists'
      const lacks = step.lacks.map(lackingOwner)
      return { step: 'keep', becomes: step.uid, lacks, reason, ...archived }
    }
    case 'leave':
      return {
        step: 'leave',
        controller: ownerName(step.controller),
        reason: `its controller ${MAKES_ITS_OWN}`,
        ...archived,
      }
    case 'refuse':
      return { step: 'refuse', reason: step.reason, include: step.guard ?? null, ...archived }
  }
}

export const RESTORED_BEFORE = 'was restored before'
export const MAKES_ITS_OWN = 'makes its own'

function ownerName({ apiVersion, kind, name, uid }: OwnerReference): object {
  return { apiVersion, kind, name, uid }
}

function plannedOwner({ reference, becomes, uid: now }: PlannedReference): object {
  return { ...ownerName(reference), becomes, ...(becomes === 'other' && { now }) }
}

function ownerElsewhereOf({ owner, becomes, uid: now }: PlannedElsewhere): object {
  return { ...owner, becomes, ...(becomes === 'other' && { now }) }
}

function lackingOwner({ reference, cause }: LackingReference): object {
  return { ...ownerName(reference), cause }
}

export function timeOf(ms: number): string {
  return new Date(ms).toISOString()
}
