/**
 * One transaction of the memory log, over all the partitions it wrote to.
 *
 * What must stay true: it ends once, everywhere at the same moment.
 */
import type { Produced } from '../../ports/log.ts'
import type { MemoryPartition } from './log-partition.ts'

export class Transaction {
  readonly ended: Promise<'committed' | 'aborted'>
  readonly #resolve: (phase: 'committed' | 'aborted') => void
  readonly #partitions = new Set<MemoryPartition>()
  #phase: 'open' | 'committed' | 'aborted' = 'open'

  constructor() {
    const { promise, resolve } = Promise.withResolvers<'committed' | 'aborted'>()
    this.ended = promise
    this.#resolve = resolve
  }

  append(partition: MemoryPartition, records: readonly Produced[], now: number): bigint {
    this.#partitions.add(partition)
    return partition.append(records, now, this)
  }

  /** Does nothing when it has already ended: the first call decided. */
  end(phase: 'committed' | 'aborted'): void {
    if (this.#phase !== 'open') return
    this.#phase = phase
    for (const partition of this.#partitions) partition.settle(this, phase)
    this.#resolve(phase)
  }
}
