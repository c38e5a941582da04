/**
 * Offsets of many partitions in one request (ListOffsets, version 2), committed records only,
 * requested here since kafkajs reports the first error of an answer for all of its partitions.
 *
 * What must stay true: a partition is in a request at most once: brokers refuse it otherwise.
 */
import type { Broker, Link } from '../inside.ts'
import { Reader, Writer } from './wire.ts'

const API = { apiKey: 2, apiVersion: 2, apiName: 'ListOffsets' } as const
const READ_COMMITTED = 1

/** Instead of a time: the oldest offset that is kept, and the first that no reader may see yet. */
export const EARLIEST: number = -2
export const LATEST: number = -1

export interface OffsetAsked {
  readonly topic: string
  readonly partition: number
  /** Of the first record that was appended then or later. */
  readonly timestamp: number
}

export interface OffsetFound {
  readonly code: number
  /** Undefined where there is none. */
  readonly offset: bigint | undefined
}

/** By `placeOf`; a broker may leave some out. */
export async function listOffsets(
  link: Link,
  broker: Broker,
  asked: readonly OffsetAsked[],
): Promise<ReadonlyMap<string, OffsetFound>> {
  return foundIn(await link.send(broker, { ...API, body: bodyOf(asked) }))
}

export function placeOf({ topic, partition }: Omit<OffsetAsked, 'timestamp'>): string {
  return `${topic}/${partition}`
}

function bodyOf(asked: readonly OffsetAsked[]): Buffer {
  const byTopic = Map.groupBy(asked, ({ topic }) => topic)
  const out = new Writer(512)
  out.int32(-1).int8(READ_COMMITTED).int32(byTopic.size)
  for (const [topic, all] of byTopic) {
    out.text(topic).int32(all.length)
    for (const { partition, timestamp } of all) out.int32(partition).int64(BigInt(timestamp))
  }
  return out.written
}

function foundIn(answer: Buffer): ReadonlyMap<string, OffsetFound> {
  const found = new Map<string, OffsetFound>()
  const read = new Reader(answer)
  read.int32()
  for (let topics = read.int32(); topics > 0; topics--) {
    const topic = read.text()
    for (let partitions = read.int32(); partitions > 0; partitions--) {
      const place = placeOf({ topic, partition: read.int32() })
      const code = read.int16()
      read.int64()
      const offset = read.int64()
      found.set(place, { code, offset: offset < 0n ? undefined : offset })
    }
  }
  return found
}
