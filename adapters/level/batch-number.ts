/**
 * The numbers of the batches that may still be in LevelDB's write-ahead log, kept as keys
 * `~batch/<number>` next to their changes.
 *
 * What must stay true: the numbers in the store run from `first` to the last batch without a gap.
 * LevelDB under Node skips damaged records of its log when it opens and says nothing, so a gap is
 * the only trace of a lost batch (X1, X2). A number may therefore be removed only when its batch
 * has certainly left the log for a table.
 */

/**
 * Two logs can be alive, each of one write buffer (4 MiB) and the batch that overflowed it. Two
 * full buffers and two batches at their weight are 12 MiB, so a batch with more than this after it
 * is in no log.
 */
const KEPT_BYTES = 16 * 1024 * 1024

/** Larger batches weigh no more: each can overflow a log only once. */
const BATCH_WEIGHT_BYTES = 2 * 1024 * 1024

/**
 * Batch numbers removed by one write at most; after a run of tiny batches the surplus is removed by
 * the next writes.
 */
const PRUNED_PER_WRITE = 64

const PREFIX = '~batch/'

/** Enough for any number that JavaScript counts exactly. */
const DIGITS = 16

export function batchKey(number: number): string {
  return PREFIX + String(number).padStart(DIGITS, '0')
}

/** All batch keys from `first` on; older ones are delete markers, slow to scan. */
export function batchRange(first: number): { readonly gte: string; readonly lt: string } {
  return { gte: batchKey(first), lt: '~batch0' }
}

export class BatchNumbers {
  #first: number
  #next: number
  /** Weights of the batches from `#first` on, at `#head` and after it. */
  #weights: number[] = []
  #head = 0
  #keptBytes = 0

  /** The store's first batch is number 1. */
  constructor(first = 1) {
    this.#first = first
    this.#next = first
  }

  get first(): number {
    return this.#first
  }

  /** Number of the batch that comes next. */
  get next(): number {
    return this.#next
  }

  /** Counts the next batch in; its bytes are those it adds to the log. */
  add(bytes: number): void {
    const weight = Math.min(bytes, BATCH_WEIGHT_BYTES)
    this.#weights.push(weight)
    this.#keptBytes += weight
    this.#next++
  }

  /** The keys to delete along with the batch just counted in. */
  prune(): readonly string[] {
    const keys: string[] = []
    while (keys.length < PRUNED_PER_WRITE) {
      const weight = this.#weights[this.#head]!
      if (this.#keptBytes - weight <= KEPT_BYTES) break
      keys.push(batchKey(this.#first))
      this.#keptBytes -= weight
      this.#first++
      this.#head++
    }
    if (this.#head > 10_000) {
      this.#weights = this.#weights.slice(this.#head)
      this.#head = 0
    }
    return keys
  }
}
