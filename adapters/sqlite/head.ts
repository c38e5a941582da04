/**
 * The head of a lane: one lane is one partition of one topic, and its head is the row that proves
 * its records.
 *
 * What must stay true: a head changes in the same transaction as its records, and the root row
 * proves all heads together, so a page that is older than the rest of the file is noticed.
 */
import type { Topic } from '../../ports/log.ts'
import { columnsSum } from './checksum.ts'

export interface Head {
  readonly lane: number
  readonly topic: Topic
  readonly partition: number
  /**
   * Oldest offset that may be read; records before it are on their way out. Always 0 on a compacted
   * topic.
   */
  readonly start: number
  readonly next: number
  /** Of the last record ever written: append times do not go back. */
  readonly timestamp: number
  /** Sum of the record before `start`, which the first one links to. */
  readonly base: number
  /** Sum of the last record ever written, which the next one will link to. */
  readonly last: number
  /** From `start` on. */
  readonly records: number
  /** Records that the last compaction left. */
  readonly kept: number
  /** Exclusive or of the sums of the lane's saved positions. */
  readonly positions: number
}

export function emptyHead(lane: number, topic: Topic, partition: number): Head {
  const counts = { start: 0, next: 0, timestamp: 0, base: 0, last: 0 }
  return { lane, topic, partition, ...counts, records: 0, kept: 0, positions: 0 }
}

/** In the order of the table's columns. */
export function headColumns(head: Head): (string | number)[] {
  const { lane, topic, partition, start, next, timestamp, base, last } = head
  const { records, kept, positions } = head
  return [lane, topic, partition, start, next, timestamp, base, last, records, kept, positions]
}

export function headSum(head: Head): number {
  return columnsSum(headColumns(head))
}

/**
 * Lane and offset share a rowid, so that each lane is one dense range: offsets have 44 bits, lanes
 * 19.
 */
const OFFSET_BITS = 44n
export const OFFSET_END: number = 2 ** 44

export function idOf(lane: number, offset: number): bigint {
  return (BigInt(lane) << OFFSET_BITS) + BigInt(offset)
}

export function nameOf(head: Head): string {
  return `partition ${head.partition} of ${head.topic}`
}
