/** Folds all partitions of a log again, one after the other, without the processes that write it: of a data directory, or of the brokers. */
import { avroCodec } from '../adapters/avro/codec.ts'
import { openKafkaLog } from '../adapters/kafka/log.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import type { Log } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import type { RefoldParts } from '../services/graph/audit/refold.ts'
import { configFile } from './config.ts'
import { defaultDataDirectory } from './data-directory.ts'
import { type KafkaConfig, type KafkaFlags, kafkaConfig } from './kafka-config.ts'
import { logDirectoryIn } from './log-directory.ts'

export interface RefoldFlags extends KafkaFlags {
  readonly data?: string
  readonly config?: string
}

type Each<T> = (parts: RefoldParts) => Promise<T>

/** The log that flags name: a data directory's, unless there are brokers. */
export async function refoldLog<T>(flags: RefoldFlags, each: Each<T>): Promise<T[]> {
  const section = configFile(flags)['kafka']
  const isOnKafka =
    flags.brokers !== undefined || (section !== undefined && flags.data === undefined)
  return isOnKafka
    ? await refoldBrokers(kafkaConfig(flags, section, flags.config ?? 'kafka'), each)
    : await refoldDirectory(flags.data ?? defaultDataDirectory(), each)
}

async function refoldDirectory<T>(data: string, each: Each<T>): Promise<T[]> {
  const directory = logDirectoryIn(data)
  await using log = await openSqliteLog({ directory, clock: systemClock(), readOnly: true })
  return await refoldAll(log, each)
}

/** While they are written to, the last commits may count as missing: run it when the graph processes rest. */
async function refoldBrokers<T>({ settings }: KafkaConfig, each: Each<T>): Promise<T[]> {
  const clock = systemClock()
  const options = { settings, clientId: 'kinfold-audit', mayCreate: false, clock }
  await using log = await openKafkaLog(options)
  return await refoldAll(log, each)
}

async function refoldAll<T>(log: Log, each: Each<T>): Promise<T[]> {
  const codec = avroCodec()
  const results: T[] = []
  for (let partition = 0; partition < log.partitions('events'); partition++) {
    await using store = new MemoryStore()
    results.push(await each({ log, codec, store, partition }))
  }
  return results
}
