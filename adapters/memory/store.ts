/**
 * A Store in memory, for the playground, the simulator and tests.
 *
 * What must stay true: it keeps the whole contract (ports/store.contract.ts), so code that runs on
 * it runs on a disk. Its content outlives it: a new store over the same `MemoryStoreContent` is the
 * old one, opened again.
 *
 * Not here: damage; memory has none that a program could notice.
 */
import {
  type Checkpoint,
  type KeyRange,
  keysToRead,
  pageOfRead,
  type Store,
  type StoreChange,
  StoreError,
  type StorePage,
  type StoreView,
} from '../../ports/store.ts'
import { SortedMap } from './sorted-map.ts'

/** The content of a disk. */
export interface MemoryStoreContent {
  readonly entries: SortedMap
  checkpoint: Checkpoint | undefined
  /** A view from before a wipe does not belong to the present content. */
  wipes: number
}

export class MemoryStore implements Store {
  readonly content: MemoryStoreContent
  #closed = false

  constructor(
    content: MemoryStoreContent = {
      entries: new SortedMap(),
      checkpoint: undefined,
      wipes: 0,
    },
  ) {
    this.content = content
  }

  checkpoint(): Checkpoint | undefined {
    this.#assertOpen()
    return this.content.checkpoint
  }

  get(key: string): Uint8Array | undefined {
    this.#assertOpen()
    return this.content.entries.get(key)
  }

  async page(range: KeyRange): Promise<StorePage> {
    this.#assertOpen()
    return pageOf(this.content.entries, range)
  }

  view(): StoreView {
    this.#assertOpen()
    const { entries, wipes } = this.content
    const copy = entries.copy()
    return {
      page: async (range) => {
        this.#assertOpen()
        if (this.content.wipes !== wipes) throw closed('was wiped')
        return pageOf(copy, range)
      },
      [Symbol.asyncDispose]: async () => undefined,
    }
  }

  async write(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    this.#assertOpen()
    for (const [key] of changes) assertNotOwn(key)
    for (const [key, value] of changes) {
      if (value === null) this.content.entries.delete(key)
      else this.content.entries.set(key, value)
    }
    this.content.checkpoint = checkpoint
  }

  async wipe(): Promise<void> {
    this.#assertOpen()
    this.content.entries.clear()
    this.content.checkpoint = undefined
    this.content.wipes += 1
  }

  async verify(signal?: AbortSignal): Promise<void> {
    this.#assertOpen()
    signal?.throwIfAborted()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
  }

  #assertOpen(): void {
    if (this.#closed) throw closed('is closed')
  }
}

function pageOf(entries: SortedMap, range: KeyRange): StorePage {
  const read = entries.page(range.gte, range.lt, keysToRead(range), range.take)
  return pageOfRead(range, read)
}

function closed(what: string): StoreError {
  return new StoreError('CLOSED', `the memory store ${what}; open another one`)
}

/** The same rule as a store on a disk has: it keeps its own books under these keys. */
function assertNotOwn(key: string): void {
  if (key.startsWith('~')) {
    throw new RangeError(`store key ${key} is the store's own; use one that does not begin with ~`)
  }
}
