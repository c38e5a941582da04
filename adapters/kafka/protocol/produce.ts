/**
 * One produce request to one broker (Produce, version 7), every partition's records in a batch of
 * its own, acknowledged by all replicas in sync.
 */
import type { Produced } from '../../../ports/log.ts'
import { BrokerError, CODE } from '../failure.ts'
import type { Broker, Link } from '../inside.ts'
import { REQUEST_MS } from '../inside.ts'
import { type Compression, encodeBatch, headerBytes, type ProducerStamp } from './record-batch.ts'
import { Reader, Writer } from './wire.ts'

const API_KEY = 0
const API_VERSION = 7
const ALL_REPLICAS = -1
/**
 * Records of one batch take no more, before packing; a topic takes batches of twice that. One
 * larger record is sent alone.
 */
const BATCH_BYTES = 900 * 1024
/** The overhead of a record besides key, value and headers, at most. */
const RECORD_OVERHEAD_BYTES = 48

export interface Batched {
  readonly topic: string
  readonly partition: number
  readonly records: readonly Produced[]
  readonly stamp: ProducerStamp
}

export interface ProduceOptions {
  readonly transactionalId: string | null
  readonly compression: Compression
  readonly now: number
}

/** Kafka's code and the offset of the first record, for each batch in their order. */
export interface ProducedAt {
  readonly code: number
  readonly offset: bigint
}

/** The batches must be of different partitions. */
export async function produce(
  link: Link,
  broker: Broker,
  batches: readonly Batched[],
  { transactionalId, compression, now }: ProduceOptions,
): Promise<readonly ProducedAt[]> {
  const out = new Writer(4_096)
  out.text(transactionalId).int16(ALL_REPLICAS).int32(REQUEST_MS).int32(batches.length)
  for (const { topic, partition, records, stamp } of batches) {
    const bytes = encodeBatch(records, stamp, now, compression)
    out.text(topic).int32(1).int32(partition).int32(bytes.length).raw(bytes)
  }
  const request = { apiKey: API_KEY, apiVersion: API_VERSION, apiName: 'Produce' }
  return placesIn(await link.send(broker, { ...request, body: out.written }), batches)
}

function placesIn(answer: Buffer, batches: readonly Batched[]): readonly ProducedAt[] {
  const found = new Map<string, ProducedAt>()
  const read = new Reader(answer)
  for (let topics = read.int32(); topics > 0; topics--) {
    const topic = read.text()
    for (let partitions = read.int32(); partitions > 0; partitions--) {
      const partition = read.int32()
      found.set(`${topic}/${partition}`, { code: read.int16(), offset: read.int64() })
      read.int64()
      read.int64()
    }
  }
  return batches.map(({ topic, partition }) => {
    const at = found.get(`${topic}/${partition}`)
    if (at !== undefined) return at
    throw new BrokerError(CODE.unknownTopicOrPartition, `no answer for ${topic}/${partition}`)
  })
}

/** Pieces that each fit into one batch, in order. */
export function inBatches<T extends Produced>(records: readonly T[]): (readonly T[])[] {
  const pieces: (readonly T[])[] = []
  let from = 0
  let size = 0
  for (const [index, record] of records.entries()) {
    const content = Buffer.byteLength(record.key) + (record.value?.length ?? 0)
    const bytes = RECORD_OVERHEAD_BYTES + content + headerBytes(record)
    if (index > from && size + bytes > BATCH_BYTES) {
      pieces.push(records.slice(from, index))
      from = index
      size = 0
    }
    size += bytes
  }
  pieces.push(from === 0 ? records : records.slice(from))
  return pieces
}
