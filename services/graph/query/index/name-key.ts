/**
 * What the index keeps of objects by name and by uid: keys, and what is below them.
 *
 * What must stay true: an existing object has a key of its own ("there"), apart from deleted ones
 * ("gone", in order of time). Beside these each object has one that never changes ("name"), for
 * lists that are read in pages. The record of an object is below its uid alone.
 *
 * Not here: entries of histories (history-key.ts), searching (name-index.ts).
 */
import type { ClusterId, OwnerReference, Uid } from '../../../../core/model/object.ts'
import type { Lineage } from '../../../../ports/record/lineage.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { part } from './index-key.ts'

export interface Named {
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}

/** A reference. `isUnresolvable`: no edge leads to what it names. */
export interface NamedOwner extends Pick<OwnerReference, 'apiVersion' | 'kind' | 'name' | 'uid'> {
  readonly isUnresolvable?: true
}

export interface Indexed extends Named {
  /** It was deleted by then. */
  readonly isGone: boolean
  /** As it named them last; of a long list the first ones. */
  readonly owners: readonly NamedOwner[]
  /** How many more there are; left out for none. */
  readonly moreOwners?: number | undefined
}

/** Parts of a key up to its kind: what it is about, namespace, name, cluster, kind. */
const KIND_PARTS = 5
const NAMESPACE_PARTS = 2
const TIME_DIGITS = 16
const NO_BYTES = new Uint8Array()

/**
 * `former`: as its record before this had it, whose keys are there: most of what names an object
 * has named it before.
 */
export function nameChanges(lineage: Lineage, former: Indexed | undefined): StoreChange[] {
  const { cluster, uid, group, kind, namespace, name, at } = lineage
  const isGone = lineage.phase === 'gone'
  const owners = lineage.owners.map(({ apiVersion, kind, name, uid, standing }): NamedOwner => {
    const isUnresolvable = standing === 'unresolvable'
    return { apiVersion, kind, name, uid, ...(isUnresolvable && { isUnresolvable }) }
  })
  const moreOwners = lineage.moreOwners || undefined
  const named = { cluster, uid, group, kind, namespace, name }
  const last: Indexed = { ...named, at, isGone, owners, moreOwners }
  const keys = nameKeys(last)
  const there = former === undefined ? [] : nameKeys(former)
  const over = there.filter((key) => !keys.includes(key))
  const added = keys.filter((key) => !there.includes(key))
  return [
    ...over.map((key): StoreChange => [key, null]),
    ...added.map((key): StoreChange => [key, NO_BYTES]),
    [uidKey(cluster, uid), Buffer.from(JSON.stringify(last))],
  ]
}

/** All of an object as its last record has it. */
export function keysOf(object: Indexed): string[] {
  return [...nameKeys(object), uidKey(object.cluster, object.uid)]
}

/** Those of an earlier record are to be removed. */
function nameKeys(object: Indexed): readonly string[] {
  const { cluster, uid, group, kind, namespace, name, at, isGone, owners } = object
  const of = `${namePart(namespace, name)}${part(cluster)}/${kindPart(group, kind)}/`
  const state = isGone ? `gone/${of}${timePart(at)}/` : `there/${of}`
  const unresolved = owners.filter(({ isUnresolvable }) => isUnresolvable)
  const owned = new Set(unresolved.map((owner) => unresolvedPrefix(cluster, owner.uid)))
  return [
    `name/${of}${part(uid)}`,
    state + part(uid),
    ...[...owned].map((prefix) => prefix + part(uid)),
  ]
}

export function lastOf(
  store: Pick<Store, 'get'>,
  cluster: ClusterId,
  uid: Uid,
): Indexed | undefined {
  const bytes = store.get(uidKey(cluster, uid))
  return bytes === undefined ? undefined : indexedIn(bytes)
}

export function indexedIn(bytes: Uint8Array): Indexed {
  return JSON.parse(Buffer.from(bytes).toString()) as Indexed
}

export function uidKey(cluster: ClusterId, uid: Uid): string {
  return `${uidPrefix(uid)}${part(cluster)}`
}

export function uidPrefix(uid: Uid): string {
  return `uid/${part(uid)}/`
}

/** What keys of `listed` begin with. */
export function listPrefix(isGone: boolean): string {
  return isGone ? 'name/' : 'there/'
}

export function unresolvedPrefix(cluster: ClusterId, uid: Uid): string {
  return `unresolved/${part(cluster)}/${part(uid)}/`
}

export function namePart(namespace: string, name: string): string {
  return `${part(namespace)}/${part(name)}/`
}

export function kindPart(group: string, kind: string): string {
  return `${part(kind)}.${part(group)}`
}

export function timePart(at: number): string {
  const ms = Math.min(Math.max(0, Math.floor(at)), Number.MAX_SAFE_INTEGER)
  return `${ms}`.padStart(TIME_DIGITS, '0')
}

/** Up to its kind. */
export function kindPrefixIn(key: string): string {
  return `${key.split('/').slice(0, KIND_PARTS).join('/')}/`
}

export function namespacePrefixIn(key: string): string {
  return `${key.split('/').slice(0, NAMESPACE_PARTS).join('/')}/`
}

export function nameIn(key: string): string {
  return decodeURIComponent(key.split('/')[2] ?? '')
}

export function identityIn(key: string): [ClusterId, Uid] {
  const parts = key.split('/')
  return [decodeURIComponent(parts[3] ?? ''), decodeURIComponent(parts.at(-1) ?? '')]
}
