/**
 * A cluster over several partitions, as tests of what they tell each other need it: steps as methods, no chance anywhere.
 *
 * What must stay true: all that a step brings about is folded before the next one.
 */
import type { Event } from '../core/event.ts'
import { nodeOf } from '../core/graph.ts'
import { EMPTY_SET, withMember } from '../core/hash.ts'
import { partitionOfObject } from '../core/partition.ts'
import { policyFor } from '../core/policy.ts'
import type { Folders } from './folders.ts'
import { commandsOf, folders } from './folders.ts'
import { kindNotation, object } from './notation.ts'

const CLUSTER = 'c'
/** So few that they differ. */
export const PARTITIONS: number = [2, 3, 4, 5].find(
  (each) => partitionOfObject(CLUSTER, '', each) !== partitionOfObject(CLUSTER, 'ns', each),
) as number

/** A cluster whose namespaced and cluster-scoped objects have different homes; told step by step, all folded after each. */
export class PartitionWorld {
  readonly folders: Folders
  readonly #partitions: number
  #now = 0
  #version = 0
  #sync = 0
  #epoch = 0

  constructor(unmonitored: readonly string[] = [], partitions: number = PARTITIONS) {
    this.#partitions = partitions
    this.folders = folders(partitions, () => 'ns')
    this.start(1)
    for (const short of ['pod', 'pv', 'rs', 'widget']) {
      const monitored = !unmonitored.includes(short)
      this.serve(short, monitored)
      if (monitored) this.relist(short, [])
    }
    const policy = policyFor('enforce', 'parity')
    this.tell({ type: 'PolicyChanged', policy, who: 'test', why: 'test' })
  }

  serve(short: string, monitored: boolean): void {
    const { group, kind, resource, scope, version } = kindNotation(short)
    const about = { cluster: CLUSTER, epoch: this.#epoch, group, kind, resource, scope }
    const rest = { versions: [version], reason: '', ambiguous: false, aggregated: false }
    this.tell({ type: 'KindServed', ...about, ...rest, monitored })
  }

  gone(short: string): void {
    const { group, kind, resource } = kindNotation(short)
    this.tell({ type: 'KindGone', cluster: CLUSTER, epoch: this.#epoch, group, kind, resource })
  }

  start(clusterEpoch: number): void {
    this.#epoch += 1
    const about = { cluster: CLUSTER, name: 'test', epoch: this.#epoch, clusterEpoch }
    this.tell({ type: 'WatcherStarted', ...about })
  }

  tell(event: Event): void {
    this.folders.append(event, this.#now)
    while (this.folders.waiting > 0) {
      for (let each = 0; each < this.#partitions; each++) this.folders.foldNext(each)
    }
  }

  beat(seconds: number): void {
    this.#now += seconds * 1_000
    this.tell({ type: 'Heartbeat', cluster: CLUSTER, epoch: this.#epoch, kinds: [] })
  }

  put(text: string): void {
    this.#version += 1
    const seen = object(text, String(this.#version))
    const about = { cluster: CLUSTER, epoch: this.#epoch, sync: null }
    this.tell({ type: 'ObjectUpdated', ...about, object: seen })
  }

  remove(text: string): void {
    this.#version += 1
    const gone = object(text, String(this.#version))
    this.tell({
      type: 'ObjectDeleted',
      cluster: CLUSTER,
      epoch: this.#epoch,
      object: gone,
      ageMs: 0,
    })
  }

  /** Phase and verdict of an object, as a story tells them. */
  why(text: string): string {
    const { uid } = object(text, '0')
    for (const { graph } of this.folders.all) {
      const node = nodeOf(graph, CLUSTER, uid)
      if (node === undefined) continue
      const { type, evidence, because } = node.verdict ?? NO_VERDICT
      return `${node.phase}, ${type}${evidence === null ? '' : ` ${evidence}`}: ${because}`
    }
    return 'gone'
  }

  found(text: string): void {
    const seen = object(text, '1')
    const { group, kind, namespace, name, uid } = seen
    const asked = commandsOf(this.folders).findLast(({ type }) => type === 'VerifyOwner')
    const owner = { group, kind, namespace, name }
    const about = { cluster: CLUSTER, clusterEpoch: 1, owner, uid, object: seen }
    this.tell({ type: 'OwnerFound', ...about, command: asked?.id ?? '' })
  }

  relist(short: string, texts: readonly string[]): void {
    const { group, kind } = kindNotation(short)
    this.#sync += 1
    const sync = this.#epoch * 1_000_000 + this.#sync
    const about = { cluster: CLUSTER, epoch: this.#epoch, group, kind, sync }
    this.tell({ type: 'SyncStarted', ...about })
    const listed = Array.from({ length: this.#partitions }, () => EMPTY_SET)
    for (const text of texts) {
      this.#version += 1
      const seen = object(text, String(this.#version))
      const home = partitionOfObject(CLUSTER, seen.namespace, this.#partitions)
      listed[home] = withMember(listed[home] ?? EMPTY_SET, seen.uid)
      this.tell({ type: 'ObjectUpdated', cluster: CLUSTER, epoch: this.#epoch, sync, object: seen })
    }
    const resourceVersion = String(this.#version)
    this.tell({ type: 'SyncFinished', ...about, resourceVersion, listed })
  }

  /** Keys that speak of an owner, in all partitions, once all is folded. */
  keysOf(uid: string, types: readonly string[]): string[] {
    return this.folders.all.flatMap(({ state }) =>
      [...state]
        .filter(([key, { type }]) => types.includes(type) && key.includes(`/${uid}`))
        .map(([key]) => key),
    )
  }
}

const NO_VERDICT = { type: 'no verdict', evidence: null, because: '' } as const
