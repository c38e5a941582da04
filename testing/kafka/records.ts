/**
 * The plainest use of Kafka, by kafkajs alone, for tests of the brokers themselves: what the Log adapter
 * does is not to be shown by itself.
 */
import type { Kafka as Client } from 'kafkajs'

/** With one partition, and as many replicas as the brokers have by default. */
export async function makeTopic(client: Client, topic: string): Promise<void> {
  const admin = client.admin()
  await admin.connect()
  try {
    await admin.createTopics({ topics: [{ topic, numPartitions: 1 }], waitForLeaders: true })
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
