/**
 * How the names of one partition follow its `lineage`.
 *
 * What must stay true: of what is forgotten no name is left, whatever its history.
 *
 * Not here: when it reads (index-follower.ts), what is kept (name-key.ts), searching
 * (name-index.ts).
 */
import type { ClusterId, Uid } from '../../../../../core/model/object.ts'
import type { Page } from '../../../../../ports/log.ts'
import type { Lineage } from '../../../../../ports/record/lineage.ts'
import { namesPositionKey } from '../history-key.ts'
import { textAt } from '../index-key.ts'
import { type Indexed, indexedIn, keysOf, lastOf, nameChanges, uidKey } from '../name-key.ts'
import type { FollowerParts } from './follower-parts.ts'
import type { LineagePages } from './lineage-page.ts'
import { NO_CHECKPOINT } from './rounds.ts'

/** Of a page of the log, not written yet. */
type Changes = Map<string, Uint8Array | null>

export class NameFollower {
  readonly #parts: FollowerParts
  /** Of `lineage`, when it was first known; undefined: it is not known yet. */
  #firstEnd: bigint | undefined
  #position: bigint | undefined

  constructor(parts: FollowerParts) {
    this.#parts = parts
  }

  /** How far it has read. */
  get position(): bigint {
    const { store, partition } = this.#parts
    this.#position ??= BigInt(textAt(store, namesPositionKey(partition)) ?? '0')
    return this.#position
  }

  /** It has read all that the log held when it began. */
  get isFollowing(): boolean {
    return this.#firstEnd !== undefined && this.position >= this.#firstEnd
  }

  /** `end`: as it is now. */
  isBehind(end: bigint): boolean {
    this.#firstEnd ??= end
    return this.position < end
  }

  /** The store is wiped. */
  startAnew(): void {
    this.#firstEnd = undefined
    this.#position = undefined
  }

  /** False when there was nothing new. */
  async follow(pages: LineagePages): Promise<boolean> {
    const { partition, store } = this.#parts
    const known = this.position
    const page = await pages.from(known)
    if (page.next === known) return false
    const changes: Changes = new Map()
    await this.#take(changes, page)
    changes.set(namesPositionKey(partition), Buffer.from(page.next.toString()))
    await store.write([...changes], NO_CHECKPOINT)
    this.#position = page.next
    return true
  }

  async #take(changes: Changes, { entries }: Page): Promise<void> {
    const { codec, turns } = this.#parts
    for (const entry of entries) {
      await turns.take()
      if (entry.value === null) {
        const [cluster = '', uid = ''] = entry.key.split('/')
        const last = this.#lastIn(changes, cluster, uid)
        if (last !== undefined) for (const key of keysOf(last)) changes.set(key, null)
        continue
      }
      const lineage = codec.decode(entry.value) as Lineage
      const former = this.#lastIn(changes, lineage.cluster, lineage.uid)
      for (const change of nameChanges(lineage, former)) changes.set(...change)
    }
  }

  /** Also of what the same page of the log says. */
  #lastIn(changes: Changes, cluster: ClusterId, uid: Uid): Indexed | undefined {
    const bytes = changes.get(uidKey(cluster, uid))
    if (bytes === null) return undefined
    return bytes === undefined ? lastOf(this.#parts.store, cluster, uid) : indexedIn(bytes)
  }
}
