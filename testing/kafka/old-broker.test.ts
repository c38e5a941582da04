/** Shows that the counterfeit of an old broker gets clients as far as a real one did. */
import { deepEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { Kafka, logLevel } from 'kafkajs'
import { OldBroker } from './old-broker.ts'

function client(broker: OldBroker): Kafka {
  return new Kafka({
    brokers: [broker.address],
    logLevel: logLevel.NOTHING,
    retry: { retries: 1 },
  })
}

test('an old broker says who it is and that it has no topics', async () => {
  await using broker = await OldBroker.start()
  const admin = client(broker).admin()
  await admin.connect()
  try {
    const { brokers } = await admin.describeCluster()
    deepEqual(
      brokers.map(({ host, port }) => `${host}:${port}`),
      [broker.address],
    )
    deepEqual(await admin.listTopics(), [])
    await rejects(admin.fetchTopicMetadata({ topics: ['one'] }), {
      type: 'UNKNOWN_TOPIC_OR_PARTITION',
    })
  } finally {
    await admin.disconnect()
  }
})

test('an old broker has no transactions and no idempotence', async () => {
  await using broker = await OldBroker.start()
  const producer = client(broker).producer({ idempotent: true, maxInFlightRequests: 1 })
  await rejects(producer.connect(), /does not support the requested API/)
})
