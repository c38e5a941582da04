/**
 * Shows that the Kafka of the tests has the properties that tests rely on: records outlive crashes,
 * addresses stay.
 */
import { deepEqual, notEqual, rejects } from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { Kafka as Client, PartitionMetadata } from 'kafkajs'
import { eventually } from '../eventually.ts'
import { type Kafka, startKafka } from './broker.ts'
import { missingKafka } from './jars.ts'
import { makeTopic, produce, readAll } from './records.ts'

/**
 * kafkajs gives up after some 5 s; where the active controller is lost as well, a new leader takes
 * 6.
 */
const PATIENT = { retry: { retries: 60, initialRetryTime: 100, maxRetryTime: 500 } }
const ONCE = { requestTimeout: 1_000, retry: { retries: 0 } }

test('a broker keeps what is sent to it', { skip: missingKafka() ?? false }, async () => {
  await using kafka = await startKafka()
  const topic = `${kafka.application}.kept`
  await makeTopic(kafka.client(), topic)
  await produce(kafka.client(), topic, ['one', 'two'])
  deepEqual(await readAll(kafka.client(), topic, 2), ['one', 'two'])
})

suite('a broker of its own', { skip: missingKafka({ own: true }) ?? false }, () => {
  let kafka: Kafka
  before(async () => {
    kafka = await startKafka({ properties: { 'message.max.bytes': 1000 } })
  })
  after(() => kafka?.[Symbol.asyncDispose]())

  test('comes back at its address with its records when it is killed', async () => {
    const broker = kafka.broker(1)
    await makeTopic(kafka.client(), 'kept')
    await produce(kafka.client(), 'kept', ['before'])
    const { pid, address } = broker
    await broker.restart()
    notEqual(broker.pid, pid)
    deepEqual(kafka.bootstrap, [address])
    await produce(kafka.client(), 'kept', ['after'])
    deepEqual(await readAll(kafka.client(), 'kept', 2), ['before', 'after'])
  })

  test('answers nothing while it is paused, and goes on afterwards', async () => {
    const admin = kafka.client(ONCE).admin()
    await admin.connect()
    try {
      await kafka.broker(1).pause()
      await rejects(admin.listTopics(), { name: 'KafkaJSRequestTimeoutError' })
      kafka.broker(1).resume()
      await eventually('it answers', async () => (await admin.listTopics()).length > 0)
    } finally {
      kafka.broker(1).resume()
      await admin.disconnect()
    }
  })

  test('takes the settings that the test gives', async () => {
    await makeTopic(kafka.client(), 'small')
    const sent = produce(kafka.client(), 'small', ['x'.repeat(2000)])
    await rejects(sent, { type: 'MESSAGE_TOO_LARGE' })
  })

  test('makes no topic that nobody made', async () => {
    // The second attempt would find the topic that the first had made.
    const client = kafka.client({ retry: { retries: 2 } })
    const producer = client.producer({ allowAutoTopicCreation: true })
    await producer.connect()
    const sent = producer.send({ topic: 'typo', messages: [{ value: 'one' }] })
    const isUnknown = ({ cause }: { cause?: { type?: string } }) =>
      cause?.type === 'UNKNOWN_TOPIC_OR_PARTITION'
    await rejects(sent, isUnknown)
    await producer.disconnect()
  })
})

suite('three brokers', { skip: missingKafka({ own: true }) ?? false }, () => {
  test('go on without the one that is killed, and take it back', async () => {
    await using kafka = await startKafka({ brokers: 3 })
    await makeTopic(kafka.client(), 'kept')
    // Sending continues through the loss of a broker; kafkajs' connecting is given up at the first
    // refusal.
    const producer = kafka.client(PATIENT).producer({ idempotent: true, maxInFlightRequests: 1 })
    await producer.connect()
    await producer.send({ topic: 'kept', messages: [{ value: 'one' }] })
    const { leader } = await partitionOf(kafka.client(), 'kept')
    await kafka.broker(leader).kill()
    await producer.send({ topic: 'kept', messages: [{ value: 'two' }] })
    await producer.disconnect()

    await kafka.broker(leader).start()
    await eventually('it follows again', async () => {
      const { isr } = await partitionOf(kafka.client(), 'kept')
      return isr.length === 3
    })
    deepEqual(await readAll(kafka.client(), 'kept', 2), ['one', 'two'])
  })
})

async function partitionOf(client: Client, topic: string): Promise<PartitionMetadata> {
  const admin = client.admin()
  await admin.connect()
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] })
    return topics[0]!.partitions[0]!
  } finally {
    await admin.disconnect()
  }
}
