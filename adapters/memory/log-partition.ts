/**
 * One partition of the memory log: its entries, the transactions open on it, and the readers that
 * wait for more.
 *
 * What must stay true: an offset is given once. Entries of an aborted transaction and the marker
 * that ends every transaction leave gaps, as on a real broker, and `end` never lies beyond the
 * first entry of an open transaction.
 *
 * Not here: which process may write (log.ts).
 */
import type { Entry, Page, Produced } from '../../ports/log.ts'

interface Stored {
  readonly entry: Entry
  /** The identity of the transaction that wrote it. */
  readonly transaction: object | undefined
}

export class MemoryPartition {
  readonly #waiting = new Set<() => void>()
  /**
   * Transactions that wrote here and have not ended, with the offset of the first entry of each.
   */
  readonly #open = new Map<object, bigint>()
  #entries: Stored[] = []
  #start = 0n
  #next = 0n

  append(records: readonly Produced[], timestamp: number, transaction?: object): bigint {
    const first = this.#next
    if (transaction !== undefined && !this.#open.has(transaction)) {
      this.#open.set(transaction, first)
    }
    for (const { key, value, trace } of records) {
      const bytes = value === null ? null : copyOf(value)
      const entry = { offset: this.#next++, timestamp, key, value: bytes }
      this.#entries.push({
        entry: trace === undefined ? entry : { ...entry, trace },
        transaction,
      })
    }
    this.#wake()
    return first
  }

  /** Writes the marker of a transaction that has ended. */
  settle(transaction: object, phase: 'committed' | 'aborted'): void {
    this.#open.delete(transaction)
    this.#next++
    if (phase === 'aborted') {
      this.#entries = this.#entries.filter((stored) => stored.transaction !== transaction)
    }
    this.#wake()
  }

  get start(): bigint {
    return this.#start
  }

  /** The last stable offset. */
  get end(): bigint {
    let end = this.#next
    for (const first of this.#open.values()) if (first < end) end = first
    return end
  }

  /** From `from` on; leads to the end when there is no more, so that gaps are not read again. */
  page(from: bigint, limit: number): Page {
    const end = this.end
    const entries: Entry[] = []
    for (let index = this.#indexOf(from); index < this.#entries.length; index++) {
      const { entry } = this.#entries[index]!
      if (entry.offset >= end) break
      if (entries.length === limit) return { entries, next: entries.at(-1)!.offset + 1n }
      entries.push(entry)
    }
    return { entries, next: end }
  }

  trim(before: bigint): void {
    this.#entries.splice(0, this.#indexOf(before))
    this.#start = before
  }

  /** Loses its end; open transactions lose their records here. Offsets are given again. */
  cutOff(from: bigint): void {
    this.#entries.splice(this.#indexOf(from))
    for (const [transaction, first] of this.#open) {
      if (first >= from) this.#open.delete(transaction)
    }
    if (from < this.#next) this.#next = from
  }

  /** Tombstones stay: a reader of the older value has to see that it was deleted. */
  compact(): void {
    const end = this.end
    const last = new Map<string, bigint>()
    for (const { entry } of this.#entries) if (entry.offset < end) last.set(entry.key, entry.offset)
    this.#entries = this.#entries.filter(
      ({ entry }) => entry.offset >= end || last.get(entry.key) === entry.offset,
    )
  }

  /** Calls back once, at the next change. The answer takes the call back. */
  onChange(callback: () => void): () => void {
    this.#waiting.add(callback)
    return () => this.#waiting.delete(callback)
  }

  #wake(): void {
    const waiting = [...this.#waiting]
    this.#waiting.clear()
    for (const callback of waiting) callback()
  }

  /** Of the first entry at or after `offset`. */
  #indexOf(offset: bigint): number {
    let [low, high] = [0, this.#entries.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#entries[middle]!.entry.offset < offset) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** Out of Node's pool: memory of its own costs ten times the copy. */
function copyOf(value: Uint8Array): Uint8Array {
  const copy = Buffer.allocUnsafe(value.length)
  copy.set(value)
  return new Uint8Array(copy.buffer, copy.byteOffset, copy.length)
}
