/**
 * A Store in a LevelDB directory.
 *
 * What must stay true: a returned value was written, under that key, by a run of whole writes from
 * the first one on; else it says `DAMAGED`. LevelDB under Node promises none of that by itself: it
 * opens over damage silently and acknowledges writes after a failed one that it then loses. Hence a
 * checksum in each value (sealed-value.ts), numbered batches (batch-number.ts), a reading of all
 * tables before each open (table-file.ts), and an end at the first error.
 *
 * Writes are not synced: the changelog is the truth, and after a power cut the store is an earlier
 * state of itself, or refused.
 *
 * Not here: replaying the changelog, deciding when to verify.
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
import { claimDirectory, emptyDirectory, openDatabase, releaseDirectory } from './directory.ts'
import { storeErrorOf } from './failure.ts'
import {
  type Books,
  bookEntries,
  type Database,
  loadBooks,
  OWN_KEYS,
  type Snapshot,
} from './own-keys.ts'
import { sealedForNow, unsealed } from './sealed-value.ts'
import { checkTables } from './table-file.ts'

export interface LevelStoreOptions {
  /** Made when it is not there. Nothing in it but LevelDB's files is ever deleted. */
  readonly directory: string
  /**
   * Whose state this is, such as log and partition; another one's store is refused with `FORMAT`.
   */
  readonly identity: string
  /** Wipe a store that is damaged or of another format or identity, instead of rejecting. */
  readonly rebuild?: boolean
  /** Called with the reason, before such a wipe. */
  readonly onRebuild?: (error: StoreError) => void
}

/** Entries checked between two turns of the event loop by `verify`. */
const VERIFY_PAGE = 1_000

/** The overhead of a change in LevelDB's log besides key and value, rounded up. */
const CHANGE_OVERHEAD_BYTES = 16

/** Rejects with `StoreError`: `LOCKED`, `DAMAGED`, `FORMAT`, `FULL` or `IO`. */
export async function openLevelStore(options: LevelStoreOptions): Promise<Store> {
  const directory = await claimDirectory(options.directory)
  try {
    return await opened(directory, options)
  } catch (error) {
    releaseDirectory(directory)
    throw storeErrorOf(error, directory)
  }
}

async function opened(directory: string, options: LevelStoreOptions): Promise<Store> {
  const { identity, rebuild = false, onRebuild } = options
  try {
    return new LevelStore(directory, identity, ...(await openDatabase(directory, identity)))
  } catch (cause) {
    const error = storeErrorOf(cause, directory)
    if (!rebuild || error.remedy !== 'rebuild') throw error
    onRebuild?.(error)
    await emptyDirectory(directory)
    return new LevelStore(directory, identity, ...(await openDatabase(directory, identity)))
  }
}

type Phase = 'idle' | 'writing' | 'wiping' | 'closed'

class LevelStore implements Store {
  readonly #directory: string
  readonly #identity: string
  #database: Database
  #books: Books
  #phase: Phase = 'idle'
  /** The write or wipe under way, or the last one. */
  #work: Promise<void> = Promise.resolve()
  /** The first error. Every later call throws it, until a wipe. */
  #failure: StoreError | undefined

  constructor(directory: string, identity: string, database: Database, books: Books) {
    this.#directory = directory
    this.#identity = identity
    this.#database = database
    this.#books = books
  }

  checkpoint(): Checkpoint | undefined {
    this.#assertUsable()
    return this.#books.checkpoint
  }

  get(key: string): Uint8Array | undefined {
    this.#assertUsable()
    try {
      const stored = this.#database.getSync(key)
      return stored === undefined ? undefined : unsealed(key, stored)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  async page(range: KeyRange): Promise<StorePage> {
    this.#assertUsable()
    try {
      return await pageOf(this.#database, range)
    } catch (error) {
      throw this.#failed(error)
    }
  }

  view(): StoreView {
    this.#assertUsable()
    const database = this.#database
    const snapshot = database.snapshot()
    return {
      page: async (range) => {
        this.#assertUsable()
        try {
          return await pageOf(database, range, snapshot)
        } catch (error) {
          // Its database was deleted by a wipe: that proves nothing about the present one.
          throw database === this.#database ? this.#failed(error) : this.#closed()
        }
      },
      [Symbol.asyncDispose]: async () => await snapshot.close(),
    }
  }

  async write(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    this.#assertUsable()
    for (const change of changes) assertNotOwn(change[0])
    // After an error the content of the log is unknown, and LevelDB may acknowledge later writes
    // and lose them (X4): so none follow.
    await this.#alone('writing', () => this.#writeBatch(changes, checkpoint))
  }

  async wipe(): Promise<void> {
    if (this.#phase === 'closed') throw this.#closed()
    await this.#alone('wiping', async () => {
      await this.#database.close()
      await emptyDirectory(this.#directory)
      this.#failure = undefined
      ;[this.#database, this.#books] = await openDatabase(this.#directory, this.#identity)
    })
  }

  async verify(signal?: AbortSignal): Promise<void> {
    this.#assertUsable()
    const database = this.#database
    try {
      await using snapshot = database.snapshot()
      // First: LevelDB may not survive reading a damaged one.
      await checkTables(this.#directory, signal)
      await loadBooks(database, snapshot, this.#identity, this.#directory)
      await checkValues(database, snapshot, signal)
    } catch (error) {
      signal?.throwIfAborted()
      const wasWiped = database !== this.#database
      if (!wasWiped) throw this.#failed(error)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#phase === 'closed') return
    this.#phase = 'closed'
    await this.#work.catch(() => {})
    await this.#database.close()
    releaseDirectory(this.#directory)
  }

  async #writeBatch(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    const { numbers } = this.#books
    const batch = this.#database.batch()
    let bytes = 0
    for (const change of changes) {
      // Many, and what takes a pair apart allocates.
      const key = change[0]
      const value = change[1]
      if (value === null) batch.del(key)
      // LevelDB's batch is a copy.
      else batch.put(key, sealedForNow(key, value))
      bytes += CHANGE_OVERHEAD_BYTES + key.length + (value?.length ?? 0)
    }
    const number = numbers.next
    numbers.add(bytes)
    for (const key of numbers.prune()) batch.del(key)
    for (const [key, stored] of bookEntries(number, numbers.first, bytes, checkpoint)) {
      batch.put(key, stored)
    }
    await batch.write()
    this.#books = { checkpoint, numbers }
  }

  async #alone(phase: 'writing' | 'wiping', action: () => Promise<void>): Promise<void> {
    if (this.#phase !== 'idle') {
      throw new Error(`the store is ${this.#phase} already; await that first: it has one writer`)
    }
    this.#phase = phase
    try {
      this.#work = action()
      await this.#work
    } catch (error) {
      throw this.#failed(error)
    } finally {
      if (this.#phase === phase) this.#phase = 'idle'
    }
  }

  #assertUsable(): void {
    if (this.#phase === 'closed') throw this.#closed()
    if (this.#failure !== undefined) throw this.#failure
  }

  /** Remembers the first error, unless the store was closed under the call. */
  #failed(error: unknown): StoreError {
    if (this.#phase === 'closed') return this.#closed()
    this.#failure ??= storeErrorOf(error, this.#directory)
    return this.#failure
  }

  #closed(): StoreError {
    return new StoreError('CLOSED', `the store in ${this.#directory} is closed; open it again`)
  }
}

/** LevelDB takes a limit of 32 bits. */
const MOST_READ = 2 ** 31 - 1

async function pageOf(
  database: Database,
  range: KeyRange,
  snapshot?: Snapshot,
): Promise<StorePage> {
  const limit = Math.min(keysToRead(range), MOST_READ)
  if (limit === 0) return { rows: [], isCut: false }
  const isLast = range.take === 'last'
  const lt = range.lt < OWN_KEYS ? range.lt : OWN_KEYS
  const options = { gte: range.gte, lt, limit, reverse: isLast }
  const read = await database.iterator(snapshot ? { ...options, snapshot } : options).all()
  if (isLast) read.reverse()
  const { rows, isCut } = pageOfRead(range, read)
  return { rows: rows.map(([key, stored]) => [key, unsealed(key, stored)]), isCut }
}

async function checkValues(
  database: Database,
  snapshot: Snapshot,
  signal: AbortSignal | undefined,
): Promise<void> {
  await using iterator = database.iterator({ snapshot })
  for (;;) {
    signal?.throwIfAborted()
    const page = await iterator.nextv(VERIFY_PAGE)
    if (page.length === 0) return
    for (const [key, stored] of page) unsealed(key, stored)
  }
}

function assertNotOwn(key: string): void {
  if (key.startsWith(OWN_KEYS)) {
    throw new RangeError(`store key ${key} is the store's own; use one that does not begin with ~`)
  }
}
