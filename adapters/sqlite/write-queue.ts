/**
 * Writes made in one turn of the event loop share a transaction, so that they share its fsync;
 * under load, those of a few milliseconds.
 *
 * What must stay true: writes happen in the order of their requests; a write that its own check
 * refuses fails alone; if a transaction fails, all writes in it fail, and each caller gets the
 * error.
 *
 * Not here: the effect of a write (log.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { LogFile, Transaction } from './log-file.ts'
import { Pace } from './pace.ts'

export interface Write<T> {
  /** Roughly, for the bounds. */
  readonly bytes: number
  /** Refuses by throwing, before anything is written. */
  check?(transaction: Transaction): void
  write(transaction: Transaction): T
}

interface Pending {
  readonly bytes: number
  /** Returns how to notify the caller, once the transaction is durable. */
  run(transaction: Transaction): () => void
  fail(error: unknown): void
}

/**
 * A transaction blocks the process: at these bounds for some 50 ms. A single larger write has a
 * transaction of its own.
 */
const MAX_TRANSACTION_BYTES = 8 * 1024 * 1024
const MAX_TRANSACTION_WRITES = 5_000
/**
 * With more than this waiting, a caller that asks for one more write waits for a transaction on the
 * spot.
 */
const MAX_PENDING_BYTES = 64 * 1024 * 1024

export class WriteQueue {
  readonly #file: LogFile
  readonly #now: () => number
  readonly #written: () => void
  readonly #monotonicMs: () => number
  readonly #pace: Pace
  #pending: Pending[] = []
  #pendingBytes = 0
  #scheduled = false

  /**
   * `now` is the log's own time. `written` is called after each transaction, before the callers
   * know.
   */
  constructor(file: LogFile, clock: Pick<Clock, 'now' | 'monotonicMs'>, written: () => void) {
    this.#file = file
    this.#now = () => clock.now()
    this.#written = written
    this.#monotonicMs = () => clock.monotonicMs()
    this.#pace = new Pace(this.#monotonicMs)
  }

  add<T>(write: Write<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const run = (transaction: Transaction): (() => void) => {
        try {
          write.check?.(transaction)
        } catch (error) {
          return () => reject(error)
        }
        const result = write.write(transaction)
        return () => resolve(result)
      }
      this.#pending.push({ bytes: write.bytes, run, fail: reject })
      this.#pendingBytes += write.bytes
      if (this.#pendingBytes > MAX_PENDING_BYTES) this.#flush()
      this.#schedule()
    })
  }

  /** Whether it was written a lot of late. */
  get isBusy(): boolean {
    return this.#pending.length > 0 || this.#pace.isBusy
  }

  /** Writes all that is pending now. */
  drain(): void {
    while (this.#pending.length > 0) this.#flush()
  }

  #schedule(): void {
    if (this.#scheduled || this.#pending.length === 0) return
    this.#scheduled = true
    const go = (): void => {
      this.#scheduled = false
      this.#flush()
      this.#schedule()
    }
    const waitMs = this.#pendingBytes < MAX_TRANSACTION_BYTES ? this.#pace.waitMs() : 0
    if (waitMs === 0) setImmediate(go)
    else setTimeout(go, waitMs)
  }

  #flush(): void {
    const batch = this.#take()
    if (batch.length === 0) return
    const began = this.#monotonicMs()
    try {
      const answers = this.#file.write(this.#now(), (transaction) =>
        batch.map((pending) => pending.run(transaction)),
      )
      this.#pace.spent(this.#monotonicMs() - began)
      this.#written()
      for (const answer of answers) answer()
    } catch (error) {
      for (const pending of batch) pending.fail(error)
    }
  }

  #take(): Pending[] {
    let bytes = 0
    let count = 0
    for (const pending of this.#pending) {
      bytes += pending.bytes
      if (count > 0 && (bytes > MAX_TRANSACTION_BYTES || count >= MAX_TRANSACTION_WRITES)) break
      count++
      this.#pendingBytes -= pending.bytes
    }
    return this.#pending.splice(0, count)
  }
}
