/**
 * A store as it was before the event at a position: a question that reads it does not know that it
 * is not the store of now.
 *
 * What must stay true: a key holds what it held before the first change at or behind the position,
 * else what it holds now. A page reads what the keys hold now before it reads what they held: what
 * changes in between is found there. It is the state alone; what is kept beside it is not in it.
 *
 * Not here: whether the position is remembered (`reachOf`), what is kept (former-rows.ts).
 */
import type { Codec } from '../../../../ports/record/codec.ts'
import {
  entriesIn,
  type KeyRange,
  type Store,
  type StoreEntry,
  type StorePage,
} from '../../../../ports/store.ts'
import { lastChangeIn } from './former-chain.ts'
import { END_OF_STATE, keyOfLast, lastKey } from './former-key.ts'
import { formerAt } from './former-rows.ts'
import { recentIn, valueIn } from './row.ts'
import type { RowReader } from './row-store.ts'

/** What a question reads of a store. */
export type StoreReader = Pick<Store, 'get' | 'page'>

/** Rows read at once. */
const PAGE_ROWS = 500

export function storeAt(store: RowReader, codec: Codec, position: bigint): StoreReader {
  return new Then(store, codec, Number(position))
}

class Then implements StoreReader {
  readonly #store: RowReader
  readonly #codec: Codec
  readonly #position: number

  constructor(store: RowReader, codec: Codec, position: number) {
    this.#store = store
    this.#codec = codec
    this.#position = position
  }

  get(key: string): Uint8Array | undefined {
    const former = this.#former(key)
    return former === undefined ? this.#store.get(key) : (former ?? undefined)
  }

  /** Null: there was none. Undefined: it holds now what it held then. */
  #former(key: string): Uint8Array | null | undefined {
    const former = formerAt(this.#store, this.#codec, key, this.#position)
    return former === undefined ? undefined : (former.value ?? null)
  }

  async page({ gte, lt, limit, take }: KeyRange): Promise<StorePage> {
    const end = lt < END_OF_STATE ? lt : END_OF_STATE
    const rows: StoreEntry[] = []
    for (let from = gte; from < end; ) {
      const now = await this.#store.rows({ gte: from, lt: end, limit: PAGE_ROWS })
      const last = now.rows.at(-1)
      const upTo = now.isCut && last !== undefined ? `${last[0]}\0` : end
      const held = new Map<string, Uint8Array | null>()
      for (const [key, row] of now.rows) {
        const isChanged = (recentIn(row)?.position ?? -1) >= this.#position
        const former = isChanged ? this.#former(key) : undefined
        held.set(key, former === undefined ? valueIn(row) : former)
      }
      for (const [key, value] of await this.#formers(from, upTo)) held.set(key, value)
      const keys = [...held.keys()].sort()
      for (const key of keys) {
        const value = held.get(key)
        if (value != null) rows.push([key, value])
      }
      if (take !== 'last' && rows.length > limit) break
      from = upTo
    }
    const isCut = rows.length > limit
    if (!isCut) return { rows, isCut }
    return { rows: take === 'last' ? rows.slice(-limit) : rows.slice(0, limit), isCut }
  }

  /**
   * Of the keys in a range that changed since, and have older changes or hold nothing now: what
   * each held then.
   */
  async #formers(gte: string, lt: string): Promise<Map<string, Uint8Array | null>> {
    const found = new Map<string, Uint8Array | null>()
    const range = { gte: lastKey(gte), lt: lastKey(lt), limit: PAGE_ROWS }
    for await (const [row, bytes] of entriesIn(this.#store, range)) {
      if (lastChangeIn(this.#codec, bytes).position < this.#position) continue
      const key = keyOfLast(row)
      const former = this.#former(key)
      if (former !== undefined) found.set(key, former)
    }
    return found
  }
}
