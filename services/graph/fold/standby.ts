/**
 * A partition that another process folds, followed into a store here, so that taking it over is
 * short.
 *
 * What must stay true: it holds committed state only, with its checkpoint, as a task's store does;
 * it writes nothing to the log. Its content is disposable: if it is damaged or older than the
 * changelog's beginning, it is rebuilt.
 *
 * Not here: becoming the owner (task.ts restores the rest, over the same store).
 */

import type { Clock } from '../../../ports/clock.ts'
import type { Log } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Store } from '../../../ports/store.ts'
import { StoreError } from '../../../ports/store.ts'
import { Backoff } from '../../../runtime/retry.ts'
import { TAKE_OVER_WAITS } from '../config.ts'
import { RowStore } from './former/row-store.ts'
import { beginReplay } from './restore.ts'

export interface StandbyOptions {
  readonly log: Log
  readonly codec: Codec
  readonly store: Store
  readonly partition: number
  readonly clock: Clock
}

/**
 * How long a commit made here may take to become visible, and how often it is read: as long as an
 * open transaction may live, and some.
 */
const SETTLED_MS = 30_000
const SETTLED_STEP_MS = 50

/** More than any log ever has: a standby stops at no entry. */
const NO_END = 2n ** 63n

export class Standby {
  readonly partition: number
  readonly #options: Omit<StandbyOptions, 'store'> & { readonly store: RowStore }
  #position = 0n
  #next = 0n
  #end: bigint | undefined

  constructor(options: StandbyOptions) {
    this.partition = options.partition
    this.#options = { ...options, store: RowStore.over(options.store, options.codec) }
  }

  /**
   * `lagEntries` is the number of offsets of the changelog not read yet, as of the last page;
   * `opening` until it is known where that ends.
   */
  status(): {
    readonly state: 'opening' | 'following'
    readonly position: bigint
    readonly lagEntries: bigint
  } {
    const end = this.#end ?? 0n
    const lagEntries = end > this.#next ? end - this.#next : 0n
    const state = this.#end === undefined ? 'opening' : 'following'
    return { state, position: this.#position, lagEntries }
  }

  /** Until the signal aborts. Rejects when only a person can help. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options
    const backoff = new Backoff(TAKE_OVER_WAITS)
    while (!signal.aborted) {
      const before = this.#next
      try {
        await this.#follow(signal)
      } catch (error) {
        if (signal.aborted) return
        // What it has by then is not known before it follows again.
        this.#end = undefined
        await this.#mend(error)
        if (this.#next > before) backoff.reset()
        await clock.sleep(backoff.next(), signal)
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { log, codec, clock, store, partition } = this.#options
    const end = await this.#settledEnd(signal)
    const replay = await beginReplay(log, codec, store, partition, end, clock, signal)
    while (!signal.aborted) {
      this.#next = replay.next
      this.#position = replay.position?.position ?? 0n
      this.#end = (await log.bounds('changelog', partition)).end
      await replay.page(NO_END, signal)
    }
  }

  /**
   * Of the changelog. A store that folded here just now holds a commit whose markers readers may
   * not see yet: a commit beyond the end for longer than a transaction lives is reported as lost.
   */
  async #settledEnd(signal: AbortSignal): Promise<bigint> {
    const { log, clock, store, partition } = this.#options
    const deadline = clock.monotonicMs() + SETTLED_MS
    for (;;) {
      const { end } = await log.bounds('changelog', partition)
      const isBeyond = (store.checkpoint()?.changelog ?? 0n) > end
      if (!isBeyond || signal.aborted || clock.monotonicMs() >= deadline) return end
      await clock.sleep(SETTLED_STEP_MS, signal)
    }
  }

  /** Throws an error that only a person can mend. */
  async #mend(error: unknown): Promise<void> {
    if (error instanceof StoreError && error.remedy === 'rebuild') {
      return await this.#options.store.wipe()
    }
    // A store older than the beginning of the changelog is wiped when it begins again; a store
    // beyond its end is refused there.
    const isPassing = error instanceof LogError && error.remedy !== 'stop'
    if (!isPassing) throw error
  }
}
