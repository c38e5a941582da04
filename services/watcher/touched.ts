/**
 * Entries of `Touched` gathered for one kind, until they are sent or something later is told of their object.
 *
 * What must stay true: of each uid only the newest entry is held, and none that is older than what was told of it.
 */
import type { TouchedEntry } from '../../core/event.ts'
import type { Uid } from '../../core/object.ts'

/** What one record may hold of them: users of other servers' kinds may type long uids, and a record has a limit of 1 MiB. */
const MOST_BYTES = 256 * 1024
/** No character of a string takes more in UTF-8. */
const CHARACTER_BYTES = 3

interface Gathered {
  readonly entries: Map<Uid, TouchedEntry>
  /** Of all that were added, at most. */
  bytes: number
}

/** Asked of every kind every second or so, nearly always in vain. */
const NONE: readonly number[] = []

export class TouchedBatch {
  readonly #most: number
  readonly #byPartition = new Map<number, Gathered>()

  /** `most` entries of a partition are sent off together. */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether what this partition now holds is to be sent off. */
  add(partition: number, entry: TouchedEntry): boolean {
    let gathered = this.#byPartition.get(partition)
    if (gathered === undefined) {
      gathered = { entries: new Map(), bytes: 0 }
      this.#byPartition.set(partition, gathered)
    }
    const { uid, hash, resourceVersion } = entry
    gathered.entries.set(uid, entry)
    gathered.bytes += CHARACTER_BYTES * (uid.length + hash.length + resourceVersion.length)
    return gathered.entries.size >= this.#most || gathered.bytes >= MOST_BYTES
  }

  drop(partition: number, uid: Uid): void {
    this.#byPartition.get(partition)?.entries.delete(uid)
  }

  takePartition(partition: number): readonly TouchedEntry[] {
    const gathered = this.#byPartition.get(partition)
    this.#byPartition.delete(partition)
    return gathered === undefined ? [] : [...gathered.entries.values()]
  }

  get partitions(): readonly number[] {
    if (this.#byPartition.size === 0) return NONE
    return [...this.#byPartition.keys()]
  }
}
