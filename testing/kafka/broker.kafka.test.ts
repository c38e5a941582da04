/** Shows that the Kafka of the tests does what tests rely on. */
import { deepEqual } from 'node:assert/strict'
import { suite, test } from 'node:test'
import { startKafka } from './broker.ts'
import { missingKafka } from './jars.ts'
import { produce, readAll } from './records.ts'

suite('a broker', { skip: missingKafka() ?? false }, () => {
  test('keeps what is sent to it', async () => {
    await using kafka = await startKafka()
    const topic = `${kafka.application}.kept`
    await produce(kafka.client(), topic, ['one', 'two'])
    deepEqual(await readAll(kafka.client(), topic, 2), ['one', 'two'])
  })
})
