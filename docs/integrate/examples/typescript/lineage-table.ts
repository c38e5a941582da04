/**
 * Reads `lineage` from its beginning, prints a table of the existing objects, a line each, and with
 * --follow a line for every change after that; with --spans reads `history` and prints when each
 * object existed and referenced which owner. It needs kafkajs, avsc and the folder schemas/, and
 * nothing of Kinfold's code.
 *
 * What must stay true: an entry whose schema is not known ends the program, with a sentence:
 * skipping it would leave the table wrong. Nothing is committed, so each start reads everything.
 */
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import kafkajs, { type KafkaMessage } from 'kafkajs'
import { Spans } from './spans.ts'
import { Table } from './table.ts'

const { values: flags } = parseArgs({
  options: {
    brokers: { type: 'string', default: 'localhost:9092' },
    application: { type: 'string', default: 'kinfold' },
    schemas: { type: 'string', default: join(import.meta.dirname, '../../../../schemas') },
    registry: { type: 'string' },
    follow: { type: 'boolean', default: false },
    spans: { type: 'boolean', default: false },
  },
})
const topic = `${flags.application}.${flags.spans ? 'history' : 'lineage'}`
const view = new (flags.spans ? Spans : Table)(flags.schemas, flags.registry)

// Kinfold writes zstd unless told otherwise, and kafkajs brings gzip only.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error('this program writes nothing')),
  decompress: promisify(zstdDecompress),
})
const kafka = new kafkajs.Kafka({
  clientId: 'lineage-table',
  brokers: flags.brokers.split(','),
  // Where the brokers want it: ssl: { ca: [readFileSync('ca.pem')] }, sasl: { mechanism:
  // 'scram-sha-512', username, password }
  logLevel: kafkajs.logLevel.ERROR,
})
const admin = kafka.admin()
await admin.connect()
/** Of each partition that has entries, where it ended when this program began. */
const ends = new Map<number, bigint>()
for (const { partition, low, high } of await admin.fetchTopicOffsets(topic)) {
  if (low !== high) ends.set(partition, BigInt(high))
}
await admin.disconnect()

const groupId = `lineage-table-${randomUUID()}`
// A consumer of kafkajs reads committed entries unless told otherwise.
const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => consumer.disconnect())
// Entries of aborted transactions and marks of ends count here, though nothing is handed out for
// them.
consumer.on(consumer.events.END_BATCH_PROCESS, ({ payload: { partition, lastOffset } }) => {
  if (BigInt(lastOffset) + 1n < (ends.get(partition) ?? 0n)) return
  if (ends.delete(partition) && ends.size === 0) void show()
})
await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
if (ends.size === 0) await show()
const eachMessage = async ({
  partition,
  message,
}: {
  partition: number
  message: KafkaMessage
}) => {
  const lines = await view.take(message).catch((error: Error) => {
    console.error(`${topic}[${partition}]@${message.offset}: ${error.message}`)
    process.exit(1)
  })
  for (const line of lines) console.log(line)
}
if (flags.follow || ends.size > 0) await consumer.run({ autoCommit: false, eachMessage })

async function show(): Promise<void> {
  for (const line of view.atEnd()) console.log(line)
  if (!flags.follow) await consumer.disconnect()
}
