/**
 * Reads `lineage` from its beginning, prints a table of the existing objects, a line each, and with --follow a line for every change after that. It needs
 * kafkajs, avsc and the folder schemas/, and nothing of Kinfold's code.
 *
 * What must stay true: of each key the last entry counts; `gone` and a null value end it. An entry whose schema is not known ends the program, with a
 * sentence: skipping it would leave the table wrong. Nothing is committed, so each start reads everything.
 */
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import avsc from 'avsc'
import kafkajs, { type KafkaMessage } from 'kafkajs'

type Decode = (body: Buffer) => Lineage
type Strings<Field extends string> = { readonly [Each in Field]: string }
type Lineage = Strings<
  'clusterName' | 'group' | 'kind' | 'namespace' | 'name' | 'uid' | 'phase'
> & {
  readonly owners: readonly Strings<'kind' | 'name' | 'standing'>[]
}

const { values: flags } = parseArgs({
  options: {
    brokers: { type: 'string', default: 'localhost:9092' },
    application: { type: 'string', default: 'kinfold' },
    schemas: { type: 'string', default: join(import.meta.dirname, '../../../schemas') },
    registry: { type: 'string' },
    follow: { type: 'boolean', default: false },
  },
})
const topic = `${flags.application}.lineage`
const names = {}
schemaIn('lineage-owner.avsc', names)
const reader = schemaIn('lineage.avsc', names)
const byFingerprint = new Map([decoderOf(reader)])
const former = join(flags.schemas, 'history/lineage')
for (const file of existsSync(former) ? readdirSync(former) : []) {
  byFingerprint.set(...decoderOf(schemaIn(`history/lineage/${file}`, {})))
}
const byId = new Map<number, Promise<Decode>>()

// Kinfold writes zstd unless told otherwise, and kafkajs brings gzip only.
kafkajs.CompressionCodecs[kafkajs.CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error('this program writes nothing')),
  decompress: promisify(zstdDecompress),
})
const kafka = new kafkajs.Kafka({
  clientId: 'lineage-table',
  brokers: flags.brokers.split(','),
  // Where the brokers want it: ssl: { ca: [readFileSync('ca.pem')] }, sasl: { mechanism: 'scram-sha-512', username, password }
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

const table = new Map<string, Lineage>()
const groupId = `lineage-table-${randomUUID()}`
// A consumer of kafkajs reads committed entries unless told otherwise.
const consumer = kafka.consumer({ groupId, allowAutoTopicCreation: false })
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => consumer.disconnect())
// Entries of aborted transactions and marks of ends count here, though nothing is handed out for them.
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
  const changed = await take(message).catch((error: Error) => {
    console.error(`${topic}[${partition}]@${message.offset}: ${error.message}`)
    process.exit(1)
  })
  if (ends.size === 0 && changed !== undefined) console.log(lineOf(changed))
}
if (flags.follow || ends.size > 0) await consumer.run({ autoCommit: false, eachMessage })

/** Answers what is to be said of the change. */
async function take({ key, value }: KafkaMessage): Promise<Lineage | undefined> {
  const before = table.get(String(key))
  const after = value === null ? undefined : await decode(value)
  if (after !== undefined && after.phase !== 'gone') table.set(String(key), after)
  else table.delete(String(key))
  return after ?? (before && { ...before, phase: 'gone' })
}

/** Single-object encoding: C3 01, the fingerprint, the body. By a registry: 00, the id, the body. */
async function decode(bytes: Buffer): Promise<Lineage> {
  if (bytes[0] === 0) {
    const id = bytes.readInt32BE(1)
    if (!byId.has(id)) byId.set(id, registered(id))
    return (await byId.get(id)!)(bytes.subarray(5))
  }
  if (bytes.length < 10 || bytes.readUInt16BE(0) !== 0xc301)
    throw new Error('this is no record of Kinfold.')
  const fingerprint = bytes.readBigUInt64LE(2).toString(16).padStart(16, '0')
  const decodeBody = byFingerprint.get(fingerprint)
  if (decodeBody !== undefined) return decodeBody(bytes.subarray(10))
  throw new Error(
    `no schema has the fingerprint ${fingerprint}. Another version of Kinfold wrote this: give the folder schemas of the newest one with --schemas.`,
  )
}

async function registered(id: number): Promise<Decode> {
  if (flags.registry === undefined)
    throw new Error('the schema is in a registry: give its URL with --registry.')
  const response = await fetch(`${flags.registry}/schemas/ids/${id}`)
  if (!response.ok) throw new Error(`the registry answers ${response.status} for schema ${id}.`)
  const { schema } = (await response.json()) as { schema: string }
  return decoderOf(avsc.Type.forSchema(JSON.parse(schema)))[1]
}

function schemaIn(file: string, registry: Record<string, avsc.Type>): avsc.Type {
  return avsc.Type.forSchema(JSON.parse(readFileSync(join(flags.schemas, file), 'utf8')), {
    registry,
  })
}

/** What the writer wrote is read as today's record: fields that it lacked have their defaults. */
function decoderOf(writer: avsc.Type): [fingerprint: string, decode: Decode] {
  const resolver = reader.createResolver(writer)
  return [fingerprintOf(writer), (body) => reader.fromBuffer(body, resolver) as Lineage]
}

/** CRC-64-AVRO of the parsing canonical form, as in Avro's specification. */
function fingerprintOf(type: avsc.Type): string {
  const empty = 0xc15d213aa4d7a795n
  let crc = empty
  for (const byte of Buffer.from(JSON.stringify(type.schema()))) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? empty : 0n)
  }
  return crc.toString(16).padStart(16, '0')
}

async function show(): Promise<void> {
  for (const line of [...table.values()].map(lineOf).sort()) console.log(line)
  if (!flags.follow) await consumer.disconnect()
}

/** Fields between tabs. What is not printable ASCII is written as \u{…}, so no name can break the line or the terminal. */
function lineOf({
  clusterName,
  group,
  kind,
  namespace,
  name,
  uid,
  phase,
  owners,
}: Lineage): string {
  const owned = owners.map((owner) => `${owner.kind}/${owner.name} (${owner.standing})`)
  const fields = [
    clusterName,
    group === '' ? kind : `${kind}.${group}`,
    namespace,
    name,
    uid,
    phase,
    ...owned,
  ]
  const escaped = (text: string) =>
    text.replace(/[^ -~]|\\/gu, (each) => `\\u{${each.codePointAt(0)!.toString(16)}}`)
  return fields.map(escaped).join('\t')
}
