/**
 * How the histories of one partition follow its `history`, and its `lineage` for what is forgotten.
 *
 * What must stay true: a null value of `lineage` is taken only once all history before it was: what
 * is forgotten stays forgotten, in whatever order the two are read.
 *
 * Not here: when it reads (index-follower.ts), what is kept (history-key.ts), how questions read it
 * (partition-histories.ts).
 */
import type { Page } from '../../../../../ports/log.ts'
import type { HistoryRecord } from '../../../../../ports/record/lineage.ts'
import type { StoreChange } from '../../../../../ports/store.ts'
import { beginKey, historyChange, positionKey } from '../history-key.ts'
import { textAt } from '../index-key.ts'
import { reachOfPartition } from '../log-reach.ts'
import { lastOf } from '../name-key.ts'
import type { FollowerParts } from './follower-parts.ts'
import { Forgetting } from './forgetting.ts'
import { type LineagePages, PAGE_LIMIT } from './lineage-page.ts'
import { isOutdated, NO_CHECKPOINT } from './rounds.ts'

/** Of a page of the log, not written yet. */
type Changes = Map<string, Uint8Array | null>

/** Where the history that it holds begins, in its partition of the log. */
export interface IndexBegin {
  /** Of the first entry that it read. */
  readonly offset: bigint
  /**
   * It holds all entries that were appended since then, in milliseconds; null where it missed none.
   */
  readonly at: number | null
}

export class HistoryFollower {
  readonly partition: number
  readonly #parts: FollowerParts
  readonly #forgetting: Forgetting
  /** It is written with the next entries of history, or with what is forgotten. */
  #lineage: bigint | undefined
  /** There may be pages that are marked. */
  #isForgetting = true
  /** Of history, when it was first known; undefined: it is not known yet. */
  #firstEnd: bigint | undefined

  constructor(parts: FollowerParts) {
    const { store, codec, turns } = parts
    this.partition = parts.partition
    this.#parts = parts
    this.#forgetting = new Forgetting(store, codec, turns)
  }

  /** How far it has read `history`. */
  get position(): bigint {
    return BigInt(textAt(this.#parts.store, positionKey('history', this.partition)) ?? '0')
  }

  /** How far it has read `lineage`. */
  get lineagePosition(): bigint {
    const key = positionKey('lineage', this.partition)
    this.#lineage ??= BigInt(textAt(this.#parts.store, key) ?? '0')
    return this.#lineage
  }

  /** It has read all that the log held when it began. */
  get isFollowing(): boolean {
    return this.#firstEnd !== undefined && this.position >= this.#firstEnd
  }

  /** Undefined while it has read nothing. */
  begin(): IndexBegin | undefined {
    const text = textAt(this.#parts.store, beginKey(this.partition))
    if (text === undefined) return undefined
    const { offset, at } = JSON.parse(text)
    return { offset: BigInt(offset), at }
  }

  /** The store is wiped. */
  startAnew(): void {
    this.#lineage = undefined
    this.#firstEnd = undefined
  }

  /** Of `history`. `end`: as it is now. */
  isBehind(end: bigint): boolean {
    this.#firstEnd ??= end
    return this.position < end
  }

  /** Of `history`: false when there was nothing new. */
  async follow(): Promise<boolean> {
    const known = this.position
    const { page, from } = await this.#pageFrom(known)
    if (page.next === known) return false
    const changes: Changes = new Map()
    await this.#take(changes, page, from)
    changes.set(positionKey('history', this.partition), Buffer.from(page.next.toString()))
    await this.#write(changes)
    return true
  }

  /** Of `lineage`, up to the first null value where history lags: false when nothing was new. */
  async followForgotten(pages: LineagePages): Promise<boolean> {
    const known = this.lineagePosition
    const page = await this.#readable(await pages.from(known))
    if (page.next === known) return false
    const changes: Changes = new Map()
    for (const entry of page.entries) {
      if (entry.value !== null) continue
      await this.#parts.turns.take()
      const [cluster = '', uid = ''] = entry.key.split('/')
      const of = { cluster, uid, at: entry.timestamp }
      // Names may have forgotten it already.
      const last = lastOf(this.#parts.store, cluster, uid)
      for (const change of await this.#forgetting.begin(of, last)) changes.set(...change)
      this.#isForgetting = true
    }
    this.#lineage = page.next
    if (changes.size > 0) await this.#write(changes)
    return true
  }

  /** Continues with what is to be forgotten; false when nothing is left. */
  async forgetOn(): Promise<boolean> {
    if (!this.#isForgetting) return false
    const changes = await this.#forgetting.goOn()
    this.#isForgetting = changes !== undefined
    if (changes === undefined) return false
    await this.#parts.store.write(changes, NO_CHECKPOINT)
    return true
  }

  async #write(changes: Changes): Promise<void> {
    const lineage = Buffer.from(this.lineagePosition.toString())
    changes.set(positionKey('lineage', this.partition), lineage)
    await this.#parts.store.write([...changes], NO_CHECKPOINT)
  }

  async #pageFrom(known: bigint): Promise<{ readonly page: Page; readonly from: bigint }> {
    const { log } = this.#parts
    const options = { limit: PAGE_LIMIT, waitMs: 0 }
    try {
      return { page: await log.read('history', this.partition, known, options), from: known }
    } catch (error) {
      if (!isOutdated(error)) throw error
      const { start } = await log.bounds('history', this.partition)
      // What was trimmed before it was ever read is no loss; what is beyond the end is, and what
      // was trimmed in between: it begins again.
      if (known >= start || known > 0n) throw error
      return { page: await log.read('history', this.partition, start, options), from: start }
    }
  }

  async #readable(page: Page): Promise<Page> {
    const first = page.entries.findIndex(({ value }) => value === null)
    if (first < 0 || (await this.#isAtEndOfHistory())) return page
    const entries = page.entries.slice(0, first)
    return { entries, next: page.entries[first]?.offset ?? page.next }
  }

  async #isAtEndOfHistory(): Promise<boolean> {
    return this.position >= (await this.#parts.log.end('history', this.partition))
  }

  async #take(changes: Changes, { entries }: Page, from: bigint): Promise<void> {
    const { codec, turns } = this.#parts
    if (this.begin() === undefined) changes.set(...(await this.#beginning(from)))
    for (const entry of entries) {
      await turns.take()
      if (entry.value === null) continue
      const record = codec.decode(entry.value) as HistoryRecord
      changes.set(...historyChange(codec, entry, record))
    }
  }

  /**
   * With the first page: history that was trimmed before it was read is missing, and readers have
   * to know since when none is.
   */
  async #beginning(from: bigint): Promise<StoreChange> {
    const reach = await reachOfPartition(this.#parts.log, 'history', this.partition)
    const isWhole = from === 0n || reach.isWhole
    const made = { offset: isWhole ? '0' : `${from}`, at: isWhole ? null : reach.earliest }
    return [beginKey(this.partition), Buffer.from(JSON.stringify(made))]
  }
}
