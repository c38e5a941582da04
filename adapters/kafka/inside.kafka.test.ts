/** On brokers of which one is down, topics of other programs that have no leader delay no call. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../testing/eventually.ts'
import { startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { makeTopic } from '../../testing/kafka/records.ts'
import { createKafka, openLink } from './inside.ts'
import { planTopics } from './topics.ts'

test('a topic of somebody else that has no leader holds up neither the plan nor the search for a coordinator', {
  skip: missingKafka({ own: true }) ?? false,
}, async () => {
  await using kafka = await startKafka({ brokers: 3, own: true })
  await makeTopic(kafka.client(), 'foreign', { numPartitions: 3, replicationFactor: 1 })
  await kafka.broker(1).kill()

  const settings = {
    brokers: kafka.bootstrap,
    application: 'ours',
    compression: 'zstd' as const,
  }
  const all = createKafka(settings, 'all').admin()
  await all.connect()
  // Until the rest has taken notice.
  await eventually('it has no leader', async () => {
    const found = await all.fetchTopicMetadata({ topics: ['foreign'] }).catch(String)
    return String(found).includes('no leader') || JSON.stringify(found)
  })
  await using link = openLink(settings, 'ours')
  await link.connect([])
  const wanted = { application: 'ours', partitions: undefined, replicas: undefined }
  const plan = await planTopics(link, await link.controller(), all, wanted)
  equal(
    plan.changes.every(({ action }) => action === 'create'),
    true,
  )
  // Kafka makes the topic of groups when it is first asked.
  await eventually('the group has a coordinator', async () => {
    const found = await link.coordinator('group', 'ours.graph').catch(String)
    return typeof found === 'object' || found
  })
  await all.disconnect()
})
