/**
 * A folded log of one cluster with ReplicaSets and Pods, and the events that a watcher would append
 * to it.
 *
 * What must stay true: a relist reports exactly the objects that it listed. The lag of the fold is
 * the caller's choice.
 */
import { deepEqual } from 'node:assert/strict'
import { factsOf } from '../../core/graph/facts.ts'
import type { Event } from '../../core/model/event.ts'
import { EMPTY_SET, withMember } from '../../core/model/hash.ts'
import { admissionOf } from '../../core/model/node.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import type { Policy } from '../../core/model/policy.ts'
import { CLUSTER } from '../model/model-cluster.ts'
import { object } from '../model/notation.ts'
import { check } from '../model/state-check.ts'
import { World } from '../model/story.ts'
import type { FoldedLog } from './folded-log.ts'
import { foldedLog } from './folded-log.ts'

export class ToldLog {
  readonly log: FoldedLog = foldedLog()
  /** Log time, in milliseconds. */
  now = 0
  readonly #paces: readonly number[]
  #told = 0
  #version = 0
  #sync = 0

  /**
   * `paces`: how many entries are folded after each appended one, in turn; otherwise none is folded
   * before `foldAll`.
   */
  constructor(policy: Policy, paces: readonly number[] = []) {
    this.#paces = paces
    this.tell({
      type: 'WatcherStarted',
      serverTime: null,
      cluster: CLUSTER,
      epoch: 1,
      name: 'test',
      clusterEpoch: 1,
    })
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
    const world = new World()
    for (const short of ['rs', 'pod']) {
      this.tell(world.served(short, true))
      this.relist(short, [])
    }
  }

  tell(event: Event): void {
    this.log.append(event, this.now)
    const pace = this.#paces[this.#told++ % this.#paces.length] ?? 0
    for (let each = 0; each < pace; each++) this.log.foldNext()
  }

  foldAll(): void {
    this.log.foldAll()
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

  /** The objects of a kind that still exist. */
  relist(short: string, left: readonly ObjectMeta[]): void {
    const { group, kind } = object(`${short}/x`, '0')
    const about = { cluster: CLUSTER, epoch: 1, group, kind, sync: ++this.#sync }
    this.tell({ type: 'SyncStarted', ...about })
    for (const each of left) {
      const { cluster, epoch, sync } = about
      this.tell({ type: 'ObjectUpdated', cluster, epoch, sync, object: each })
    }
    const listed = left.reduce((set, { uid }) => withMember(set, uid), EMPTY_SET)
    this.tell({ type: 'SyncFinished', ...about, resourceVersion: String(this.#version), listed })
  }

  beat(ms: number): void {
    this.now += ms
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: 1, kinds: [] })
  }

  /** The verdict about an object and its evidence, and whether it is held. */
  verdictOf({ uid }: Pick<ObjectMeta, 'uid'>): string {
    const node = factsOf(this.log.folder.graph, CLUSTER).node(uid)
    const held = node !== undefined && admissionOf(node) !== null ? ' held' : ''
    return `${node?.verdict?.type} ${node?.verdict?.evidence}${held}`
  }

  assertWhole(): void {
    const { folder } = this.log
    folder.commit()
    deepEqual(check(folder.state), [])
  }
}
