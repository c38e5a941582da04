/**
 * Entries of `Touched` gathered for one kind, until they are sent or a later event of their object
 * is published.
 *
 * What must stay true: of each uid only the newest entry is held, and none that is older than the
 * last published event of it.
 */
import type { TouchedEntry } from '../../../core/model/event.ts'
import type { Uid } from '../../../core/model/object.ts'

/**
 * The bound of one record: users of other servers' kinds may type long uids, and a record has a
 * limit.
 */
const MOST_BYTES = 256 * 1024
/** No character of a string takes more in UTF-8. */
const CHARACTER_BYTES = 3

/** Requested for every kind every second or so, nearly always empty. */
const NONE: readonly TouchedEntry[] = []

export class TouchedBatch {
  readonly #most: number
  readonly #entries = new Map<Uid, TouchedEntry>()
  /** Of all that were added, at most. */
  #bytes = 0

  /** `most` entries are sent off together. */
  constructor(most: number) {
    this.#most = most
  }

  /** Whether the gathered entries are to be sent. */
  add(entry: TouchedEntry): boolean {
    const { uid, hash, resourceVersion } = entry
    this.#entries.set(uid, entry)
    this.#bytes += CHARACTER_BYTES * (uid.length + hash.length + resourceVersion.length)
    return this.#entries.size >= this.#most || this.#bytes >= MOST_BYTES
  }

  drop(uid: Uid): void {
    this.#entries.delete(uid)
  }

  take(): readonly TouchedEntry[] {
    this.#bytes = 0
    if (this.#entries.size === 0) return NONE
    const taken = [...this.#entries.values()]
    this.#entries.clear()
    return taken
  }
}
