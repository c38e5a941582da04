/**
 * Which partition a record belongs to. Nothing else knows.
 *
 * What must stay true: the home of an object never changes while it lives, and neither does the number of partitions of a log, so all
 * events of one object are in one total order.
 */
import { hash32 } from './hash.ts'
import type { ClusterId, Coordinates, Uid } from './object.ts'

/** `cluster/namespace`; the namespace is empty for cluster-scoped objects. */
export type Home = string

export function homeOf(cluster: ClusterId, namespace: string): Home {
  return `${cluster}/${namespace}`
}

export function clusterOfHome(home: Home): ClusterId {
  const slash = home.indexOf('/')
  return slash < 0 ? home : home.slice(0, slash)
}

/** Key of records about one object. */
export function objectKey(cluster: ClusterId, uid: Uid): string {
  return `${cluster}/${uid}`
}

export function partitionOf(key: string, partitions: number): number {
  return hash32(key) % partitions
}

/** Whether an object at these coordinates has its home in this partition. One in a namespace is only ever named from there. */
export function isHome(
  at: { readonly partition: number; readonly partitions: number },
  cluster: ClusterId,
  place: Coordinates,
): boolean {
  if (at.partitions === 1 || place.namespace !== '') return true
  return partitionOfObject(cluster, '', at.partitions) === at.partition
}

export function partitionOfObject(
  cluster: ClusterId,
  namespace: string,
  partitions: number,
): number {
  return partitionOf(homeOf(cluster, namespace), partitions)
}
