/**
 * Restoring over clusters: which objects of another cluster name what is restored as their owner by
 * `kinfold.io/owner`, and what such an owner is by now.
 *
 * What must stay true: an owner is the object of that cluster, uid and coordinates, and no other;
 * it is looked up in its own cluster, as an owner reference is in that of the object. Where no
 * context leads to that cluster nothing is said of it.
 *
 * Not here: what becomes of the annotation (restore-plan.ts), writing it (restore-run.ts).
 */
import type { Identity } from '../../core/graph/identity.ts'
import type { ClusterId, Uid } from '../../core/model/object.ts'
import {
  type OwnerElsewhereName,
  ownerElsewhere,
  ownerElsewhereWith,
} from '../../core/model/rule/elsewhere.ts'
import type { Restorer } from '../../ports/restorer.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { ownersOf } from './owner-status.ts'
import { type OwnerElsewhere, type OwnersElsewhere, referenceOf } from './restore-plan.ts'
import type { Step } from './restore-step.ts'
import { identityIn, type Objects, subtreeOf } from './selection.ts'
import { type Kinds, surveyFor } from './survey.ts'

/** A cluster to which a context leads. */
export interface Site {
  /** Of which it is restored. */
  readonly id: ClusterId
  /** Into which: the same one, unless that is gone. */
  readonly into: ClusterId
  readonly restorer: Restorer
  readonly kinds: Kinds
  /** What is planned there, by uid: empty, but for clusters that were planned before. */
  steps: ReadonlyMap<Uid, Step>
}

/** What names one of these owners, and its dependents, to any depth. */
export function namersOf(
  objects: Objects,
  cluster: ClusterId,
  owners: readonly Identity[],
): readonly ArchivedObject[] {
  const named = new Set(owners.map((owner) => ownerElsewhereWith({ ...owner, cluster })))
  const found = new Map<Uid, ArchivedObject>()
  for (const object of objects.values()) {
    if (!named.has(object.ownerElsewhere)) continue
    for (const each of subtreeOf(objects, identityIn(object))) found.set(each.uid, each)
  }
  return [...found.values()]
}

export async function ownersElsewhereOf(
  objects: readonly ArchivedObject[],
  sites: readonly Site[],
  signal: AbortSignal,
): Promise<OwnersElsewhere> {
  const texts = new Set(objects.map((object) => object.ownerElsewhere))
  const owners = [...texts].flatMap((text) => (text === '' ? [] : (ownerElsewhere(text) ?? [])))
  const known = new Map<string, OwnerElsewhere>()
  for (const site of sites) {
    const its = owners.filter(({ cluster }) => cluster === site.id)
    if (its.length === 0) continue
    const namers = its.map(namerOf)
    const survey = await surveyFor(namers, site.kinds, site.restorer, signal)
    for (const [index, owner] of its.entries()) {
      const [found] = ownersOf(namers[index]!, site.steps, survey)
      if (found === undefined) continue
      known.set(ownerElsewhereWith(owner), { status: found.status, cluster: site.into })
    }
  }
  return (owner) => known.get(ownerElsewhereWith(owner))
}

/** As if an object beside the owner named it by a reference: so it is looked up there. */
function namerOf(owner: OwnerElsewhereName): ArchivedObject {
  const { cluster, namespace } = owner
  return {
    ...{ type: 'Archived', cluster, namespace, ownerReferences: [referenceOf(owner)] },
    ...{ uid: '', group: '', kind: 'ConfigMap', name: '', version: 'v1', resource: 'configmaps' },
    ...{ resourceVersion: '', command: '', rule: '', createdAt: null, ownerElsewhere: '', at: 0 },
    ...{ content: 'metadata', keyId: '', nonce: new Uint8Array(), digest: '' },
    ...{ partition: 0, offset: 0n },
  }
}
