/**
 * Fills what a store does not remember from the log, while the fold goes on: a store that was
 * brought up to the changelog remembers nothing of what changed meanwhile.
 *
 * What must stay true: it goes from what is remembered back, commit by commit, so the state of each
 * position that `FormerReach` names can be read all the while, and recent moments can be asked
 * first. A change that is known already is left as it is. It writes nothing: a store has one
 * writer.
 *
 * Not here: what is written with each commit (former-rows.ts).
 */
import { type Log, LogError } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type {
  FormerReach,
  FormerValues,
  PackedFormers,
} from '../../../../ports/record/former-value.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { PendingRows, putNumber } from './former-chain.ts'
import { REACH_KEY } from './former-key.ts'
import { valuesIn } from './former-record.ts'
import { changedRow, reachOf } from './former-rows.ts'

/**
 * Offsets of the log that are looked through for records at once, and changes of a step, unless one
 * record has more.
 */
const PAGE_OFFSETS = 64n
const STEP_CHANGES = 2_000

export interface FillingParts {
  readonly log: Log
  readonly codec: Codec
  readonly store: Pick<Store, 'get'>
  readonly partition: number
}

export class Filling {
  readonly #parts: FillingParts
  /** Records before this offset are older than what is remembered; undefined: to be searched. */
  #before: bigint | undefined

  constructor(parts: FillingParts) {
    this.#parts = parts
  }

  get isOver(): boolean {
    const { store, codec } = this.#parts
    return reachOf(store, codec)?.isFilled ?? true
  }

  /**
   * What to write next; none where all is filled. Nothing below a position that is forgotten:
   * chains of changes would lead to some that are gone.
   */
  async step(forgotten = 0n): Promise<readonly StoreChange[]> {
    try {
      return await this.#next(Number(forgotten))
    } catch (error) {
      // Its owner trimmed it between two reads: what is left of it is searched again.
      if (!(error instanceof LogError) || error.code !== 'OUT_OF_RANGE') throw error
      this.#before = undefined
      return []
    }
  }

  async #next(forgotten: number): Promise<readonly StoreChange[]> {
    const { store, codec } = this.#parts
    const reach = reachOf(store, codec)
    if (reach === undefined || reach.isFilled) return []
    if (reach.begin <= forgotten) {
      return [[REACH_KEY, codec.encode({ ...reach, isFilled: true, older: null })]]
    }
    this.#before ??= await this.#searched(reach.begin)
    const { found, next, isStart } = await this.#recordsBefore(this.#before)
    const pending = new PendingRows(store)
    let { begin, older } = reach
    let changes = 0
    let at = next
    let isEnd = isStart
    for (const { offset, record } of found) {
      if (changes >= STEP_CHANGES) {
        // Those before it are read again.
        ;[at, isEnd] = [offset + 1n, false]
        break
      }
      if (record.to > begin) continue
      if (record.to < begin) {
        isEnd = true
        break
      }
      const values = valuesIn(codec, record)
      changes += values.keys.length
      this.#insert(pending, record, values)
      begin = record.from
      if (older === null || older.end < begin) continue
      begin = older.begin
      older = null
      at = undefined
      isEnd = false
      break
    }
    this.#before = at
    const filled: FormerReach = { ...reach, begin, older: isEnd ? null : older, isFilled: isEnd }
    return [...pending.changes, [REACH_KEY, codec.encode(filled)]]
  }

  #insert(rows: PendingRows, record: PackedFormers, { keys, positions }: FormerValues): void {
    if (keys.length === 0) return
    const { codec } = this.#parts
    const number = record.to - 1
    const newest = new Map(keys.map((key, at) => [key, positions[at] ?? 0]))
    rows.put(...changedRow(codec, record))
    for (const [key, position] of newest) putNumber(rows, codec, key, { number, position })
  }

  /** Newest first, of some offsets before one; `next`: where older ones begin. */
  async #recordsBefore(before: bigint): Promise<{
    readonly found: readonly { readonly offset: bigint; readonly record: PackedFormers }[]
    readonly next: bigint | undefined
    readonly isStart: boolean
  }> {
    const { log, codec, partition } = this.#parts
    const { start } = await log.bounds('former', partition)
    const from = before - PAGE_OFFSETS > start ? before - PAGE_OFFSETS : start
    const found: { offset: bigint; record: PackedFormers }[] = []
    for (let at = from; at < before; ) {
      const options = { limit: Number(PAGE_OFFSETS), waitMs: 0 }
      const page = await log.read('former', partition, at, options)
      for (const { offset, value } of page.entries) {
        if (offset >= before || value === null) continue
        found.unshift({ offset, record: codec.decode(value) as PackedFormers })
      }
      if (page.next === at) break
      at = page.next
    }
    return { found, next: from, isStart: from <= start }
  }

  /** Behind the last record that ends by that position. */
  async #searched(begin: number): Promise<bigint> {
    const { log, codec, partition } = this.#parts
    let { start: low, end: high } = await log.bounds('former', partition)
    while (low < high) {
      const middle = (low + high) / 2n
      const page = await log.read('former', partition, middle, { limit: 1, waitMs: 0 })
      const [entry] = page.entries
      const record = entry?.value && (codec.decode(entry.value) as PackedFormers)
      if (entry === undefined || !record || record.to > begin) high = middle
      else low = entry.offset + 1n
    }
    return low
  }
}
