/**
 * Entries of `Touched` gathered for one kind, until they are sent or something later is told of their object.
 *
 * What must stay true: of each uid only the newest entry is held, and none that is older than what was told of it.
 */
import type { TouchedEntry } from '../../core/event.ts'
import type { Uid } from '../../core/object.ts'

/** Asked of every kind every second or so, nearly always in vain. */
const NONE: readonly number[] = []

export class TouchedBatch {
  readonly #byPartition = new Map<number, Map<Uid, TouchedEntry>>()

  /** How many this partition now holds. */
  add(partition: number, entry: TouchedEntry): number {
    let entries = this.#byPartition.get(partition)
    if (entries === undefined) {
      entries = new Map()
      this.#byPartition.set(partition, entries)
    }
    entries.set(entry.uid, entry)
    return entries.size
  }

  drop(partition: number, uid: Uid): void {
    this.#byPartition.get(partition)?.delete(uid)
  }

  takePartition(partition: number): readonly TouchedEntry[] {
    const entries = this.#byPartition.get(partition)
    this.#byPartition.delete(partition)
    return entries === undefined ? [] : [...entries.values()]
  }

  get partitions(): readonly number[] {
    if (this.#byPartition.size === 0) return NONE
    return [...this.#byPartition.keys()]
  }
}
