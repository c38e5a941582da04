/**
 * The newest entries of a lane, kept for readers that follow it: nearly all of their reads ask for
 * entries that this process wrote a moment ago.
 *
 * What must stay true: only committed entries are here, without a gap up to the lane's end, and it
 * is bounded. These reads do not notice damage of the file and return the written entries; the
 * damage is reported at the next open and to readers of the file itself, such as audits.
 *
 * Not here: records that are read back from the file (record-table.ts).
 */
import type { Entry, Produced, Topic } from '../../ports/log.ts'

/** Followed closely within this process. Other topics are read late, or never. */
export const FOLLOWED: ReadonlySet<Topic> = new Set(['events', 'commands'])

/** Of all tails of a file: some thousands of entries, the largest lag of readers under load. */
export const TAIL_BYTES: number = 4 * 1024 * 1024
/** Roughly the size of an entry besides its content. */
const ENTRY_BYTES = 250
/**
 * Values are copied into slabs of a tail's own: otherwise they share memory with others that are
 * not read again, which would be held, too.
 */
const SLAB_BYTES = 64 * 1024

export class Tail {
  readonly #maxBytes: number
  #entries: Entry[] = []
  /** Index of the first that counts; those before it were released. */
  #from = 0
  #bytes = 0
  #slab = new Uint8Array(0)
  #used = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** These were committed as the lane's last, the first of them at `offset`. */
  append(offset: number, timestamp: number, records: readonly Produced[]): void {
    let at = BigInt(offset)
    for (const { key, value, trace } of records) {
      const entry = { offset: at++, timestamp, key, value: value && this.#copied(value) }
      this.#entries.push(trace === undefined ? entry : { ...entry, trace })
      this.#bytes += bytesOf(key, value)
    }
    while (this.#bytes > this.#maxBytes) this.#letGo()
    if (this.#from * 2 > this.#entries.length) {
      this.#entries = this.#entries.slice(this.#from)
      this.#from = 0
    }
  }

  /** From `offset` on, at most `limit`; undefined when any of that is not here. */
  read(offset: bigint, limit: number): readonly Entry[] | undefined {
    const first = this.#entries[this.#from]
    if (first === undefined || offset < first.offset) return undefined
    const begin = this.#from + Number(offset - first.offset)
    return this.#entries.slice(begin, begin + limit)
  }

  #copied(value: Uint8Array): Uint8Array {
    if (value.length > SLAB_BYTES / 8) return new Uint8Array(value)
    if (this.#used + value.length > this.#slab.length) {
      this.#slab = new Uint8Array(SLAB_BYTES)
      this.#used = 0
    }
    const copy = this.#slab.subarray(this.#used, this.#used + value.length)
    copy.set(value)
    this.#used += value.length
    return copy
  }

  #letGo(): void {
    const { key, value } = this.#entries[this.#from]!
    this.#bytes -= bytesOf(key, value)
    this.#from += 1
  }
}

function bytesOf(key: string, value: Uint8Array | null): number {
  return key.length + (value?.length ?? 0) + ENTRY_BYTES
}
