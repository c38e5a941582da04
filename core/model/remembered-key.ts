/**
 * Makers of keys that remember the last ones they made. A record asks for the same few again and
 * again, and a string that is the very same is neither built nor hashed again, which is a good part
 * of what a fold costs.
 *
 * What must stay true: the result equals a newly built key; every input is compared. Bounded: a
 * slot holds one key.
 *
 * Not here: what keys look like (partition.ts, graph/key.ts).
 */
import type { ClusterId, Coordinates, GroupKind, Uid } from './object.ts'

/** A power of two: far more than the objects that one record is about. */
const REMEMBERED = 64

interface UidSlot {
  readonly cluster: ClusterId
  readonly uid: Uid
  readonly key: string
}

export function rememberedByUid(
  make: (cluster: ClusterId, uid: Uid) => string,
): (cluster: ClusterId, uid: Uid) => string {
  const slots: (UidSlot | undefined)[] = emptySlots()
  return (cluster, uid) => {
    const at = slotOf(uid)
    const slot = slots[at]
    if (slot !== undefined && slot.uid === uid && slot.cluster === cluster) return slot.key
    const key = make(cluster, uid)
    slots[at] = { cluster, uid, key }
    return key
  }
}

interface KindSlot extends UidSlot {
  readonly group: string
  readonly kind: string
}

export function rememberedByKind(
  make: (cluster: ClusterId, kind: GroupKind, uid: Uid) => string,
): (cluster: ClusterId, kind: GroupKind, uid: Uid) => string {
  const slots: (KindSlot | undefined)[] = emptySlots()
  return (cluster, groupKind, uid) => {
    const { group, kind } = groupKind
    const at = uid === '' ? slotOf(kind) : slotOf(uid)
    const slot = slots[at]
    if (slot !== undefined && slot.uid === uid && slot.cluster === cluster) {
      if (slot.kind === kind && slot.group === group) return slot.key
    }
    const key = make(cluster, groupKind, uid)
    slots[at] = { cluster, uid, group, kind, key }
    return key
  }
}

interface PlaceSlot extends KindSlot {
  readonly namespace: string
  readonly name: string
}

export function rememberedByPlace(
  make: (cluster: ClusterId, uid: Uid, place: Coordinates) => string,
): (cluster: ClusterId, uid: Uid, place: Coordinates) => string {
  const slots: (PlaceSlot | undefined)[] = emptySlots()
  return (cluster, uid, place) => {
    const { group, kind, namespace, name } = place
    const at = uid === '' ? slotOf(name) : slotOf(uid)
    const slot = slots[at]
    if (slot !== undefined && slot.uid === uid && slot.cluster === cluster) {
      const isSameKind = slot.kind === kind && slot.group === group
      if (isSameKind && slot.name === name && slot.namespace === namespace) return slot.key
    }
    const key = make(cluster, uid, place)
    slots[at] = { cluster, uid, group, kind, namespace, name, key }
    return key
  }
}

function emptySlots(): undefined[] {
  return Array.from({ length: REMEMBERED }, () => undefined)
}

/** By its last two characters, which differ most in a uid. */
function slotOf(text: string): number {
  const { length } = text
  if (length < 2) return length
  return (text.charCodeAt(length - 1) ^ (text.charCodeAt(length - 2) << 2)) & (REMEMBERED - 1)
}
