/**
 * Reads a log, and folds its partitions again, without the processes that write it: that of a data
 * directory, or of the brokers.
 */
import { avroCodec } from '../../adapters/avro/codec.ts'
import { knownSchemas } from '../../adapters/avro/known-schema.ts'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Store } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { RefoldParts } from '../../services/graph/audit/refold.ts'
import type { KnownSchemas } from '../../services/graph/evidence/record-line.ts'
import { configFile } from '../config/config.ts'
import { defaultDataDirectory } from '../config/data-directory.ts'
import { type KafkaConfig, type KafkaFlags, kafkaConfig } from '../config/kafka-config.ts'
import { logDirectoryIn } from '../config/log-directory.ts'

export interface RefoldFlags extends KafkaFlags {
  readonly data?: string
  readonly config?: string
}

type Each<T> = (parts: RefoldParts) => Promise<T>

/** Folds what it is given into nothing that is kept. */
export interface Offline {
  readonly codec: Codec
  readonly schemas: KnownSchemas
  /** An empty one. */
  newStore(): Store
}

export function offline(): Offline {
  return { codec: avroCodec(), schemas: knownSchemas(), newStore: () => new MemoryStore() }
}

/**
 * The log that flags name: a data directory's, unless there are brokers. `isVerified`: this process
 * has opened it before.
 */
export async function readLog<T>(
  flags: RefoldFlags,
  read: (log: Log) => Promise<T>,
  isVerified: boolean = false,
): Promise<T> {
  const section = configFile(flags)['kafka']
  const isOnKafka =
    flags.brokers !== undefined || (section !== undefined && flags.data === undefined)
  return isOnKafka
    ? await readBrokers(kafkaConfig(flags, section, flags.config ?? 'kafka'), read)
    : await readDirectory(flags.data ?? defaultDataDirectory(), read, isVerified)
}

async function readDirectory<T>(
  data: string,
  read: (log: Log) => Promise<T>,
  isVerified: boolean,
): Promise<T> {
  const options = { directory: logDirectoryIn(data), clock: systemClock(), readOnly: true }
  await using log = await openSqliteLog({ ...options, isVerified })
  return await read(log)
}

/**
 * While they are written to, the last commits may count as missing: run it when the graph processes
 * rest.
 */
async function readBrokers<T>(
  { settings }: KafkaConfig,
  read: (log: Log) => Promise<T>,
): Promise<T> {
  const clock = systemClock()
  const options = { settings, clientId: 'kinfold-audit', mayCreate: false, clock }
  await using log = await openKafkaLog(options)
  return await read(log)
}

export async function refoldOne<T>(log: Log, partition: number, each: Each<T>): Promise<T> {
  const { codec, newStore } = offline()
  await using store = newStore()
  return await each({ log, codec, store, partition })
}
