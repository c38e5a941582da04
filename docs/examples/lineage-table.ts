/**
 * Follows `lineage` from its beginning and prints what stands now: live objects and their owners, cluster by cluster, whenever nothing new has come
 * for a moment. A program of its own: it needs kafkajs, avsc and the two schema files, and nothing of Kinfold's code.
 *
 *   node lineage-table.ts --brokers localhost:9092 [--application kinfold] [--registry http://localhost:8081]
 *
 * What must stay true: of each key the last entry counts, and a null value ends it. The table is rebuilt at every start, so nothing is committed.
 */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs, promisify } from 'node:util'
import { zstdDecompress } from 'node:zlib'
import avsc from 'avsc'
import kafkajs from 'kafkajs'

interface Lineage {
  readonly clusterName: string
  readonly group: string
  readonly kind: string
  readonly namespace: string
  readonly name: string
  readonly phase: string
  readonly owners: readonly {
    readonly kind: string
    readonly name: string
    readonly standing: string
  }[]
}

const SCHEMAS = new URL('../../schemas/', import.meta.url)
/** Nothing new for so long: the table is shown. */
const QUIET_MS = 300

const { values: flags } = parseArgs({
  options: {
    brokers: { type: 'string', default: 'localhost:9092' },
    application: { type: 'string', default: 'kinfold' },
    registry: { type: 'string' },
  },
})

/** By `cluster/uid`. */
const table = new Map<string, Lineage>()
const type = lineageType()
const fingerprint = fingerprintOf(type)
const byId = new Map<number, avsc.Type>()
let quiet: NodeJS.Timeout | undefined

const { CompressionCodecs, CompressionTypes, Kafka, logLevel } = kafkajs
// Kinfold writes zstd unless told otherwise, and kafkajs brings gzip only.
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: () => Promise.reject(new Error('this program writes nothing')),
  decompress: promisify(zstdDecompress),
})
const kafka = new Kafka({
  clientId: 'lineage-table',
  brokers: flags.brokers.split(','),
  // Where the brokers want it: ssl: { ca: [readFileSync('ca.pem')] }, sasl: { mechanism: 'scram-sha-512', username, password }
  logLevel: logLevel.ERROR,
})
// A consumer of kafkajs reads committed entries unless told otherwise. The group is new at every start, so all is read again.
const consumer = kafka.consumer({ groupId: `lineage-table-${randomUUID()}` })
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, async () => {
    clearTimeout(quiet)
    await consumer.disconnect()
  })
}
await consumer.connect()
await consumer.subscribe({ topic: `${flags.application}.lineage`, fromBeginning: true })
await consumer.run({
  autoCommit: false,
  eachMessage: async ({ message: { key, value } }) => {
    if (key === null) return
    if (value === null) table.delete(key.toString())
    else table.set(key.toString(), await decode(value))
    clearTimeout(quiet)
    quiet = setTimeout(show, QUIET_MS)
  },
})

/** Single-object encoding: C3 01, the fingerprint, the body. By a registry: 00, the id, the body. */
async function decode(bytes: Buffer): Promise<Lineage> {
  if (bytes[0] === 0) {
    const writer = await registered(bytes.readInt32BE(1))
    return type.fromBuffer(bytes.subarray(5), type.createResolver(writer)) as Lineage
  }
  if (bytes.readUInt16BE(0) !== 0xc301) throw new Error('this is no record of Kinfold')
  if (bytes.readBigUInt64LE(2) !== fingerprint) {
    throw new Error('another version of Kinfold wrote this: take the schemas of that version')
  }
  return type.fromBuffer(bytes.subarray(10)) as Lineage
}

async function registered(id: number): Promise<avsc.Type> {
  const known = byId.get(id)
  if (known !== undefined) return known
  if (flags.registry === undefined)
    throw new Error(`schema ${id} is in a registry: give --registry`)
  const response = await fetch(`${flags.registry}/schemas/ids/${id}`)
  if (!response.ok) throw new Error(`the registry answers ${response.status} for schema ${id}`)
  const { schema } = (await response.json()) as { schema: string }
  const found = avsc.Type.forSchema(JSON.parse(schema))
  byId.set(id, found)
  return found
}

function lineageType(): avsc.Type {
  const registry = {}
  const read = (file: string): avsc.Type =>
    avsc.Type.forSchema(JSON.parse(readFileSync(new URL(file, SCHEMAS), 'utf8')), { registry })
  read('lineage-owner.avsc')
  return read('lineage.avsc')
}

/** CRC-64-AVRO of the parsing canonical form, as in Avro's specification. */
function fingerprintOf(of: avsc.Type): bigint {
  const empty = 0xc15d213aa4d7a795n
  let crc = empty
  for (const byte of Buffer.from(JSON.stringify(of.schema()))) {
    crc ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) crc = (crc >> 1n) ^ (crc & 1n ? empty : 0n)
  }
  return crc
}

function show(): void {
  const live = [...table.values()].filter(({ phase }) => phase !== 'gone')
  const clusters = Map.groupBy(live, ({ clusterName }) => clusterName)
  console.log(`${live.length} objects in ${clusters.size} clusters`)
  for (const cluster of [...clusters.keys()].sort()) {
    console.log(`\n${cluster}`)
    const lines = (clusters.get(cluster) ?? []).map(lineOf)
    for (const line of lines.sort()) console.log(`  ${line}`)
  }
}

function lineOf({ group, kind, namespace, name, phase, owners }: Lineage): string {
  const place = namespace === '' ? name : `${namespace}/${name}`
  const owned = owners.map((owner) => `${owner.kind}/${owner.name} (${owner.standing})`)
  const by = owned.length === 0 ? '' : ` <- ${owned.join(', ')}`
  return `${kind}${group === '' ? '' : `.${group}`} ${place} ${phase}${by}`
}
