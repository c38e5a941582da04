/**
 * From which offset on a compacted topic still has everything: records appended lately, and nothing
 * older than the time for which null values are kept.
 */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { systemClock } from '../../runtime/clock.ts'
import { eventually } from '../../testing/eventually.ts'
import { startKafka } from '../../testing/kafka/broker.ts'
import { missingKafka } from '../../testing/kafka/jars.ts'
import { type KafkaLog, openKafkaLog } from './log.ts'

const LONG_MS = 3_600_000
const SHORT_MS = 1

test('a compacted topic is whole as far back as null values are kept', {
  skip: missingKafka() ?? false,
}, async () => {
  await using kafka = await startKafka()
  const open = async (tombstonesMs: number): Promise<KafkaLog> => {
    const { bootstrap: brokers, application } = kafka
    const settings = { brokers, application, compression: 'none' } as const
    const clock = systemClock()
    return await openKafkaLog({ settings, clientId: 'whole', mayCreate: true, clock, tombstonesMs })
  }
  await using long = await open(LONG_MS)
  await using short = await open(SHORT_MS)
  equal(await long.wholeFrom('lineage', 0), 0n)
  await long.append('lineage', 0, [{ key: 'one', value: null }])
  await long.append('lineage', 0, [{ key: 'two', value: null }])
  equal(await long.wholeFrom('lineage', 0), 0n)
  await eventually('both are older than that', async () => {
    return (await short.wholeFrom('lineage', 0)) === 2n
  })
})
