/**
 * The selected part of the archive: an object, and all its dependents.
 *
 * What must stay true: where several objects had a name in turn, only the user chooses among them.
 * A root need not be in the archive: an object that a user deleted is only known by those that
 * named it as their owner. A dependent references its owner by uid and coordinates: so below an
 * object of a namespace nothing is selected in another one, whatever uid a reference there has.
 */
import {
  type Identity,
  identityKey,
  identityOf,
  isNamedBy,
  isSameIdentity,
} from '../../core/graph/identity.ts'
import type { Coordinates, GroupKind, OwnerReference, Scope, Uid } from '../../core/model/object.ts'
import { kindOfReference } from '../../core/model/reference.ts'
import type { ArchivedObject } from './archive-reader.ts'

export type Selector =
  | { readonly uid: Uid }
  | { readonly kind: string; readonly name: string; readonly namespace: string }

/** What a rule had deleted since then. */
export interface RuleSelector {
  readonly rule: string
  /** In milliseconds. */
  readonly since: number
}

/**
 * What a rule had deleted since then, and all dependents of it: each once. A deletion that was
 * observed names no rule: the record `before` it does.
 */
export function deletedByRule(
  objects: Objects,
  before: Objects,
  { rule, since }: RuleSelector,
): readonly ArchivedObject[] {
  const found = new Map<Uid, ArchivedObject>()
  for (const object of objects.values()) {
    const by = before.get(object.uid)?.rule ?? object.rule
    if (by !== rule || object.at < since) continue
    for (const each of subtreeOf(objects, identityIn(object))) found.set(each.uid, each)
  }
  return [...found.values()]
}

/** One that the selector may mean. */
export interface Root {
  readonly identity: Identity
  /** When the last record about it was written. */
  readonly at: number
}

/** As the cluster serves it; undefined where it does not. */
export type ServedAs = (kind: GroupKind) => (GroupKind & { readonly scope: Scope }) | undefined

export type Objects = ReadonlyMap<Uid, ArchivedObject>

/**
 * Those that existed at that moment and were archived at it or later. Where it is unknown when one
 * was created, it counts as older.
 */
export function existingAt(objects: Objects, atMs: number): Objects {
  return new Map(
    [...objects].filter(([, { createdAt, at }]) => (createdAt ?? 0) <= atMs && atMs <= at),
  )
}

/**
 * Last first. The coordinates of an owner that is not in the archive are known only from references
 * to it; a kind that is absent from discovery counts as namespaced.
 */
export function rootsOf(objects: Objects, selector: Selector, servedAs: ServedAs): readonly Root[] {
  const roots = new Map<string, Root>()
  const add = (identity: Identity, at: number): void => {
    const key = identityKey(identity)
    roots.set(key, { identity, at: Math.max(at, roots.get(key)?.at ?? 0) })
  }
  const own = 'uid' in selector ? objects.get(selector.uid) : undefined
  if (own !== undefined) return [{ identity: identityIn(own), at: own.at }]
  for (const object of objects.values()) {
    if (isMeant(selector, object)) add(identityIn(object), object.at)
    for (const reference of object.ownerReferences) {
      const owner = ownerOf(object, reference, servedAs)
      if (owner !== undefined && isMeant(selector, owner)) add(owner, object.at)
    }
  }
  return [...roots.values()].sort((a, b) => b.at - a.at)
}

export function identityIn(object: ArchivedObject): Identity {
  return identityOf(object.cluster, object)
}

/** Undefined where the reference can name no object. */
function ownerOf(
  { cluster, namespace }: ArchivedObject,
  reference: OwnerReference,
  servedAs: ServedAs,
): Identity | undefined {
  const written = kindOfReference(reference)
  const served = servedAs(written)
  const { name, uid } = reference
  if (served?.scope === 'Namespaced' && namespace === '') return undefined
  const { group, kind } = served ?? written
  const where = served?.scope === 'Cluster' ? '' : namespace
  return identityOf(cluster, { group, kind, namespace: where, name, uid })
}

/**
 * The object, if it is in the archive, and its dependents, to any depth: each references its owner
 * by uid and coordinates.
 */
export function subtreeOf(objects: Objects, root: Identity): readonly ArchivedObject[] {
  const bearers = new Map<Uid, ArchivedObject[]>()
  for (const object of objects.values()) {
    for (const uid of new Set(object.ownerReferences.map((reference) => reference.uid))) {
      const known = bearers.get(uid)
      if (known === undefined) bearers.set(uid, [object])
      else known.push(object)
    }
  }
  const dependentsOf = (owner: Identity): ArchivedObject[] =>
    (bearers.get(owner.uid) ?? []).filter((each) => {
      return each.ownerReferences.some((reference) => isNamedBy(owner, each, reference))
    })
  const first = objects.get(root.uid)
  const found = new Map<Uid, ArchivedObject>()
  if (first !== undefined && isSameIdentity(identityIn(first), root)) found.set(first.uid, first)
  const owners = [root]
  const reach = (each: ArchivedObject): void => {
    if (found.has(each.uid)) return
    found.set(each.uid, each)
    owners.push(identityIn(each))
  }
  for (const owner of owners) for (const each of dependentsOf(owner)) reach(each)
  return [...found.values()]
}

interface Named extends Coordinates {
  readonly uid: Uid
  readonly resource?: string
}

function isMeant(selector: Selector, { uid, kind, name, namespace, resource }: Named): boolean {
  if ('uid' in selector) return uid === selector.uid
  if (name !== selector.name) return false
  if (namespace !== '' && namespace !== selector.namespace) return false
  const asked = selector.kind.toLowerCase()
  return [kind.toLowerCase(), `${kind.toLowerCase()}s`, resource].includes(asked)
}
