/**
 * The right to commit for one task of the embedded log.
 *
 * What must stay true: whether this task is still the owner is asked within the transaction that
 * writes, and nothing of a commit is written before.
 *
 * Not here: which task is the owner (log.ts). It is known only in memory, since the directory's
 * lock keeps every other process out.
 */
import {
  LogError,
  type TaskCommit,
  type TaskLog,
  type Topic,
  type TopicBatch,
} from '../../ports/log.ts'
import { checkRecords } from '../../ports/record/record-limit.ts'
import { sizeOf } from './limit.ts'
import type { WriteQueue } from './write-queue.ts'

export interface TaskAccess {
  readonly partition: number
  readonly fence: bigint
  readonly queue: WriteQueue
  laneOf(topic: Topic, partition: number): number
  isOwner(): boolean
  giveUp(): void
}

export class SqliteTaskLog implements TaskLog {
  readonly #access: TaskAccess
  #phase: 'usable' | 'failed' | 'closed' = 'usable'

  constructor(access: TaskAccess) {
    this.#access = access
  }

  get partition(): number {
    return this.#access.partition
  }

  get fence(): bigint {
    return this.#access.fence
  }

  async commit({ outputs, changelog }: TaskCommit): Promise<bigint> {
    try {
      const own: TopicBatch = { topic: 'changelog', partition: this.partition, records: changelog }
      return await this.#write([...outputs, own])
    } catch (error) {
      if (this.#phase === 'usable') this.#phase = 'failed'
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#phase = 'closed'
    if (this.#access.isOwner()) this.#access.giveUp()
  }

  async #write(batches: readonly TopicBatch[]): Promise<bigint> {
    const changelog = this.#access.laneOf('changelog', this.partition)
    const writes = batches
      .filter(({ records }) => records.length > 0)
      .map(({ topic, partition, records }) => {
        checkRecords(topic, records)
        return { lane: this.#access.laneOf(topic, partition), records }
      })
    const end = await this.#access.queue.add({
      bytes: writes.reduce((bytes, { records }) => bytes + sizeOf(records), 0),
      check: () => this.#check(),
      write: (tx) => {
        for (const { lane, records } of writes) tx.append(lane, records)
        return tx.head(changelog).next
      },
    })
    return BigInt(end)
  }

  #check(): void {
    const name = `Task ${this.partition}`
    switch (this.#phase) {
      case 'usable':
        if (this.#access.isOwner()) return
        throw new LogError('FENCED', `${name} has another owner: leave it to that one`)
      case 'failed':
      case 'closed':
        throw new LogError('CLOSED', `${name} is closed or failed before: open it again`)
    }
  }
}
