/**
 * The records that a fold has written into Kafka: how many records for an event, and how large they
 * are.
 *
 * What must stay true: it is read from one partition of each topic, of which each holds an even
 * share of all.
 */
import type { KafkaLog } from '../../adapters/kafka/log.ts'
import { FENCE_KEY, type Topic } from '../../ports/log.ts'
import type { Shape } from './streams-peer.ts'

const TOPICS = ['changelog', 'lineage', 'history', 'commands'] as const

export interface Written {
  /** Different keys in the changelog of a partition that have a value. */
  readonly keys: number
  readonly topics: Readonly<Record<(typeof TOPICS)[number], Shape>>
}

const PAGE = 20_000

/** For so many events in all partitions together. */
export async function writtenBy(log: KafkaLog, events: number): Promise<Written> {
  const live = new Set<string>()
  const share = events / log.partitions('events')
  const shapes: Partial<Record<Topic, Shape>> = {}
  for (const topic of TOPICS) {
    let [records, keyBytes, valueBytes] = [0, 0, 0]
    const { start, end } = await log.bounds(topic, 0)
    for (let next = start; next < end; ) {
      const page = await log.read(topic, 0, next, { limit: PAGE, waitMs: 0 })
      for (const { key, value } of page.entries) {
        if (key === FENCE_KEY) continue
        records += 1
        keyBytes += Buffer.byteLength(key)
        valueBytes += value?.length ?? 0
        if (topic !== 'changelog') continue
        if (value === null) live.delete(key)
        else live.add(key)
      }
      next = page.next
    }
    shapes[topic] = {
      perEvent: records / share,
      keyBytes: keyBytes / records,
      valueBytes: valueBytes / records,
    }
  }
  return { keys: live.size, topics: shapes as Written['topics'] }
}
