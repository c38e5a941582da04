/**
 * The store of a fold: who reads the state sees values, who asks for moments their rows.
 *
 * What must stay true: a value that comes from the changelog says not in which record it was
 * changed, so what is known of its key's changes is put with the older ones before.
 *
 * Not here: what is in a row (row.ts), what a commit writes (former-rows.ts).
 */
import type { Codec } from '../../../../ports/record/codec.ts'
import type {
  Checkpoint,
  KeyRange,
  Store,
  StoreChange,
  StoreEntry,
  StorePage,
  StoreView,
} from '../../../../ports/store.ts'
import { PendingRows, putRecent } from './former-chain.ts'
import { END_OF_STATE } from './former-key.ts'
import { reachOf, since } from './former-rows.ts'
import { recentIn, rowOf, valueIn } from './row.ts'

/** Values of the state as they are stored; whatever is kept beside it as it is. */
export interface RowReader {
  get(key: string): Uint8Array | undefined
  page(range: KeyRange): Promise<StorePage>
  row(key: string): Uint8Array | undefined
  rows(range: KeyRange): Promise<StorePage>
}

export class RowStore implements Store, RowReader {
  readonly #store: Store
  readonly #codec: Codec

  constructor(store: Store, codec: Codec) {
    this.#store = store
    this.#codec = codec
  }

  /** Which has the rows. */
  get under(): Store {
    return this.#store
  }

  static over(store: Store, codec: Codec): RowStore {
    return store instanceof RowStore ? store : new RowStore(store, codec)
  }

  checkpoint(): Checkpoint | undefined {
    return this.#store.checkpoint()
  }

  get(key: string): Uint8Array | undefined {
    const row = this.#store.get(key)
    return row !== undefined && isOfState(key) ? valueIn(row) : row
  }

  row(key: string): Uint8Array | undefined {
    return this.#store.get(key)
  }

  async page(range: KeyRange): Promise<StorePage> {
    return valuesIn(await this.#store.page(range))
  }

  async rows(range: KeyRange): Promise<StorePage> {
    return await this.#store.page(range)
  }

  view(): StoreView {
    const view = this.#store.view()
    return {
      page: async (range) => valuesIn(await view.page(range)),
      [Symbol.asyncDispose]: async () => await view[Symbol.asyncDispose](),
    }
  }

  async write(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    const older = new PendingRows(this.#store)
    const reach = reachOf(this.#store, this.#codec)
    const rows = changes.map(([key, value]): StoreChange => {
      if (!isOfState(key)) return [key, value]
      const row = reach && this.#store.get(key)
      const recent = row && recentIn(row)
      if (recent !== undefined) putRecent(older, this.#codec, key, since(reach, recent))
      return [key, value && rowOf(value)]
    })
    await this.#store.write([...older.changes, ...rows], checkpoint)
  }

  /** As `formerRows` makes them. */
  async writeRows(rows: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    await this.#store.write(rows, checkpoint)
  }

  async wipe(): Promise<void> {
    await this.#store.wipe()
  }

  async verify(signal?: AbortSignal): Promise<void> {
    await this.#store.verify(signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]()
  }
}

function isOfState(key: string): boolean {
  return key < END_OF_STATE
}

function valuesIn({ rows, isCut }: StorePage): StorePage {
  return {
    rows: rows.map((entry): StoreEntry => {
      const [key, row] = entry
      return isOfState(key) ? [key, valueIn(row)] : entry
    }),
    isCut,
  }
}
