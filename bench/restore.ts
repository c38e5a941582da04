/**
 * A changelog of very many keys into an empty store: how long until a task may fold, compared with
 * Kafka Streams with a changelog of the same records?
 *
 * What must stay true: both replay the same keys and values, packed alike, from the same broker in
 * the same run.
 */
import { join } from 'node:path'
import { openLink } from '../adapters/kafka/inside.ts'
import { Sender } from '../adapters/kafka/sender.ts'
import { POSITION_KEY } from '../core/graph/key.ts'
import { objectKey } from '../core/model/partition.ts'
import { FENCE_KEY, type Produced } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { firstPosition } from '../services/graph/fold/batch.ts'
import { startOurs } from './fold.ts'
import type { Field, Turn } from './rig/kafka-field.ts'
import { codec, everyPartition, say, settingsOf, startField } from './rig/kafka-field.ts'
import { CLUSTER, Ownership } from './rig/ownership.ts'
import { cpuSeconds, memoryOf } from './rig/process-usage.ts'
import type { Report } from './rig/report.ts'
import { machine, median, rounded } from './rig/report.ts'
import type { Spoken } from './rig/spoken-process.ts'
import { buildStreamsPeer, startStreamsPeer } from './rig/streams-peer.ts'

export interface RestoreOptions extends Readonly<Record<string, number>> {
  readonly keys: number
  readonly partitions: number
  readonly rounds: number
  /** 0 leaves Kafka Streams out. */
  readonly streams: number
}

const CONTENDERS = ['Kinfold', 'Kafka Streams'] as const
type ContenderName = (typeof CONTENDERS)[number]

interface Restored {
  readonly contender: ContenderName
  /** From the start of the process until all is restored, and of that since it has begun to. */
  readonly seconds: number
  readonly restoringSeconds: number
  readonly clientCpu: number
  readonly brokerCpu: number
  readonly residentMb: number
  readonly peakMb: number
}

/** Records of one commit, in addition to the position that it ends with. */
const CHUNK = 2_000
const NONE = { perEvent: 0, keyBytes: 1, valueBytes: 1 }

export async function benchRestore(options: RestoreOptions): Promise<Report> {
  const { keys, partitions, rounds, streams } = options
  const contenders = CONTENDERS.filter((name) => name === 'Kinfold' || streams > 0)
  const folder = streams > 0 ? await buildStreamsPeer() : ''
  await using field = await startField()
  await using turn = await field.turn('restore', partitions)
  await fillChangelog(turn, keys)
  if (streams > 0) await copyForStreams(field, turn)
  const measured: Restored[] = []
  for (let round = 0; round < rounds; round++) {
    for (const contender of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const directory = join(turn.directory, `${contender}-${round}`)
      const result =
        contender === 'Kinfold'
          ? await restoreOurs(field, { ...turn, directory }, partitions)
          : await restoreStreams(field, { ...turn, directory }, folder, keys)
      measured.push(result)
      say(`${contender}, round ${round + 1}: ${rounded(result.restoringSeconds, 1)} s`)
    }
  }
  const rows = contenders.map((name) => {
    const each = measured.filter(({ contender }) => contender === name)
    const of = (which: Exclude<keyof Restored, 'contender'>, digits: number): number =>
      rounded(median(each.map((one) => one[which])), digits)
    return [
      name,
      each.map((one) => rounded(one.restoringSeconds, 1)).join(' '),
      of('restoringSeconds', 1),
      of('seconds', 1),
      of('clientCpu', 1),
      of('brokerCpu', 1),
      of('residentMb', 0),
      of('peakMb', 0),
    ]
  })
  return {
    bench: 'restore',
    options,
    machine: machine(),
    tables: [
      {
        title: 'Seconds from the first record to the last; with the start of the process; CPU',
        columns: ['', 'rounds', 'median', 'with start', 'CPU s', 'broker CPU s', 'MB', 'peak MB'],
        rows,
      },
    ],
    measured,
  }
}

async function fillChangelog({ log }: Turn, keys: number): Promise<void> {
  const partitions = log.partitions('changelog')
  await Promise.all(
    everyPartition(partitions, async (partition) => {
      await using task = await log.openTask(partition)
      const ownership = new Ownership(partition, partitions, 1)
      const records = function* (): Generator<Produced> {
        for (;;) {
          for (const { event } of ownership.family()) {
            if (!('object' in event) || event.object === null) continue
            const key = `n/${objectKey(CLUSTER, event.object.uid)}`
            yield { key, value: codec.encode(event) }
          }
        }
      }
      const all = records()
      const position = firstPosition(partition, partitions)
      const last = { key: POSITION_KEY, value: codec.encode(position) }
      for (let left = Math.ceil(keys / partitions); left > 0; left -= CHUNK) {
        const count = Math.min(left, CHUNK)
        const changelog = Array.from({ length: count }, () => all.next().value as Produced)
        await task.commit({ outputs: [], changelog: [...changelog, last] })
      }
    }),
  )
  say(`wrote a changelog of ${keys} keys`)
}

/** The same records under the name that Kafka Streams gives the changelog of its store. */
async function copyForStreams(
  { brokers, kafka }: Field,
  { application, log }: Turn,
): Promise<void> {
  const partitions = log.partitions('changelog')
  const topic = `${application}-state-changelog`
  const admin = kafka.client().admin()
  await admin.connect()
  const configEntries = [{ name: 'cleanup.policy', value: 'compact' }]
  await admin.createTopics({ topics: [{ topic, numPartitions: partitions, configEntries }] })
  await admin.disconnect()
  await using link = openLink(settingsOf(brokers, application), 'bench')
  await link.connect([topic])
  const sender = new Sender({ link, compression: 'zstd', clock: systemClock() })
  await Promise.all(
    everyPartition(partitions, async (partition) => {
      const { start, end } = await log.bounds('changelog', partition)
      for (let next = start; next < end; ) {
        const options = { limit: CHUNK, waitMs: 0 }
        const page = await log.read('changelog', partition, next, options)
        const records = page.entries.filter(({ key }) => key !== FENCE_KEY)
        if (records.length > 0) await sender.append(topic, partition, records)
        next = page.next
      }
    }),
  )
  sender.close()
  say('copied it for Kafka Streams')
}

async function restoreOurs(field: Field, turn: Turn, partitions: number): Promise<Restored> {
  const own = everyPartition(partitions, (partition) => partition)
  const began = performance.now()
  const brokerBefore = field.brokerCpuSeconds()
  await using process = await startOurs(field, turn, 'graph', own, false)
  let first: number | undefined
  await process.until(({ placed, folding }) => {
    // Its lines begin before the first task has its place in the log.
    if (placed > 0) first ??= performance.now()
    return folding === partitions
  })
  return result('Kinfold', field, process, { began, first: first ?? began, brokerBefore })
}

async function restoreStreams(
  field: Field,
  { application, directory }: Turn,
  folder: string,
  keys: number,
): Promise<Restored> {
  const shapes = { keys, changes: NONE, lineage: NONE, history: NONE, commands: NONE }
  const { brokers } = field
  const began = performance.now()
  const brokerBefore = field.brokerCpuSeconds()
  await using process = await startStreamsPeer({ folder, brokers, application, directory, shapes })
  let first: number | undefined
  await process.until(({ restoring, restored, running }) => {
    if (restoring) first ??= performance.now()
    return running && restored >= keys
  })
  return result('Kafka Streams', field, process, { began, first: first ?? began, brokerBefore })
}

function result(
  contender: ContenderName,
  field: Field,
  { pid }: Spoken<unknown>,
  { began, first, brokerBefore }: { began: number; first: number; brokerBefore: number },
): Restored {
  const now = performance.now()
  return {
    contender,
    seconds: (now - began) / 1_000,
    restoringSeconds: (now - first) / 1_000,
    clientCpu: cpuSeconds(pid),
    brokerCpu: field.brokerCpuSeconds() - brokerBefore,
    ...memoryOf(pid),
  }
}
