/**
 * Which partition a record belongs to: a cluster is one ordered log, and several clusters may share
 * a partition.
 *
 * What must stay true: all events of one cluster are in one total order. The key of a record names
 * its namespace too, so that one that cannot be read blocks that namespace only.
 */
import type { ClusterId, Uid } from './object.ts'
import { rememberedByUid } from './remembered-key.ts'

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
export const objectKey: (cluster: ClusterId, uid: Uid) => string = rememberedByUid(
  (cluster, uid) => `${cluster}/${uid}`,
)
