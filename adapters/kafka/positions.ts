/**
 * The positions of readers, in a compacted topic of our own: a group's offset has no room for a
 * reader's metadata (4 KiB at most), and needs a group.
 *
 * What must stay true: a saved position is loaded by every process, as soon as it was acknowledged.
 */
import type { Page, Produced, SavedPosition } from '../../ports/log.ts'

const PAGE = 1_000

export interface PositionsLog {
  append(partition: number, records: readonly Produced[]): Promise<bigint>
  read(partition: number, from: bigint, limit: number): Promise<Page>
  bounds(partition: number): Promise<{ readonly start: bigint; readonly end: bigint }>
}

export class Positions {
  readonly #log: PositionsLog
  readonly #partitions = new Map<number, { next: bigint; readonly values: Map<string, Buffer> }>()

  constructor(log: PositionsLog) {
    this.#log = log
  }

  async load(key: string, partition: number): Promise<SavedPosition | undefined> {
    const value = await this.value(key, partition)
    if (value === undefined) return undefined
    const { offset, detail } = JSON.parse(value.toString()) as { offset: string; detail: string }
    return { offset: BigInt(offset), detail }
  }

  async save(key: string, partition: number, { offset, detail }: SavedPosition): Promise<void> {
    const value = Buffer.from(JSON.stringify({ offset: offset.toString(), detail }))
    await this.put(key, partition, value)
  }

  async put(key: string, partition: number, value: Uint8Array): Promise<void> {
    await this.#log.append(partition, [{ key, value }])
  }

  /** Reads the records written since the last call. */
  async value(key: string, partition: number): Promise<Buffer | undefined> {
    const { start, end } = await this.#log.bounds(partition)
    let known = this.#partitions.get(partition)
    if (known === undefined) {
      known = { next: start, values: new Map() }
      this.#partitions.set(partition, known)
    }
    while (known.next < end) {
      const page = await this.#log.read(partition, known.next, PAGE)
      for (const entry of page.entries) {
        if (entry.value !== null) known.values.set(entry.key, Buffer.from(entry.value))
      }
      known.next = page.next
    }
    return known.values.get(key)
  }
}
