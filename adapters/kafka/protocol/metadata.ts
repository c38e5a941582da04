/**
 * The brokers' metadata of topics (Metadata, version 10, which kafkajs does not support): their
 * ids, partitions and replicas.
 *
 * What must stay true: a topic that was deleted and created again has another id under the same
 * name.
 */
import { BrokerError, CODE } from '../failure.ts'
import type { Broker, Link } from '../inside.ts'
import { Reader, Writer } from './wire.ts'

const API_KEY = 3
const API_VERSION = 10

export interface TopicMetadata {
  readonly name: string
  /** Hex. */
  readonly id: string
  readonly partitions: number
  /** Least of all partitions. */
  readonly replicas: number
}

export interface ClusterMetadata {
  readonly brokers: number
  /** Only those that are there. */
  readonly topics: readonly TopicMetadata[]
}

export async function describeTopics(
  link: Link,
  broker: Broker,
  names: readonly string[],
): Promise<ClusterMetadata> {
  const out = new Writer(1_024)
  tags(out)
  compactLength(out, names.length)
  for (const name of names) {
    out.raw(new Uint8Array(16))
    compactText(out, name)
    tags(out)
  }
  out.int8(0).int8(0).int8(0)
  tags(out)
  const request = { apiKey: API_KEY, apiVersion: API_VERSION, apiName: 'Metadata' }
  return metadataIn(new Reader(await link.send(broker, { ...request, body: out.written })))
}

function metadataIn(read: Reader): ClusterMetadata {
  skipTags(read)
  read.int32()
  const brokers = readLength(read)
  for (let left = brokers; left > 0; left--) {
    read.int32()
    readText(read)
    read.int32()
    readText(read)
    skipTags(read)
  }
  readText(read)
  read.int32()
  const topics: TopicMetadata[] = []
  for (let left = readLength(read); left > 0; left--) {
    const code = read.int16()
    const name = readText(read)
    const id = read.raw(16).toString('hex')
    read.int8()
    const replicas = Array.from({ length: readLength(read) }, () => readPartition(read))
    read.int32()
    skipTags(read)
    if (code === CODE.topicAuthorization) {
      throw new BrokerError(code, `looking at the topic ${name}`)
    }
    if (code !== CODE.none) continue
    topics.push({ name, id, partitions: replicas.length, replicas: Math.min(...replicas) })
  }
  return { brokers, topics }
}

/** Answers the number of replicas. */
function readPartition(read: Reader): number {
  read.raw(2 + 4 + 4 + 4)
  const replicas = readLength(read)
  read.raw(4 * replicas)
  for (let list = 0; list < 2; list++) read.raw(4 * readLength(read))
  skipTags(read)
  return replicas
}

/** Lengths of this version are unsigned varints, one more than what they count. */
function compactLength(out: Writer, length: number): void {
  unsigned(out, length + 1)
}

function compactText(out: Writer, text: string): void {
  const size = Buffer.byteLength(text)
  compactLength(out, size)
  out.utf8(text, size)
}

function tags(out: Writer): void {
  out.int8(0)
}

function unsigned(out: Writer, value: number): void {
  let left = value
  for (; left > 0x7f; left >>>= 7) out.raw(Uint8Array.of((left & 0x7f) | 0x80))
  out.raw(Uint8Array.of(left))
}

function readUnsigned(read: Reader): number {
  let value = 0
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = read.raw(1)[0]!
    value |= (byte & 0x7f) << shift
    if (byte < 0x80) return value >>> 0
  }
  throw new RangeError('a number is longer than 32 bits')
}

function readLength(read: Reader): number {
  return Math.max(readUnsigned(read) - 1, 0)
}

function readText(read: Reader): string {
  return read.raw(readLength(read)).toString()
}

function skipTags(read: Reader): void {
  for (let left = readUnsigned(read); left > 0; left--) {
    readUnsigned(read)
    read.raw(readUnsigned(read))
  }
}
