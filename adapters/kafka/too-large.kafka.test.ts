/**
 * A record beyond its topic's limit, which an operator lowered: an end with a sentence, and nothing
 * of it written.
 */
import { deepEqual, rejects } from 'node:assert/strict'
import { suite, test } from 'node:test'
import kafkajs from 'kafkajs'
import type { TaskLog } from '../../ports/log.ts'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { openKafkaLog } from './log.ts'

const LIMIT_BYTES = 10_000
const SMALL = { key: 'small', value: new Uint8Array(10) }
const LARGE = { key: 'large', value: new Uint8Array(2 * LIMIT_BYTES) }
const TOO_LARGE = {
  name: 'LogError',
  code: 'INVALID',
  message:
    /a record is larger than the topic's max\.message\.bytes \(writing to .*\.events.*\); kinfold topics apply raises it/,
}

suite('a record that is too large for its topic', { skip: missingKafka() ?? false }, () => {
  test('is refused with a sentence, by an append and by a commit', async () => {
    await using kafka = await startKafka()
    const { bootstrap: brokers, application } = kafka
    await using log = await openKafkaLog({
      settings: { brokers, application, compression: 'none' },
      clientId: 'too-large',
      mayCreate: true,
      clock: systemClock(),
    })
    await log.append('events', 0, [SMALL])
    await limit(kafka, `${application}.events`)
    await eventually('the limit counts', async () => {
      const appended = log.append('events', 0, [LARGE])
      return await appended.then(
        () => false,
        () => true,
      )
    })
    const { end } = await log.bounds('events', 0)

    await rejects(log.append('events', 0, [LARGE]), TOO_LARGE)
    await using task = await log.openTask(0)
    await rejects(commit(task), TOO_LARGE)
    await using successor = await log.openTask(0)
    await successor.commit({ outputs: [], changelog: [{ key: 'after', value: null }] })

    const { entries } = await log.read('events', 0, end, { limit: 10, waitMs: 0 })
    deepEqual(entries, [])
    const changelog = await log.read('changelog', 0, 0n, { limit: 10, waitMs: 1_000 })
    const keys = changelog.entries.map(({ key }) => key)
    deepEqual(keys.includes('with the large one'), false)
  })
})

async function commit(task: TaskLog): Promise<bigint> {
  const outputs = [{ topic: 'events', partition: 0, records: [LARGE] }] as const
  return await task.commit({ outputs, changelog: [{ key: 'with the large one', value: null }] })
}

async function limit(kafka: Kafka, name: string): Promise<void> {
  const admin = kafka.client().admin()
  await admin.connect()
  try {
    const configEntries = [{ name: 'max.message.bytes', value: String(LIMIT_BYTES) }]
    const type = kafkajs.ConfigResourceTypes.TOPIC
    await admin.alterConfigs({ validateOnly: false, resources: [{ type, name, configEntries }] })
  } finally {
    await admin.disconnect()
  }
}
