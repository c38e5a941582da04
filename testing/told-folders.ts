/**
 * Folders of any number of partitions, told what a watcher tells of one cluster with ReplicaSets and Pods.
 *
 * What must stay true: what a relist says that it listed is what it told, by partition.
 *
 * Not here: in what order the partitions fold (whoever uses it says), what comes of it.
 */
import { deepEqual } from 'node:assert/strict'
import { check } from '../core/check.ts'
import type { Event } from '../core/event.ts'
import { EMPTY_SET, withMember } from '../core/hash.ts'
import type { ObjectMeta } from '../core/object.ts'
import { partitionOfObject } from '../core/partition.ts'
import type { Policy } from '../core/policy.ts'
import type { Folders } from './folders.ts'
import { folders } from './folders.ts'
import { CLUSTER } from './model-cluster.ts'
import { object } from './notation.ts'
import { World } from './story.ts'

export class ToldFolders {
  readonly folders: Folders
  readonly partitions: number
  /** Log time, in milliseconds. */
  now = 0
  #version = 0
  #sync = 0

  constructor(partitions: number, policy: Policy) {
    this.partitions = partitions
    this.folders = folders(partitions, () => '')
    this.tell({ type: 'WatcherStarted', cluster: CLUSTER, epoch: 1, name: 'test', clusterEpoch: 1 })
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    const world = new World()
    for (const short of ['rs', 'pod']) {
      this.tell(world.served(short, true))
      this.relist(short, [])
    }
  }

  tell(event: Event): void {
    this.folders.append(event, this.now)
  }

  /** Each partition in turn, until nothing is left. */
  foldAll(): void {
    while (this.folders.waiting > 0) {
      for (const partition of this.folders.all.keys()) this.folders.foldNext(partition)
    }
  }

  put(text: string): ObjectMeta {
    const seen = object(text, String(++this.#version))
    this.tell({ type: 'ObjectAdded', cluster: CLUSTER, epoch: 1, sync: null, object: seen })
    return seen
  }

  remove(owner: ObjectMeta): void {
    const last = { ...owner, resourceVersion: String(++this.#version) }
    this.tell({ type: 'ObjectDeleted', cluster: CLUSTER, epoch: 1, object: last, ageMs: 0 })
  }

  /** What of a kind is still there. */
  relist(short: string, left: readonly ObjectMeta[]): void {
    const { group, kind } = object(`${short}/x`, '0')
    const about = { cluster: CLUSTER, epoch: 1, group, kind, sync: ++this.#sync }
    this.tell({ type: 'SyncStarted', ...about })
    for (const each of left) {
      const { cluster, epoch, sync } = about
      this.tell({ type: 'ObjectUpdated', cluster, epoch, sync, object: each })
    }
    const listed = Array.from({ length: this.partitions }, (_, partition) =>
      left
        .filter(({ namespace }) => this.homeOf(namespace) === partition)
        .reduce((set, { uid }) => withMember(set, uid), EMPTY_SET),
    )
    this.tell({ type: 'SyncFinished', ...about, resourceVersion: String(this.#version), listed })
  }

  beat(ms: number): void {
    this.now += ms
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
  }

  homeOf(namespace: string): number {
    return partitionOfObject(CLUSTER, namespace, this.partitions)
  }

  assertWhole(): void {
    for (const each of this.folders.all) {
      each.commit()
      deepEqual(check(each.state), [])
    }
  }
}
