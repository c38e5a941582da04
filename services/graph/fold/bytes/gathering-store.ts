/**
 * A write-behind store: several commits are gathered, so that a key that changes in each of them is
 * written once.
 *
 * What must stay true: every read sees every write, in points, pages and views alike; one write has
 * whole commits with the checkpoint of the last one. So after a crash the store is as it was some
 * commits ago, and a little more of the changelog is replayed. `checkpoint` is that of the last
 * commit: the log is compared with that.
 *
 * Not here: changes that are not committed (core/graph/graph.ts).
 */
import { rangeOf } from '../../../../core/graph/table.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { Clock } from '../../../../ports/clock.ts'
import {
  type Checkpoint,
  type KeyRange,
  keysToRead,
  pageOfRead,
  type Store,
  type StoreChange,
  type StoreEntry,
  StoreError,
  type StorePage,
  type StoreView,
} from '../../../../ports/store.ts'
import { GATHERED_BYTES, GATHERED_MS, GATHERED_WRITES } from '../../config.ts'

type Changes = ReadonlyMap<string, Uint8Array | null>
type Page = StoreView['page']

/** Keys that begin with it are the store's own. */
const OWN_KEYS = '~'
/**
 * After the prefix of a range it makes a key of that range, after a shorter one a key of another.
 */
const ANY_KEY = 'a/b/c'

export class GatheringStore implements Store {
  readonly #store: Store
  readonly #clock: Clock
  #changes = new Map<string, Uint8Array | null>()
  /** Changed keys by the ranges that a fold reads in pages. */
  #ranges = new Map<string, Set<string>>()
  #checkpoint: Checkpoint | undefined
  #writes = 0
  #bytes = 0
  #sinceMs = 0
  #isWriting = false

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Changes that are not written yet. */
  get gathered(): ReadonlyMap<string, Uint8Array | null> {
    return this.#changes
  }

  checkpoint(): Checkpoint | undefined {
    const written = this.#store.checkpoint()
    return this.#checkpoint ?? written
  }

  get(key: string): Uint8Array | undefined {
    const changed = this.#changes.get(key)
    const written = changed === undefined ? this.#store.get(key) : changed
    return written ?? undefined
  }

  async page(range: KeyRange): Promise<StorePage> {
    const pageOf: Page = async (each) => await this.#store.page(each)
    return await laidOver(pageOf, this.#changedIn(range), range)
  }

  view(): StoreView {
    const view = this.#store.view()
    const changes = new Map(this.#changes)
    return {
      page: async (range) => {
        const pageOf: Page = async (each) => await view.page(each)
        return await laidOver(pageOf, within(changes, changes.keys(), range), range)
      },
      [Symbol.asyncDispose]: async () => await view[Symbol.asyncDispose](),
    }
  }

  async write(changes: readonly StoreChange[], checkpoint: Checkpoint): Promise<void> {
    invariant(!this.#isWriting, 'a store has one writer')
    // It says what is wrong: that it is closed or damaged, or a key its own.
    this.#store.checkpoint()
    if (changes.some(isOwn)) {
      return await this.#store.write(changes, checkpoint)
    }
    if (this.#writes === 0) this.#sinceMs = this.#clock.monotonicMs()
    for (const change of changes) this.#change(change)
    this.#checkpoint = checkpoint
    this.#writes += 1
    const isOld = this.#clock.monotonicMs() - this.#sinceMs >= GATHERED_MS
    const isMuch = this.#writes >= GATHERED_WRITES || this.#bytes >= GATHERED_BYTES
    if (isOld || isMuch) await this.settle()
  }

  async wipe(): Promise<void> {
    this.#forget()
    await this.#store.wipe()
  }

  async verify(signal?: AbortSignal): Promise<void> {
    await this.#store.verify(signal)
  }

  /**
   * Writes the gathered commits: when there is time, and when the store below this gets another
   * owner.
   */
  async settle(): Promise<void> {
    const checkpoint = this.#checkpoint
    if (checkpoint === undefined) return
    this.#isWriting = true
    try {
      // Readers need the changes until they are written.
      await this.#store.write(changesIn(this.#changes), checkpoint)
      this.#forget()
    } finally {
      this.#isWriting = false
    }
  }

  /**
   * The same if possible: changes that are not written now are replayed. The store under this stays
   * open.
   */
  async leave(): Promise<void> {
    try {
      if (!this.#isWriting) await this.settle()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
    } finally {
      this.#forget()
    }
  }

  /** Closes the store under this, too. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave()
    await this.#store[Symbol.asyncDispose]()
  }

  #change(change: StoreChange): void {
    // Many, and what takes a pair apart allocates.
    const key = change[0]
    const value = change[1]
    this.#changes.set(key, value)
    this.#bytes += key.length + (value?.length ?? 0)
    const range = rangeOf(key)
    if (range === undefined) return
    const keys = this.#ranges.get(range)
    if (keys === undefined) this.#ranges.set(range, new Set([key]))
    else keys.add(key)
  }

  #forget(): void {
    this.#changes = new Map()
    this.#ranges = new Map()
    this.#checkpoint = undefined
    this.#writes = 0
    this.#bytes = 0
  }

  #changedIn(range: KeyRange): readonly StoreChange[] {
    const { lt } = range
    const last = lt.charCodeAt(lt.length - 1)
    const prefix = lt.slice(0, -1) + String.fromCharCode(last - 1)
    const isPrefix = range.gte.startsWith(prefix)
    const isRange = isPrefix && rangeOf(`${prefix}${ANY_KEY}`) === prefix
    const keys = isRange ? (this.#ranges.get(prefix) ?? []) : this.#changes.keys()
    return within(this.#changes, keys, range)
  }
}

function changesIn(changes: Changes): readonly StoreChange[] {
  const all: StoreChange[] = []
  changes.forEach((value, key) => {
    all.push([key, value])
  })
  return all
}

function isOwn(change: StoreChange): boolean {
  return change[0].startsWith(OWN_KEYS)
}

/** In order. */
function within(changes: Changes, keys: Iterable<string>, range: KeyRange): readonly StoreChange[] {
  const found: string[] = []
  for (const key of keys) if (key >= range.gte && key < range.lt) found.push(key)
  found.sort((a, b) => (a < b ? -1 : 1))
  return found.map((key) => [key, changes.get(key) ?? null])
}

/**
 * `changes` lie in the range, in order: also if some of them are written meanwhile, they are the
 * values of its keys.
 */
async function laidOver(
  pageOf: Page,
  changes: readonly StoreChange[],
  range: KeyRange,
): Promise<StorePage> {
  const enough = keysToRead(range)
  if (changes.length === 0 || enough === 0) return await pageOf(range)
  const isLast = range.take === 'last'
  // As they are met: from the end of the range that is asked for.
  const met = isLast ? changes.toReversed() : changes
  const entries: StoreEntry[] = []
  let next = 0
  for (let rest = storedIn(range, changes); ; ) {
    const { rows, isCut } = await pageOf(rest)
    for (const entry of isLast ? rows.toReversed() : rows) {
      for (; isBefore(met[next], entry[0], isLast); next++) take(met[next], entries)
      if (met[next]?.[0] !== entry[0]) entries.push(entry)
    }
    const upTo = (isLast ? rows[0] : rows.at(-1))?.[0]
    if (!isCut || upTo === undefined) break
    if (entries.length >= enough) break
    const most = rest.most - rows.length
    rest = isLast ? { ...rest, lt: upTo, most } : { ...rest, gte: `${upTo}\0`, most }
  }
  if (entries.length < enough) for (const change of met.slice(next)) take(change, entries)
  const read = entries.slice(0, enough)
  return pageOfRead(range, isLast ? read.reverse() : read)
}

/** What may be stored of the range: also each key that a gathered change removes. */
function storedIn(
  range: KeyRange,
  changes: readonly StoreChange[],
): KeyRange & { readonly most: number } {
  const removed = changes.reduce((sum, change) => sum + Number(change[1] === null), 0)
  const limit = Math.max(1, range.limit)
  return { ...range, limit, most: (range.most ?? Number.POSITIVE_INFINITY) + removed }
}

function isBefore(change: StoreChange | undefined, key: string, isLast: boolean): boolean {
  if (change === undefined) return false
  return isLast ? change[0] > key : change[0] < key
}

function take(change: StoreChange | undefined, entries: StoreEntry[]): void {
  const value = change?.[1] ?? null
  if (change !== undefined && value !== null) entries.push([change[0], value])
}
