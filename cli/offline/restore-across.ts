/**
 * The part of a restore that is in other clusters: what names the object, or what it owned, as its
 * owner by `kinfold.io/owner`.
 *
 * What must stay true: a cluster is read and written by the context that leads to it, whose
 * identity is asked, and by no other. What no context leads to is named with its cluster, and
 * nothing is done there. A cluster is planned once; what is found of it afterwards is in `partial`.
 *
 * Not here: what names an owner, and what that is by now (services/restore/owner-elsewhere.ts).
 */
import type { Identity } from '../../core/graph/identity.ts'
import type { Uid } from '../../core/model/object.ts'
import { type OwnerElsewhereName, ownerElsewhereWith } from '../../core/model/rule/elsewhere.ts'
import type { Restorer } from '../../ports/restorer.ts'
import {
  type ArchivedObject,
  type ArchiveIndex,
  indexArchive,
} from '../../services/restore/archive-reader.ts'
import { namersOf, ownersElsewhereOf, type Site } from '../../services/restore/owner-elsewhere.ts'
import { planRestore, type Wishes } from '../../services/restore/restore-plan.ts'
import { type Restored, type RestoreParts, runRestore } from '../../services/restore/restore-run.ts'
import type { Step } from '../../services/restore/restore-step.ts'
import { existingAt, identityIn } from '../../services/restore/selection.ts'
import { kindsOf, surveyFor } from '../../services/restore/survey.ts'
import { type Trust, untrustedText } from '../../services/restore/trusted-record.ts'
import type { FarRestore } from '../print/restore-document.ts'
import type { ArchiveSource } from './archive-source.ts'

/** Those that the user named beside the one that is restored into. */
export async function sitesOf(
  restorers: readonly Restorer[],
  signal: AbortSignal,
): Promise<readonly Site[]> {
  const sites: Site[] = []
  for (const restorer of restorers) {
    const [id, kinds] = [await restorer.identify(signal), await kindsOf(restorer, signal)]
    sites.push({ id, into: id, restorer, kinds, steps: new Map() })
  }
  return sites
}

export interface AcrossAsked {
  /** What is restored in the first cluster: the object, and what it owned. */
  readonly from: { readonly cluster: string; readonly owners: readonly Identity[] }
  readonly namers: ArchiveIndex['namers']
  /** The cluster that is restored into among them, with its steps. */
  readonly sites: readonly Site[]
  readonly trust: Trust
  readonly at: number | undefined
  readonly wishes: Wishes
}

export interface AcrossPlan {
  readonly parts: readonly FarRestore[]
  /** Why something may be lacking; empty: nothing is. */
  readonly partial: string
}

/** Each cluster once: the nearest first, so that owners come before what names them. */
export async function planAcross(
  { log, codec }: ArchiveSource,
  asked: AcrossAsked,
  signal: AbortSignal,
): Promise<AcrossPlan> {
  const parts: FarRestore[] = []
  const doubts = new Set<string>()
  const queue = [asked.from]
  for (const { cluster, owners } of queue) {
    for (const far of [...(asked.namers.get(cluster) ?? [])].sort()) {
      const index = await indexArchive(log, codec, { cluster: far, trust: asked.trust }, signal)
      const doubt = untrustedText(index.untrusted)
      if (doubt !== '') doubts.add(`of cluster ${far}: ${doubt}`)
      const { objects: all } = index
      const objects = asked.at === undefined ? all : existingAt(all, asked.at)
      const chosen = namersOf(objects, cluster, owners)
      const planned = queue.find((each) => each.cluster === far)
      if (planned !== undefined) {
        const left = chosen.filter(({ uid }) => !planned.owners.some((each) => each.uid === uid))
        if (left.length > 0) doubts.add(leftText(left.length, far, cluster))
        continue
      }
      if (chosen.length === 0) continue
      parts.push(await partOf(far, chosen, asked, signal))
      queue.push({ cluster: far, owners: chosen.map(identityIn) })
    }
  }
  return { parts, partial: [...doubts].join('; ') }
}

function leftText(count: number, far: string, owners: string): string {
  return `what names owners of cluster ${owners} in cluster ${far}, which was planned before, is left out (${count}): restore it by name, after this`
}

async function partOf(
  far: string,
  chosen: readonly ArchivedObject[],
  { sites, wishes }: AcrossAsked,
  signal: AbortSignal,
): Promise<FarRestore> {
  const site = sites.find(({ id }) => id === far)
  if (site === undefined) return { from: far, into: null, unplanned: chosen, steps: [] }
  const survey = await surveyFor(chosen, site.kinds, site.restorer, signal)
  const elsewhere = await ownersElsewhereOf(chosen, sites, signal)
  const steps = planRestore(chosen, survey, wishes, elsewhere)
  site.steps = stepsByUid(steps)
  return { from: far, into: site.restorer.name, unplanned: [], steps }
}

export function stepsByUid(steps: readonly Step[]): ReadonlyMap<Uid, Step> {
  return new Map(steps.map((step) => [step.object.uid, step]))
}

/** A result, and the cluster that it is of. */
export interface RestoredIn {
  readonly from: string
  readonly restored: Restored
}

/** One cluster after the other, each with the uids that owners in those before it have by now. */
export async function* runAll(
  plans: readonly { readonly from: string; readonly steps: readonly Step[] }[],
  sites: readonly Site[],
  parts: Pick<RestoreParts, 'bodies' | 'dryRun'>,
  signal: AbortSignal,
): AsyncIterable<RestoredIn> {
  const made = new Map<string, Uid>()
  const note = (from: string, { uid, ...object }: ArchivedObject, now: Uid): void => {
    made.set(ownerElsewhereWith({ ...object, cluster: from, uid }), now)
  }
  const madeElsewhere = (owner: OwnerElsewhereName): Uid | undefined =>
    made.get(ownerElsewhereWith(owner))
  for (const { from, steps } of plans) {
    const site = sites.find(({ id }) => id === from)
    if (site === undefined) continue
    for (const step of steps) {
      if (step.type === 'keep' || step.type === 'link') note(from, step.object, step.uid)
    }
    const { restorer } = site
    for await (const restored of runRestore(steps, { ...parts, restorer, madeElsewhere }, signal)) {
      if (restored.uid !== undefined) note(from, restored.object, restored.uid)
      yield { from, restored }
    }
  }
}
