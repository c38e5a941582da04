/**
 * One partition's fold: fence, mark, restore, fold. The same four steps at start, after a rebalance
 * and after any error.
 *
 * What must stay true: the store only ever holds committed state, and the position is committed
 * with it. A commit is never retried: drop the overlay, take the task over again, and the changelog
 * shows whether it succeeded.
 *
 * Not here: which partitions this process has (ports/placement.ts), answering questions (query.ts).
 */
import { createHash } from 'node:crypto'
import type { StateReader } from '../../../core/graph/graph.ts'
import type { At, Outcome } from '../../../core/graph/outcome.ts'
import type { Event } from '../../../core/model/event.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Entry, Log, Page, TaskLog } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import { CodecError } from '../../../ports/record/codec.ts'
import type { MarkSettings } from '../../../ports/record/manager-mark.ts'
import type { OrderGiven } from '../../../ports/record/service-record.ts'
import type { Store } from '../../../ports/store.ts'
import { StoreError } from '../../../ports/store.ts'
import {
  BATCH_KEYS,
  BATCH_RECORDS,
  COUNT_WAIT_MS,
  DIGEST_RECORDS,
  END_EVERY_MS,
  IDLE_WAIT_MS,
  NEAR,
  ORDER_POLL_MS,
  ORDER_REST_MS,
  ORDER_WAIT_MS,
  type Pace,
  READ_LIMIT,
  READ_WAIT_MS,
  TAKE_OVER_ATTEMPTS,
  TAKE_OVER_WAITS,
  TURN_MS,
} from '../config.ts'
import { Batch } from './batch.ts'
import { checkFoldVersion } from './fold-version.ts'
import { Filling } from './former/filling.ts'
import { forgottenRows, rowsLeft, rowsOf } from './former/former-rows.ts'
import { RowStore } from './former/row-store.ts'
import { MarkedIndex } from './marked-index.ts'
import { type Found, NO_ORDER, orderOf, type Refused, readEvent } from './order.ts'
import { lost, restore } from './restore.ts'
import type { ClusterTally } from './tally.ts'
import { Tally } from './tally.ts'

export interface TaskOptions {
  readonly log: Log
  readonly codec: Codec
  readonly store: Store
  readonly partition: number
  readonly clock: Clock
  /** `NEAR` unless given. */
  readonly pace?: Pace | undefined
  /**
   * What facts were before each change is kept, so that moments can be asked; unless it says not.
   */
  readonly isRemembering?: boolean
  /** Of other tools, which answers read; left out: none. */
  readonly marks?: MarkSettings | undefined
  readonly observe?: TaskObserver
  /** Awaited whenever the task was taken over and its store is up to date, before it folds. */
  readonly restored?: () => Promise<void>
  /** Awaited whenever nothing was there to fold for as long as a read waits. */
  readonly idle?: () => Promise<void>
}

const FAULTS_EVERY_MS = 60_000

/** Called after the commit that made it so. */
export interface TaskObserver {
  /** `graph`: with the record folded, and valid until this returns. */
  folded?(event: Event, at: At, outcome: Outcome, graph: StateReader): void
  committed?(records: number, position: bigint): void
  takenOver?(why: string): void
  /** Of a node that was committed so, once a minute: a mistake of the fold, or a damaged store. */
  faults?(faults: readonly string[]): void
}

export interface TaskStatus {
  readonly state: TaskState
  readonly position: bigint
  readonly lagEntries: bigint
  /** Nodes of the sample of one a commit that were not as the facts around them say. */
  readonly faults: number
}

export type TaskState = 'fencing' | 'restoring' | 'folding' | 'stopped'

export class Task {
  readonly partition: number
  readonly #options: Omit<TaskOptions, 'store'> & { readonly store: RowStore }
  #state: TaskState = 'fencing'
  #position = 0n
  #end = 0n
  /** When the end of the log is asked for again. */
  #lookAt = Number.NEGATIVE_INFINITY
  #commits = 0
  #faults = 0
  /** No fault is reported before: a damaged store has one in each commit. */
  #faultsAtMs = Number.NEGATIVE_INFINITY
  #sinceDigest = 0
  /** After one that never came: no order is waited for before. */
  #waitNoOrderMs = Number.NEGATIVE_INFINITY
  /** No page is read before. */
  #readAtMs = Number.NEGATIVE_INFINITY
  /** The last read found nothing. */
  #isIdle = false
  readonly #pace: Pace
  #tally: Tally
  /** Undefined where no mark is read. */
  #marked: MarkedIndex | undefined
  #filling: Filling | undefined
  /** What events before it changed is forgotten. */
  #forgetBefore = 0n

  constructor(options: TaskOptions) {
    this.partition = options.partition
    this.#options = { ...options, store: RowStore.over(options.store, options.codec) }
    this.#pace = options.pace ?? NEAR
    this.#tally = new Tally(options.codec)
  }

  get #isRemembering(): boolean {
    return this.#options.isRemembering ?? true
  }

  get store(): RowStore {
    return this.#options.store
  }

  /** `lagEntries` is the number of offsets of events not folded yet, as of a second ago at most. */
  status(): TaskStatus {
    const lagEntries = this.#end > this.#position ? this.#end - this.#position : 0n
    return { state: this.#state, position: this.#position, lagEntries, faults: this.#faults }
  }

  /**
   * The counts of the store as of the last commit, by cluster; undefined while not all of it is
   * counted, or the task does not fold.
   */
  counts(): readonly ClusterTally[] | undefined {
    return this.#state === 'folding' && this.#tally.isWhole ? this.#tally.counts() : undefined
  }

  /**
   * Which objects bear marks of other tools, as of the last commit; undefined where it is not known
   * without reading all objects.
   */
  marked(): Pick<MarkedIndex, 'named'> | undefined {
    return this.#state === 'folding' ? this.#marked : undefined
  }

  /**
   * From now on moments before this position cannot be asked; a little is forgotten with each
   * commit.
   */
  forgetBefore(position: bigint): void {
    this.#forgetBefore = position
  }

  /**
   * Folds until the signal aborts or another process has the task; may be run again then. Rejects
   * when only a person can help.
   */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0
    // Of these, the failures that a reachable log returned.
    let attempts = 0
    while (!signal.aborted) {
      const before = this.#commits
      try {
        await this.#own(signal)
      } catch (error) {
        if (signal.aborted) break
        // From here on the store may be wiped: its content is no answer.
        this.#state = 'fencing'
        if (this.#commits > before) failures = attempts = 0
        failures += 1
        // A log that cannot be reached is waited for, however long: nothing is lost meanwhile.
        if (!(error instanceof LogError && error.remedy === 'retry')) attempts += 1
        if (!(await this.#mayGoOn(error, attempts))) break
        const waitMs = Math.min(TAKE_OVER_WAITS.firstMs * failures, TAKE_OVER_WAITS.mostMs)
        await this.#options.clock.sleep(waitMs, signal)
      }
    }
    this.#state = 'stopped'
  }

  /** False when another process has the task now; throws an error that only a person can mend. */
  async #mayGoOn(error: unknown, attempts: number): Promise<boolean> {
    if (error instanceof LogError && error.remedy === 'resign') return false
    const isPassing =
      (error instanceof LogError && (error.remedy === 'take-over' || error.remedy === 'retry')) ||
      (error instanceof StoreError && error.remedy === 'rebuild')
    if (!isPassing || attempts >= TAKE_OVER_ATTEMPTS) throw error
    if (error instanceof StoreError) await this.#options.store.wipe()
    this.#options.observe?.takenOver?.(error.message)
    return true
  }

  async #own(signal: AbortSignal): Promise<void> {
    const { log, codec, clock, store, partition, marks } = this.#options
    this.#state = 'fencing'
    await using owned = await log.openTask(partition)
    this.#state = 'restoring'
    const { position } = await restore(log, codec, store, partition, owned.fence, clock, signal)
    checkFoldVersion(position?.foldVersion)
    const batch = new Batch({
      store,
      codec,
      partition,
      partitions: log.partitions('events'),
      from: position,
      isRemembering: this.#isRemembering,
    })
    this.#position = batch.position.position
    this.#tally = new Tally(codec)
    this.#marked =
      marks === undefined || marks.tools.length === 0 ? undefined : new MarkedIndex(codec, marks)
    this.#filling = new Filling({ log, codec, store, partition })
    await this.#beginRemembering(batch.position.position)
    await this.#options.restored?.()
    this.#state = 'folding'
    while (!signal.aborted) await this.#turn(owned, batch, signal)
  }

  async #turn(owned: TaskLog, batch: Batch, signal: AbortSignal): Promise<void> {
    const { log, partition, clock } = this.#options
    const { position } = batch.position
    const earlyMs = this.#readAtMs - clock.monotonicMs()
    if (earlyMs > 0) await clock.sleep(earlyMs, signal)
    if (!this.#tally.isWhole) await this.#tally.goOn(this.store, batch.stored)
    else if (this.#marked?.isOver === false) await this.#marked.goOn(this.store)
    const isFilled = this.#filling?.isOver !== false
    const isCounted = this.#tally.isWhole && this.#marked?.isOver !== false
    const restMs = this.#isIdle ? IDLE_WAIT_MS : READ_WAIT_MS
    const waitMs = isCounted && isFilled ? restMs : COUNT_WAIT_MS
    const options = { limit: READ_LIMIT, waitMs }
    const read = await log.read('events', partition, position, options, signal)
    const page = await this.#withMore(read, signal)
    this.#end = await this.#endAfter(page)
    this.#isIdle = page.entries.length === 0
    if (this.#isIdle) await this.#options.idle?.()
    await this.#remember()
    let at = 0
    while (at < page.entries.length) {
      signal.throwIfAborted()
      at = await this.#foldSome(batch, page.entries, at, signal)
      await this.#commit(owned, batch, page.entries[at - 1])
      await this.#remember()
    }
    const tookAll = page.entries.length > 0 && page.entries.length < READ_LIMIT
    if (tookAll) this.#readAtMs = clock.monotonicMs() + this.#pace.gatherMs
  }

  /** A commit for each heartbeat is most of what a cluster costs in which nothing happens. */
  async #withMore(first: Page, signal: AbortSignal): Promise<Page> {
    const { log, codec, partition, clock } = this.#options
    const untilMs = clock.monotonicMs() + this.#pace.quietMs
    let all = first
    for (let news = first.entries; news.length > 0; ) {
      const waitMs = untilMs - clock.monotonicMs()
      const limit = READ_LIMIT - all.entries.length
      if (waitMs <= 0 || limit <= 0 || !areHeartbeats(codec, news)) break
      const more = await log.read('events', partition, all.next, { limit, waitMs }, signal)
      news = more.entries
      all = { entries: [...all.entries, ...news], next: more.next }
    }
    return all
  }

  /** A page ends at its limit, which is not the end of the log. */
  async #endAfter(page: Page): Promise<bigint> {
    const { log, clock, partition } = this.#options
    const known = page.next > this.#end ? page.next : this.#end
    if (page.entries.length === 0 || clock.monotonicMs() < this.#lookAt) return known
    this.#lookAt = clock.monotonicMs() + END_EVERY_MS
    return (await log.bounds('events', partition)).end
  }

  /** Folds until the batch is full; returns the index of the first entry that is not in it. */
  async #foldSome(
    batch: Batch,
    entries: readonly Entry[],
    from: number,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, observe } = this.#options
    const began = clock.monotonicMs()
    let turnAt = began + TURN_MS
    let index = from
    for (const entry of entries.slice(from)) {
      const read = this.#read(batch, entry)
      const event =
        read.type === 'OrderGiven' || read.type === 'Refused'
          ? await this.#orderOf(batch, entry, read, signal)
          : read
      const at: At = {
        partition: this.partition,
        partitions: batch.position.partitions,
        position: entry.offset,
        timestamp: entry.timestamp,
      }
      const folded = batch.fold(event, at)
      const outcome = folded instanceof Promise ? await folded : folded
      observe?.folded?.(event, at, outcome, batch.graph)
      index += 1
      const isFull = batch.records >= BATCH_RECORDS || batch.keys >= BATCH_KEYS
      if (isFull || clock.monotonicMs() - began >= this.#pace.batchMs) break
      if (clock.monotonicMs() < turnAt) continue
      await clock.sleep(0)
      turnAt = clock.monotonicMs() + TURN_MS
    }
    return index
  }

  #read(batch: Batch, entry: Entry): Event | OrderGiven | Refused {
    try {
      return readEvent(this.#options.codec, entry, batch.graph)
    } catch (error) {
      return this.#unreadable(batch, entry, error)
    }
  }

  async #orderOf(
    batch: Batch,
    entry: Entry,
    read: OrderGiven | Refused,
    signal: AbortSignal,
  ): Promise<Event> {
    try {
      const found = read.type === 'Refused' ? read : await this.#awaited(batch, read, signal)
      if (found.type === 'Refused') {
        this.#bury(batch, entry, found.why)
        return NO_ORDER
      }
      batch.obey(found.inForce)
      return found.order
    } catch (error) {
      return this.#unreadable(batch, entry, error)
    }
  }

  async #awaited(batch: Batch, given: OrderGiven, signal: AbortSignal): Promise<Found | Refused> {
    const { log, codec, clock } = this.#options
    const now = clock.monotonicMs()
    // A producer of `events` may name orders that never come: one of them is waited for only this
    // often.
    const isWaiting = now >= this.#waitNoOrderMs
    const untilMs = isWaiting ? now + ORDER_WAIT_MS : now
    for (;;) {
      const found = await orderOf(log, codec, given, batch.position)
      const mayCome = found.type === 'Refused' && found.isLater
      if (!mayCome) return found
      if (clock.monotonicMs() >= untilMs) {
        if (isWaiting) this.#waitNoOrderMs = clock.monotonicMs() + ORDER_REST_MS
        return found
      }
      await clock.sleep(ORDER_POLL_MS, signal)
      signal.throwIfAborted()
    }
  }

  #unreadable(batch: Batch, entry: Entry, error: unknown): Event {
    if (!(error instanceof CodecError)) throw error
    this.#bury(batch, entry, error.message)
    return { type: 'Unreadable', home: entry.key, reason: error.message }
  }

  #bury(batch: Batch, entry: Entry, reason: string): void {
    const value = this.#options.codec.encode({
      type: 'DeadLetter',
      topic: 'events',
      partition: this.partition,
      position: entry.offset,
      key: entry.key,
      reason,
      digest: createHash('sha256')
        .update(entry.value ?? new Uint8Array())
        .digest('hex'),
    })
    batch.deadLetter(entry.key, value)
  }

  /** What the store missed is filled from here back, also while nothing comes. */
  async #beginRemembering(position: bigint): Promise<void> {
    const { store, codec } = this.#options
    // First goes how far back it could be asked: what it missed meanwhile is not filled.
    if (!this.#isRemembering) return await this.#remember()
    const checkpoint = store.checkpoint()
    if (checkpoint === undefined) return
    const nothing = { changes: [], records: [], folded: { from: position, to: position } }
    await store.writeRows(rowsOf(store, codec, [], nothing), checkpoint)
  }

  /** A step each: of what was missed, and of what is to be forgotten. */
  async #remember(): Promise<void> {
    const { store, codec } = this.#options
    const checkpoint = store.checkpoint()
    if (checkpoint === undefined) return
    if (!this.#isRemembering) {
      const left = await rowsLeft(store)
      if (left.length > 0) await store.write(left, checkpoint)
      return
    }
    const missed = (await this.#filling?.step(this.#forgetBefore)) ?? []
    if (missed.length > 0) await store.write(missed, checkpoint)
    const rows = await forgottenRows(store, codec, this.#forgetBefore)
    if (rows.length > 0) await store.write(rows, checkpoint)
  }

  #note(faults: readonly string[]): void {
    const { clock, observe } = this.#options
    this.#faults += 1
    if (clock.monotonicMs() < this.#faultsAtMs) return
    this.#faultsAtMs = clock.monotonicMs() + FAULTS_EVERY_MS
    observe?.faults?.(faults)
  }

  async #commit(owned: TaskLog, batch: Batch, last: Entry | undefined): Promise<void> {
    const { store, observe } = this.#options
    const { records, position } = batch
    this.#sinceDigest += records
    const isDue = this.#sinceDigest >= DIGEST_RECORDS
    if (isDue) batch.putDigest()
    const faults = batch.faultsOfOne()
    const { changelog, outputs, rows } = batch.take(last)
    const end = await owned.commit({ changelog, outputs })
    // Offsets that were given before are given again: the content of the store is no longer on the
    // log.
    const least = (store.checkpoint()?.changelog ?? 0n) + BigInt(changelog.length)
    if (end < least) throw lost('changelog', this.partition, least, end)
    if (isDue) this.#sinceDigest = 0
    this.#tally.committed(batch.changes, batch.stored, batch.graph)
    this.#marked?.committed(batch.changes, batch.stored)
    await store.writeRows(rows, { changelog: end, position: position.position })
    batch.clear()
    this.#position = position.position
    this.#commits += 1
    if (faults.length > 0) this.#note(faults)
    observe?.committed?.(records, position.position)
  }
}

function areHeartbeats(codec: Codec, entries: readonly Entry[]): boolean {
  return entries.every(({ value }) => {
    try {
      return value !== null && codec.decode(value).type === 'Heartbeat'
    } catch (error) {
      if (error instanceof CodecError) return false
      throw error
    }
  })
}
