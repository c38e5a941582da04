/**
 * The plainest use of Kafka, by kafkajs alone, for tests of the brokers themselves: the Log adapter
 * must not be tested by itself.
 */
import type { Kafka as Client, ITopicConfig } from 'kafkajs'
import { eventually } from '../eventually.ts'

/**
 * With one partition by default, and as many replicas as the brokers have by default. Resolves once
 * it has leaders.
 */
export async function makeTopic(
  client: Client,
  topic: string,
  more: Omit<ITopicConfig, 'topic'> = {},
): Promise<void> {
  const admin = client.admin()
  await admin.connect()
  try {
    const topics = [{ topic, numPartitions: 1, ...more }]
    // If it waits itself, kafkajs gives up when a broker does not know the topic yet.
    await admin.createTopics({ topics, waitForLeaders: false })
    await eventually(`${topic} has leaders`, async () => {
      const [told] = (await admin.fetchTopicMetadata({ topics: [topic] })).topics
      return told?.partitions.every(({ leader }) => leader >= 0) ?? false
    })
  } finally {
    await admin.disconnect()
  }
}

/** Into partition 0, in this order. */
export async function produce(
  client: Client,
  topic: string,
  values: readonly string[],
): Promise<void> {
  const producer = client.producer({ idempotent: true, maxInFlightRequests: 1 })
  await producer.connect()
  try {
    await producer.send({ topic, messages: values.map((value) => ({ value, partition: 0 })) })
  } finally {
    await producer.disconnect()
  }
}

/** From the beginning, until there are `count`. */
export async function readAll(client: Client, topic: string, count: number): Promise<string[]> {
  const consumer = client.consumer({ groupId: `${topic}.readers`, maxWaitTimeInMs: 100 })
  await consumer.connect()
  const values: string[] = []
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  // After the others kafkajs starts again by itself, as while the brokers still choose who leads.
  consumer.on(consumer.events.CRASH, ({ payload }) => {
    if (!payload.restart) reject(payload.error)
  })
  try {
    await consumer.subscribe({ topic, fromBeginning: true })
    await consumer.run({
      eachMessage: async ({ message }) => {
        values.push(message.value?.toString() ?? '')
        if (values.length === count) resolve()
      },
    })
    await promise
    return values
  } finally {
    await consumer.disconnect()
  }
}
