/**
 * Puts objects into an order in which owners come before their dependents.
 *
 * What must stay true: whatever its depth, it takes no stack that grows; objects of an ownership
 * cycle, and their dependents, are listed apart. The same objects have the same order, in whatever
 * order they were archived: those without an owner among them first, each rank by kind, namespace
 * and name.
 */
import { isNamedBy } from '../../core/graph/identity.ts'
import type { Uid } from '../../core/model/object.ts'
import type { ArchivedObject } from './archive-reader.ts'
import { identityIn } from './selection.ts'

export interface Ordered {
  readonly ordered: readonly ArchivedObject[]
  /** In an ownership cycle, or below one. */
  readonly cyclic: readonly ArchivedObject[]
}

export function ownersFirst(objects: readonly ArchivedObject[]): Ordered {
  const chosen = objects.toSorted(byName)
  const left = new Map<Uid, number>()
  const dependents = new Map<Uid, ArchivedObject[]>()
  const byUid = new Map(chosen.map((object) => [object.uid, object]))
  for (const object of chosen) {
    const owners = new Set<Uid>()
    for (const reference of object.ownerReferences) {
      const owner = byUid.get(reference.uid)
      if (owner !== undefined && isNamedBy(identityIn(owner), object, reference))
        owners.add(owner.uid)
    }
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
  return { ordered, cyclic: chosen.filter(({ uid }) => (left.get(uid) ?? 0) > 0) }
}

function byName(one: ArchivedObject, other: ArchivedObject): number {
  const [a, b] = [nameOf(one), nameOf(other)]
  return a < b ? -1 : a > b ? 1 : 0
}

function nameOf({ kind, namespace, name, uid }: ArchivedObject): string {
  return [kind, namespace, name, uid].join(' ')
}
