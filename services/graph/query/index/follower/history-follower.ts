/**
 * How the index of names and histories catches up with `lineage` and `history`.
 *
 * What must stay true: a null value of `lineage` is taken only once all history before it was: what
 * is forgotten stays forgotten, in whatever order the two are read. It never competes with the
 * fold: it pauses while many entries are appended.
 *
 * Not here: what is kept (name-key.ts, history-key.ts), how questions read it (history-index.ts).
 */
import type { ClusterId, Uid } from '../../../../../core/model/object.ts'
import type { Clock } from '../../../../../ports/clock.ts'
import type { Log, Page } from '../../../../../ports/log.ts'
import type { Codec } from '../../../../../ports/record/codec.ts'
import type { HistoryRecord, Lineage } from '../../../../../ports/record/lineage.ts'
import type { Store, StoreChange } from '../../../../../ports/store.ts'
import { Turns } from '../../../turns.ts'
import { beginKey, historyChange, positionKey } from '../history-key.ts'
import { textAt } from '../index-key.ts'
import { reachOfPartition } from '../log-reach.ts'
import {
  clusterNameKey,
  type Indexed,
  indexedIn,
  lastOf,
  nameChanges,
  uidKey,
} from '../name-key.ts'
import { Forgetting } from './forgetting.ts'
import { isOutdated, NO_CHECKPOINT, Rounds } from './rounds.ts'

/** Entries read at once, pages of each partition in a round, and the pause after each round. */
const PAGE_LIMIT = 500
const PAGES_PER_ROUND = 4
const PAUSE_MS = 200
/**
 * It must never compete with the fold: while more than so many entries are appended in a pause it
 * waits, until so many are pending.
 */
const BURST_ENTRIES = 200n
const MOST_WAITING = 200_000n
/** Pages that are forgotten in a round (forgetting.ts). */
const FORGOTTEN_PAGES = 4

const TOPICS = ['history', 'lineage'] as const
type Followed = (typeof TOPICS)[number]

/** Of a page of the log, not written yet. */
type Changes = Map<string, Uint8Array | null>

type End = readonly [topic: Followed, partition: number, end: bigint]

/** Where the history that it holds begins, in one partition of the log. */
export interface IndexBegin {
  /** Of the first entry that it read. */
  readonly offset: bigint
  /**
   * It holds all entries that were appended since then, in milliseconds; null where it missed none.
   */
  readonly at: number | null
}

export class HistoryFollower {
  readonly #log: Log
  readonly #codec: Codec
  readonly #store: Store
  readonly #rounds: Rounds
  readonly #forgetting: Forgetting
  /**
   * To be taken between any two entries: one of an object with many owners costs as much as
   * hundreds of others.
   */
  readonly #turns: Turns
  /**
   * Of the questions that join before its ends are requested: one question may ask for each of
   * hundreds of clusters, and each time it is a request to a broker.
   */
  #joined: Promise<bigint> | undefined
  #looking: Promise<unknown> = Promise.resolve()

  constructor(log: Log, codec: Codec, clock: Clock, store: Store) {
    this.#log = log
    this.#codec = codec
    this.#store = store
    this.#rounds = new Rounds({ clock, store, pauseMs: PAUSE_MS })
    this.#turns = new Turns(clock)
    this.#forgetting = new Forgetting(store, codec, this.#turns)
  }

  async run(signal: AbortSignal): Promise<void> {
    let isKnownWhole = false
    let end: bigint | undefined
    await this.#rounds.run(async () => {
      if (!isKnownWhole && (await this.#hasMissed())) await this.#store.wipe()
      isKnownWhole = true
      const before = end
      const ends = await this.#ends()
      end = ends.reduce((sum, [, , each]) => sum + each, 0n)
      const came = before === undefined ? 0n : end - before
      const isBurst = came > BURST_ENTRIES && (await this.lagEntries()) < MOST_WAITING
      return isBurst || (await this.#followAll(ends))
    }, signal)
  }

  /** How far it has read. */
  position(topic: Followed, partition: number): bigint {
    return BigInt(textAt(this.#store, positionKey(topic, partition)) ?? '0')
  }

  /** Undefined while it has read nothing there. */
  begin(partition: number): IndexBegin | undefined {
    const text = textAt(this.#store, beginKey(partition))
    if (text === undefined) return undefined
    const { offset, at } = JSON.parse(text)
    return { offset: BigInt(offset), at }
  }

  /** Entries of the log it has not read yet. */
  async lagEntries(): Promise<bigint> {
    return this.#leftOf(await this.#ends())
  }

  /**
   * Waits a moment for all that the log holds now; answers with how many entries of that it has not
   * read yet.
   */
  async caughtUp(): Promise<bigint> {
    this.#joined ??= this.#waited()
    return await this.#joined
  }

  async #waited(): Promise<bigint> {
    await this.#looking
    // A question from now on has to include entries that are appended from now on.
    this.#joined = undefined
    const look = this.#ends()
    this.#looking = look.catch(() => undefined)
    const ends = await look
    return await this.#rounds.waitFor(() => this.#leftOf(ends))
  }

  async #ends(): Promise<readonly End[]> {
    const all = TOPICS.flatMap((topic) =>
      Array.from({ length: this.#log.partitions(topic) }, async (_, each): Promise<End> => {
        return [topic, each, await this.#log.end(topic, each)]
      }),
    )
    return await Promise.all(all)
  }

  /** Of what lies before these ends. */
  #leftOf(ends: readonly End[]): bigint {
    let left = 0n
    for (const [topic, partition, end] of ends) {
      const at = this.position(topic, partition)
      if (end > at) left += end - at
    }
    return left
  }

  #isBefore([topic, partition, end]: End): boolean {
    return this.position(topic, partition) < end
  }

  /** It was away for so long that the log may no longer have the deletion of an entry here. */
  async #hasMissed(): Promise<boolean> {
    for (let p = 0; p < this.#log.partitions('lineage'); p++) {
      const at = this.position('lineage', p)
      if (at > 0n && at < (await this.#log.wholeFrom('lineage', p))) return true
    }
    return false
  }

  /** False when there was nothing new anywhere. */
  async #followAll(ends: readonly End[]): Promise<boolean> {
    let isNew = false
    // All ends are one request, a read of each partition is one each.
    for (const [topic, partition] of ends.filter((each) => this.#isBefore(each))) {
      for (let left = PAGES_PER_ROUND; left > 0; left--) {
        if (!(await this.#follow(topic, partition))) break
        isNew = true
      }
    }
    for (let left = FORGOTTEN_PAGES; left > 0 && (await this.#forgetOn()); left--) {
      isNew = true
    }
    return isNew
  }

  /** False when nothing is left to forget. */
  async #forgetOn(): Promise<boolean> {
    const changes = await this.#forgetting.goOn()
    if (changes === undefined) return false
    await this.#store.write(changes, NO_CHECKPOINT)
    return true
  }

  /** False when there was nothing new. */
  async #follow(topic: Followed, partition: number): Promise<boolean> {
    const known = this.position(topic, partition)
    const { page: read, from } = await this.#pageFrom(topic, partition, known)
    const page = topic === 'history' ? read : await this.#readable(partition, read)
    if (page.next === known) return false
    const changes: Changes = new Map()
    if (topic === 'history') await this.#takeHistory(changes, page, { partition, from })
    else await this.#takeLineage(changes, page)
    changes.set(positionKey(topic, partition), Buffer.from(page.next.toString()))
    await this.#store.write([...changes], NO_CHECKPOINT)
    return true
  }

  async #pageFrom(
    topic: Followed,
    partition: number,
    known: bigint,
  ): Promise<{ readonly page: Page; readonly from: bigint }> {
    const options = { limit: PAGE_LIMIT, waitMs: 0 }
    try {
      return { page: await this.#log.read(topic, partition, known, options), from: known }
    } catch (error) {
      if (!isOutdated(error)) throw error
      const { start } = await this.#log.bounds(topic, partition)
      // What was trimmed before it was ever read is no loss; what is beyond the end is, and what
      // was trimmed in between: it begins again.
      if (known >= start || (topic !== 'lineage' && known > 0n)) throw error
      return { page: await this.#log.read(topic, partition, start, options), from: start }
    }
  }

  /** Of `lineage`, up to the first null value, where history lags. */
  async #readable(partition: number, page: Page): Promise<Page> {
    const first = page.entries.findIndex(({ value }) => value === null)
    if (first < 0 || (await this.#isAtEndOfHistory(partition))) return page
    const entries = page.entries.slice(0, first)
    return { entries, next: page.entries[first]?.offset ?? page.next }
  }

  async #isAtEndOfHistory(partition: number): Promise<boolean> {
    return this.position('history', partition) >= (await this.#log.end('history', partition))
  }

  async #takeHistory(
    changes: Changes,
    { entries }: Page,
    { partition, from }: { readonly partition: number; readonly from: bigint },
  ): Promise<void> {
    if (this.begin(partition) === undefined)
      changes.set(...(await this.#beginning(partition, from)))
    for (const entry of entries) {
      await this.#turns.take()
      if (entry.value === null) continue
      const record = this.#codec.decode(entry.value) as HistoryRecord
      changes.set(...historyChange(this.#codec, entry, record))
    }
  }

  /**
   * With the first page: history that was trimmed before it was read is missing, and readers have
   * to know since when none is.
   */
  async #beginning(partition: number, from: bigint): Promise<StoreChange> {
    const reach = await reachOfPartition(this.#log, 'history', partition)
    const isWhole = from === 0n || reach.isWhole
    const made = { offset: isWhole ? '0' : `${from}`, at: isWhole ? null : reach.earliest }
    return [beginKey(partition), Buffer.from(JSON.stringify(made))]
  }

  async #takeLineage(changes: Changes, { entries }: Page): Promise<void> {
    const clusterNames = new Map<ClusterId, string>()
    for (const entry of entries) {
      await this.#turns.take()
      if (entry.value === null) {
        const [cluster = '', uid = ''] = entry.key.split('/')
        const last = this.#lastIn(changes, cluster, uid)
        const of = { cluster, uid, at: entry.timestamp }
        for (const change of await this.#forgetting.begin(of, last)) changes.set(...change)
        continue
      }
      const lineage = this.#codec.decode(entry.value) as Lineage
      const former = this.#lastIn(changes, lineage.cluster, lineage.uid)
      for (const change of nameChanges(lineage, former)) changes.set(...change)
      clusterNames.set(lineage.cluster, lineage.clusterName)
    }
    for (const [cluster, name] of clusterNames) {
      const key = clusterNameKey(cluster)
      if (textAt(this.#store, key) !== name) changes.set(key, Buffer.from(name))
    }
  }

  /** Also of what the same page of the log says. */
  #lastIn(changes: Changes, cluster: ClusterId, uid: Uid): Indexed | undefined {
    const bytes = changes.get(uidKey(cluster, uid))
    if (bytes === null) return undefined
    return bytes === undefined ? lastOf(this.#store, cluster, uid) : indexedIn(bytes)
  }
}
