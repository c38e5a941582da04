/**
 * What the index keeps of histories: keys, and what is below them.
 *
 * What must stay true: the result of a live GET of an owner is kept below the object that the
 * reference names, by uid and coordinates, and never below another object that has the uid: any
 * user may write it into a reference.
 *
 * Not here: names, and the last record of an object (name-key.ts).
 */
import { coordinatesPart } from '../../../../core/graph/key.ts'
import type { Coordinates } from '../../../../core/model/object.ts'
import { objectKey } from '../../../../core/model/partition.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Entry, Topic } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { HistoryRecord } from '../../../../ports/record/lineage.ts'
import type { StoreChange } from '../../../../ports/store.ts'
import { part } from './index-key.ts'

type Keyed = Pick<HistoryRecord, 'cluster' | 'uid'>

/** Instead of what the key of an answer says of the owner. */
const IN_ITS_KEY = { cluster: '', uid: '', group: '', kind: '', namespace: '', name: '' }

/**
 * The value is stored as it came; only who asks for it decodes it. One that is large is stored
 * without the owners at once, and what a GET said of an owner without the owner.
 */
export function historyChange(
  codec: Codec,
  { offset, value }: Entry,
  record: HistoryRecord,
): StoreChange {
  // Its key says which owner it is about, and a tenant may name thousands (T10).
  if (record.change === 'owner') {
    const stored = codec.encode({ ...record, ...IN_ITS_KEY })
    return [answersPrefix(record) + offsetPart(offset), stored]
  }
  const { object } = record
  const isLong = object !== null && object.long !== null
  const short = isLong && { ...object, owners: [], long: null }
  const stored = short ? codec.encode({ ...record, object: short }) : value
  return [entriesPrefix(record) + offsetPart(offset), stored]
}

/** `of`: whose key it was read under. */
export function historyIn(codec: Codec, value: Uint8Array, of: Keyed & Coordinates): History {
  const change = changeIn(codec.decode(value) as HistoryRecord)
  if (change.cluster !== '') return change
  const { cluster, uid, group, kind, namespace, name } = of
  return { ...change, cluster, uid, group, kind, namespace, name }
}

/** What happened, without the object after it. */
export function changeIn({ object: _, ...change }: HistoryRecord): History {
  return change
}

export function entriesPrefix({ cluster, uid }: Keyed): string {
  return `entry/${part(objectKey(cluster, uid))}/`
}

/** Of what GETs said of the owner that is named by this uid at these coordinates. */
export function answersPrefix({ cluster, uid, ...place }: Keyed & Coordinates): string {
  return `answer/${part(objectKey(cluster, uid))}/${coordinatesPart(place)}/`
}

/** In the order of numbers. */
export function offsetPart(offset: bigint): string {
  return offset.toString().padStart(19, '0')
}

export function beginKey(partition: number): string {
  return `begin/history/${partition}`
}

export function positionKey(topic: Topic, partition: number): string {
  return `at/${topic}/${partition}`
}

/** How far names have read `lineage`. */
export function namesPositionKey(partition: number): string {
  return `at/names/${partition}`
}
