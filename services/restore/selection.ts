/**
 * What of the archive is meant: an object, and all that hung on it.
 *
 * What must stay true: a name that several objects had in turn is nobody's choice to make but the person's. A root need not be in the archive: what a
 * person deleted is only known by those that named it as their owner.
 */
import type { Uid } from '../../core/model/object.ts'
import type { ArchivedObject } from './archive-reader.ts'

export type Selector =
  | { readonly uid: Uid }
  | { readonly kind: string; readonly name: string; readonly namespace: string }

/** One that the selector may mean. */
export interface Root {
  readonly uid: Uid
  readonly kind: string
  readonly name: string
  /** When the last record about it was written. */
  readonly at: number
}

export type Objects = ReadonlyMap<Uid, ArchivedObject>

/** Those that existed at that moment and were archived at it or later. Where it is unknown when one was created, it counts as older. */
export function existingAt(objects: Objects, atMs: number): Objects {
  return new Map(
    [...objects].filter(([, { createdAt, at }]) => (createdAt ?? 0) <= atMs && atMs <= at),
  )
}

/** Last first. */
export function rootsOf(objects: Objects, selector: Selector): readonly Root[] {
  const roots = new Map<Uid, Root>()
  const add = (uid: Uid, { kind, name }: { kind: string; name: string }, at: number): void => {
    roots.set(uid, { uid, kind, name, at: Math.max(at, roots.get(uid)?.at ?? 0) })
  }
  for (const object of objects.values()) {
    if (isMeant(selector, object, object.namespace)) add(object.uid, object, object.at)
    for (const owner of object.ownerReferences) {
      if (isMeant(selector, owner, object.namespace)) add(owner.uid, owner, object.at)
    }
  }
  return [...roots.values()].sort((a, b) => b.at - a.at)
}

/** The object, as far as it is there, and what hung on it, to any depth. */
export function subtreeOf(objects: Objects, root: Uid): readonly ArchivedObject[] {
  const dependents = new Map<Uid, ArchivedObject[]>()
  for (const object of objects.values()) {
    for (const { uid } of object.ownerReferences) {
      const known = dependents.get(uid)
      if (known === undefined) dependents.set(uid, [object])
      else known.push(object)
    }
  }
  const found = new Set<Uid>([root])
  for (const uid of found) for (const each of dependents.get(uid) ?? []) found.add(each.uid)
  return [...found].flatMap((uid) => objects.get(uid) ?? [])
}

interface Named {
  readonly uid: Uid
  readonly kind: string
  readonly name: string
  readonly resource?: string
}

/** An owner's reference has no namespace: it is its dependent's, or none. */
function isMeant(
  selector: Selector,
  { uid, kind, name, resource }: Named,
  namespace: string,
): boolean {
  if ('uid' in selector) return uid === selector.uid
  if (name !== selector.name) return false
  if (namespace !== '' && namespace !== selector.namespace) return false
  const asked = selector.kind.toLowerCase()
  return [kind.toLowerCase(), `${kind.toLowerCase()}s`, resource].includes(asked)
}
