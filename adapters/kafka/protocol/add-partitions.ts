/**
 * Which partitions a transaction writes to (AddPartitionsToTxn, version 1), requested here since
 * kafkajs reports the first error of an answer without its topic, and that one may only say that
 * another was refused.
 */
import type { TopicBatch } from '../../../ports/log.ts'
import { BrokerError, CODE } from '../failure.ts'
import type { Broker, Link } from '../inside.ts'
import { topicName } from './topic-name.ts'
import { Reader, Writer } from './wire.ts'

const API = { apiKey: 24, apiVersion: 1, apiName: 'AddPartitionsToTxn' } as const

export interface Transaction {
  readonly transactionalId: string
  readonly producerId: string
  readonly producerEpoch: number
}

export async function addPartitions(
  link: Link,
  coordinator: Broker,
  { transactionalId, producerId, producerEpoch }: Transaction,
  application: string,
  writes: readonly TopicBatch[],
): Promise<void> {
  const byTopic = Map.groupBy(writes, ({ topic }) => topic)
  const out = new Writer(256)
  out.text(transactionalId).int64(BigInt(producerId)).int16(producerEpoch).int32(byTopic.size)
  for (const [topic, all] of byTopic) {
    out.text(topicName(application, topic)).int32(all.length)
    for (const { partition } of all) out.int32(partition)
  }
  const errors = errorsIn(await link.send(coordinator, { ...API, body: out.written }))
  const error = errors.find(({ code }) => code !== CODE.operationNotAttempted) ?? errors[0]
  if (error !== undefined) throw error
}

function errorsIn(answer: Buffer): readonly BrokerError[] {
  const errors: BrokerError[] = []
  const read = new Reader(answer)
  read.int32()
  for (let topics = read.int32(); topics > 0; topics--) {
    const topic = read.text()
    for (let partitions = read.int32(); partitions > 0; partitions--) {
      const place = `${topic}/${read.int32()}`
      const code = read.int16()
      if (code !== CODE.none) errors.push(new BrokerError(code, `writing to ${place}`))
    }
  }
  return errors
}
