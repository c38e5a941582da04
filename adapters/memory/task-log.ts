/**
 * The right to commit for one task, on the memory log.
 *
 * What must stay true: a commit's entries become visible together or never, and none of them once a
 * successor has taken over.
 *
 * Not here: which process gets the right (log.ts).
 */
import {
  LogError,
  type Produced,
  type TaskCommit,
  type TaskLog,
  type Topic,
} from '../../ports/log.ts'
import type { MemoryPartition } from './log-partition.ts'
import { Transaction } from './transaction.ts'

export interface LostFate {
  readonly type: 'lost'
  readonly took: boolean
}

export interface HeldFate {
  readonly type: 'held'
  /** Set before there was a commit to hold: it ends so as soon as it exists. */
  told: 'committed' | 'aborted' | null
  /** Replaced by the commit it holds. */
  end: (phase: 'committed' | 'aborted') => void
}

export type Fate = LostFate | HeldFate

/** The operations of a task on its log. */
export interface TaskAccess {
  readonly changelog: MemoryPartition
  /** Of the handle. */
  readonly closed: AbortSignal
  now(): number
  nextFate(): Fate | undefined
  /** The partition, or an error that says why these records cannot go there. */
  writable(topic: Topic, partition: number, records: readonly Produced[]): MemoryPartition
}

export class MemoryTaskLog implements TaskLog {
  readonly partition: number
  readonly fence: bigint
  readonly #access: TaskAccess
  #phase: 'owner' | 'superseded' | 'failed' | 'closed' = 'owner'
  #open: Transaction | undefined

  constructor(partition: number, fence: bigint, access: TaskAccess) {
    this.partition = partition
    this.fence = fence
    this.#access = access
  }

  async commit({ outputs, changelog }: TaskCommit): Promise<bigint> {
    this.#check()
    const batches = [
      ...outputs,
      { topic: 'changelog', partition: this.partition, records: changelog } as const,
    ]
    try {
      const writes = batches
        .filter(({ records }) => records.length > 0)
        .map(({ topic, partition, records }) => {
          return { at: this.#access.writable(topic, partition, records), records }
        })
      const transaction = new Transaction()
      for (const { at, records } of writes) transaction.append(at, records, this.#access.now())
      this.#open = transaction
      await this.#settle(transaction, this.#access.nextFate())
      return this.#access.changelog.end
    } catch (error) {
      if (this.#phase === 'owner') this.#phase = 'failed'
      throw error
    }
  }

  /** There is a successor: open transactions are aborted, as a broker does. */
  supersede(): void {
    if (this.#phase !== 'closed') this.#phase = 'superseded'
    this.#open?.end('aborted')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#phase = 'closed'
  }

  async #settle(transaction: Transaction, fate: Fate | undefined): Promise<void> {
    if (fate?.type === 'held') {
      fate.end = (phase) => transaction.end(phase)
      if (fate.told !== null) transaction.end(fate.told)
      await Promise.race([transaction.ended, aborted(this.#access.closed)])
      this.#check()
    } else {
      transaction.end(fate === undefined || fate.took ? 'committed' : 'aborted')
    }
    if (fate?.type === 'lost' || (await transaction.ended) === 'aborted') {
      throw new LogError(
        'UNKNOWN_OUTCOME',
        `It is unknown whether a commit of task ${this.partition} took effect: open the task again`,
      )
    }
  }

  #check(): void {
    if (this.#access.closed.aborted) {
      throw new LogError('CLOSED', `The log of task ${this.partition} is closed: open it again`)
    }
    switch (this.#phase) {
      case 'owner':
        return
      case 'superseded':
        throw new LogError(
          'FENCED',
          `Task ${this.partition} has another owner: leave it to that one`,
        )
      case 'failed':
      case 'closed':
        throw new LogError(
          'CLOSED',
          `Task ${this.partition} is closed or failed before: open it again`,
        )
    }
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}
