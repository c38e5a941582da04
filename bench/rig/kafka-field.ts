/**
 * One real broker on which contenders take their turns, each with topics of its own that are
 * deleted after it.
 *
 * What must stay true: all contenders of a run meet the same broker, with the same settings of
 * topics.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { type KafkaLog, openKafkaLog } from '../../adapters/kafka/log.ts'
import type { KafkaSettings } from '../../adapters/kafka/settings.ts'
import type { LoggedEvent } from '../../core/model/event.ts'
import type { Produced } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { systemClock } from '../../runtime/clock.ts'
import { giveOrder } from '../../services/graph/fold/order.ts'
import { type Kafka, startKafka } from '../../testing/kafka/broker.ts'
import { beginning, CLUSTER, Ownership, POLICY, pulse, type Told } from './ownership.ts'
import { cpuSeconds } from './process-usage.ts'

/**
 * Tests start theirs for a short life; this one has to be as fast as brokers are, and Java prefers
 * these options to those on its command line.
 */
const BROKER_JAVA = '-XX:TieredStopAtLevel=4 -Xmx1g'
/** Files of deleted topics are removed soon: a run makes many of them. */
const PROPERTIES = { 'log.segment.delete.delay.ms': 1_000, 'file.delete.delay.ms': 1_000 }
/** Records of one append while topics are filled, and events between two pulses of a cluster. */
const CHUNK = 4_000

export const codec: Codec = avroCodec()

export interface Field extends AsyncDisposable {
  readonly brokers: readonly string[]
  readonly kafka: Kafka
  brokerCpuSeconds(): number
  /** Of a turn: topics, and a directory, for as long as the turn lasts. */
  turn(name: string, partitions: number): Promise<Turn>
}

export interface Turn extends AsyncDisposable {
  readonly application: string
  readonly directory: string
  readonly log: KafkaLog
}

export async function startField(): Promise<Field> {
  const before = process.env['_JAVA_OPTIONS']
  process.env['_JAVA_OPTIONS'] = BROKER_JAVA
  const kafka = await startKafka({ own: true, properties: PROPERTIES })
  if (before === undefined) delete process.env['_JAVA_OPTIONS']
  else process.env['_JAVA_OPTIONS'] = before
  return {
    kafka,
    brokers: kafka.bootstrap,
    brokerCpuSeconds: () => cpuSeconds(kafka.broker(1).pid),
    turn: async (name, partitions) => await openTurn(kafka, name, partitions),
    [Symbol.asyncDispose]: async () => await kafka[Symbol.asyncDispose](),
  }
}

export function settingsOf(brokers: readonly string[], application: string): KafkaSettings {
  return { brokers, application, compression: 'zstd' }
}

async function openTurn(kafka: Kafka, name: string, partitions: number): Promise<Turn> {
  const application = `${kafka.application}-${name}`
  const log = await openKafkaLog({
    settings: settingsOf(kafka.bootstrap, application),
    clientId: 'bench',
    mayCreate: true,
    partitions,
    replicas: 1,
    clock: systemClock(),
  })
  const directory = await mkdtemp(join(tmpdir(), 'kinfold-bench-'))
  return {
    ...{ application, directory, log },
    async [Symbol.asyncDispose]() {
      await log[Symbol.asyncDispose]()
      await rm(directory, { recursive: true, force: true })
      const admin = kafka.client().admin()
      await admin.connect()
      const topics = (await admin.listTopics()).filter((topic) => topic.startsWith(application))
      await admin.deleteTopics({ topics })
      await admin.disconnect()
    },
  }
}

/** Publishes the beginning of the cluster to each partition. */
export async function begin(log: KafkaLog): Promise<void> {
  const partitions = log.partitions('events')
  const told = beginning().map((event) => record(CLUSTER, event))
  await giveOrder(
    log,
    codec,
    POLICY,
    everyPartition(partitions, (partition) => partition),
  )
  await Promise.all(
    everyPartition(partitions, (partition) => log.append('events', partition, told)),
  )
}

export function record(home: string, event: LoggedEvent): Produced {
  return { key: home, value: codec.encode(event) }
}

export interface Filling {
  readonly events: number
  /** How many objects exist at once, or undefined: all that are created stay. */
  readonly living: number | undefined
}

/** Writes so many events, in even shares; resolves with the end of each partition. */
export async function fill(log: KafkaLog, { events, living }: Filling): Promise<number[]> {
  const partitions = log.partitions('events')
  await begin(log)
  const share = Math.ceil(events / partitions)
  let written = 0
  let said = 0
  const ends = everyPartition(partitions, async (partition) => {
    const told = tellerOf(partition, partitions, living)
    for (let left = share; left > 0; ) {
      const count = Math.min(left, CHUNK)
      const records = Array.from({ length: count }, () => {
        const { home, event } = told()
        return record(home, event)
      })
      await log.append('events', partition, [...records, record(CLUSTER, pulse())])
      left -= count
      written += count
      if (written - said < PROGRESS_EVENTS) continue
      said = written
      say(`wrote ${written} events`)
    }
    return Number((await log.bounds('events', partition)).end)
  })
  return await Promise.all(ends)
}

const PROGRESS_EVENTS = 250_000

function tellerOf(partition: number, partitions: number, living: number | undefined): () => Told {
  const ownership = new Ownership(partition, partitions, (living ?? 1) / partitions)
  if (living !== undefined) return () => ownership.next()
  let family: Told[] = []
  return () => {
    if (family.length === 0) family = [...ownership.family()].reverse()
    return family.pop()!
  }
}

export function everyPartition<T>(partitions: number, work: (partition: number) => T): T[] {
  return Array.from({ length: partitions }, (_, partition) => work(partition))
}

export function say(text: string): void {
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`)
}
