/**
 * Puts the events of a cluster on the log, all in its partition: gathered into appends, one append
 * at a time.
 *
 * What must stay true: records are on the log in the order in which they were published; `settled`
 * resolves only when everything published before is acknowledged. Callers wait for `room` between
 * pages and batches, so the queue stays bounded. A deletion says how long ago it may have been
 * observed when it is sent, and a heartbeat how long ago there was a sign of life, each time that
 * it is tried: the log gives it the time of the append, and the cluster may have been restored
 * since, or lost.
 *
 * Not here: which partition it is (assignment.ts), what is published (telling.ts).
 */
import type { Event, Heartbeat, ObjectDeleted, Unreadable } from '../../../core/model/event.ts'
import type { Appending } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { ObjectEdited } from '../../../ports/record/service-record.ts'
import type { WatcherObserver } from '../status.ts'
import type { Lag } from './lag.ts'
import type { LogDeps } from './log-retry.ts'
import { appendUntilDone } from './log-retry.ts'

export interface PublisherDeps extends LogDeps {
  readonly codec: Codec
  readonly lag: Lag
  /** Of `events`: the cluster's. */
  readonly partition: number
  readonly observer?: Pick<WatcherObserver, 'appended'>
}

/** An event published sooner than this has age 0. */
const AGE_TOLD_MS = 1_000
/** Readers have caught up by then. */
const DRAINED = 0.5

export type Tellable = Exclude<Event, Unreadable> | ObjectEdited

export class Publisher {
  readonly #deps: PublisherDeps
  readonly #signal: AbortSignal
  readonly #queue: Appending[] = []
  #queuedBytes = 0
  #told = 0
  #acked = 0
  #isPumping = false
  /** Monotonic: since when readers had to wait again and again. */
  #fullSinceMs: number | undefined
  /** Callers that wait for room or acknowledgement check again after each acknowledgement. */
  #progress = progress()
  /** Once the log is lost to us nothing more is expected of it. */
  #lost: { readonly reason: unknown } | undefined

  /** `signal` ends records that are still queued. */
  constructor(deps: PublisherDeps, signal: AbortSignal) {
    this.#deps = deps
    this.#signal = signal
    signal.addEventListener('abort', () => this.#lose(signal.reason), { once: true })
  }

  get acknowledged(): number {
    return this.#acked
  }

  get queued(): number {
    return this.#told - this.#acked
  }

  /** Of the bounds of the queue; nothing more is read beyond 1. */
  get #fullness(): number {
    const { queuedRecords, queuedBytes } = this.#deps.config
    return Math.max(this.queued / queuedRecords, this.#queuedBytes / queuedBytes)
  }

  tell(key: string, event: Tellable): void {
    const value = this.#deps.codec.encode(event)
    this.#enqueue({ key, value, ...this.#valueNow(event, value), ...this.#seen(event) })
  }

  /** Resolves when more may be published. Rejects when the log is lost to us. */
  async room(): Promise<void> {
    const { clock, lag } = this.#deps
    this.#throwIfLost()
    while (this.#fullness > 1) {
      this.#fullSinceMs ??= clock.monotonicMs()
      await this.#progress.promise
    }
    // The input that is read next waited elsewhere meanwhile; many short waits are one long one.
    if (this.#fullSinceMs !== undefined) lag.stood(clock.monotonicMs() - this.#fullSinceMs)
  }

  /** Resolves when everything published until now is acknowledged. */
  async settled(): Promise<void> {
    this.#throwIfLost()
    const last = this.#told
    while (this.#acked < last) await this.#progress.promise
  }

  #enqueue(record: Appending): void {
    this.#queue.push(record)
    this.#told++
    this.#queuedBytes += sizeOf(record)
    if (this.#isPumping) return
    this.#isPumping = true
    this.#pump().catch((error: unknown) => this.#lose(error))
  }

  #lose(reason: unknown): void {
    this.#lost ??= { reason }
    this.#progress.reject(this.#lost.reason)
  }

  #throwIfLost(): void {
    if (this.#lost !== undefined) throw this.#lost.reason
  }

  async #pump(): Promise<void> {
    // Everything published in the same turn is in the same append.
    await Promise.resolve()
    while (this.#queue.length > 0) {
      const { records, bytes } = this.#take()
      await appendUntilDone(this.#deps, 'events', this.#deps.partition, records, this.#signal)
      this.#acked += records.length
      this.#queuedBytes -= bytes
      this.#report(records)
      if (this.#fullness < DRAINED) this.#fullSinceMs = undefined
      this.#throwIfLost()
      const before = this.#progress
      this.#progress = progress()
      before.resolve()
    }
    this.#isPumping = false
  }

  /**
   * For events about one object: every other event is the watcher's own, and no reader waits for
   * it.
   */
  #seen({ type }: Tellable): Pick<Appending, 'seenMs'> {
    switch (type) {
      case 'ObjectAdded':
      case 'ObjectUpdated':
      case 'ObjectEdited':
      case 'ObjectDeleted':
        return { seenMs: this.#deps.clock.monotonicMs() }
      default:
        return {}
    }
  }

  #report(records: readonly Appending[]): void {
    const { observer, clock } = this.#deps
    if (observer?.appended === undefined) return
    const nowMs = clock.monotonicMs()
    for (const { seenMs } of records) if (seenMs !== undefined) observer.appended(nowMs - seenMs)
  }

  /** Where the value depends on when it is appended. */
  #valueNow(event: Tellable, value: Uint8Array): Pick<Appending, 'valueNow'> {
    if (event.type === 'ObjectDeleted') return { valueNow: this.#aging(event) }
    if (event.type === 'Heartbeat') return { valueNow: this.#agingBeat(event, value) }
    return {}
  }

  /** Whatever delays it, here or in the log's own client, it says how old it is by then. */
  #aging(event: ObjectDeleted): () => Uint8Array {
    const { clock, codec, lag } = this.#deps
    const seenMs = clock.monotonicMs() - lag.ageMs()
    return () => {
      const ageMs = Math.max(clock.monotonicMs() - seenMs, lag.ageMs())
      return codec.encode({ ...event, ageMs: ageMs < AGE_TOLD_MS ? 0 : Math.ceil(ageMs) })
    }
  }

  /** Life that waited for the log is as old as it is. */
  #agingBeat(event: Heartbeat, value: Uint8Array): () => Uint8Array {
    const { clock, codec } = this.#deps
    const toldMs = clock.monotonicMs()
    return () => {
      const waitedMs = Math.ceil(clock.monotonicMs() - toldMs)
      if (waitedMs < AGE_TOLD_MS) return value
      const kinds = event.kinds.map((each) => ({ ...each, ageMs: each.ageMs + waitedMs }))
      return codec.encode({ ...event, kinds })
    }
  }

  #take(): { readonly records: readonly Appending[]; readonly bytes: number } {
    const { appendRecords, appendBytes } = this.#deps.config
    let count = 0
    let bytes = 0
    for (const record of this.#queue) {
      const size = sizeOf(record)
      if (count === appendRecords || (count > 0 && bytes + size > appendBytes)) break
      count++
      bytes += size
    }
    return { records: this.#queue.splice(0, count), bytes }
  }
}

/** It may be rejected while no caller waits. */
function progress(): PromiseWithResolvers<void> {
  const next = Promise.withResolvers<void>()
  next.promise.catch(() => undefined)
  return next
}

function sizeOf(record: Appending): number {
  return record.key.length + (record.value?.byteLength ?? 0)
}
