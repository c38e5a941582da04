/**
 * How the index of names follows `lineage`, of all partitions.
 *
 * What must stay true: of what is forgotten no name is left, whatever its history.
 *
 * Not here: when it reads (index-follower.ts), what is kept (name-key.ts), searching
 * (name-index.ts).
 */
import type { ClusterId, Uid } from '../../../../../core/model/object.ts'
import type { Page } from '../../../../../ports/log.ts'
import type { Codec } from '../../../../../ports/record/codec.ts'
import type { Lineage } from '../../../../../ports/record/lineage.ts'
import type { Store } from '../../../../../ports/store.ts'
import type { Turns } from '../../../turns.ts'
import { positionKey } from '../history-key.ts'
import { textAt } from '../index-key.ts'
import {
  clusterNameKey,
  clusterPartitionKey,
  type Indexed,
  indexedIn,
  keysOf,
  lastOf,
  nameChanges,
  uidKey,
} from '../name-key.ts'
import type { LineagePages } from './lineage-page.ts'
import { NO_CHECKPOINT } from './rounds.ts'

/** Of a page of the log, not written yet. */
type Changes = Map<string, Uint8Array | null>

export class NameFollower {
  readonly #codec: Codec
  readonly #store: Store
  readonly #turns: Turns

  /** `turns`: to be taken between any two entries. */
  constructor(codec: Codec, store: Store, turns: Turns) {
    this.#codec = codec
    this.#store = store
    this.#turns = turns
  }

  /** How far it has read. */
  position(partition: number): bigint {
    return BigInt(textAt(this.#store, positionKey('lineage', partition)) ?? '0')
  }

  async wipe(): Promise<void> {
    await this.#store.wipe()
  }

  /** False when there was nothing new. */
  async follow(partition: number, pages: LineagePages): Promise<boolean> {
    const known = this.position(partition)
    const page = await pages.from(known)
    if (page.next === known) return false
    const changes: Changes = new Map()
    await this.#take(changes, page, partition)
    changes.set(positionKey('lineage', partition), Buffer.from(page.next.toString()))
    await this.#store.write([...changes], NO_CHECKPOINT)
    return true
  }

  async #take(changes: Changes, { entries }: Page, partition: number): Promise<void> {
    const clusterNames = new Map<ClusterId, string>()
    for (const entry of entries) {
      await this.#turns.take()
      if (entry.value === null) {
        const [cluster = '', uid = ''] = entry.key.split('/')
        const last = this.#lastIn(changes, cluster, uid)
        if (last !== undefined) for (const key of keysOf(last)) changes.set(key, null)
        continue
      }
      const lineage = this.#codec.decode(entry.value) as Lineage
      const former = this.#lastIn(changes, lineage.cluster, lineage.uid)
      for (const change of nameChanges(lineage, former)) changes.set(...change)
      clusterNames.set(lineage.cluster, lineage.clusterName)
    }
    for (const [cluster, name] of clusterNames) {
      this.#put(changes, clusterNameKey(cluster), name)
      this.#put(changes, clusterPartitionKey(cluster), `${partition}`)
    }
  }

  #put(changes: Changes, key: string, text: string): void {
    if (textAt(this.#store, key) !== text) changes.set(key, Buffer.from(text))
  }

  /** Also of what the same page of the log says. */
  #lastIn(changes: Changes, cluster: ClusterId, uid: Uid): Indexed | undefined {
    const bytes = changes.get(uidKey(cluster, uid))
    if (bytes === null) return undefined
    return bytes === undefined ? lastOf(this.#store, cluster, uid) : indexedIn(bytes)
  }
}
