/**
 * What a restore takes: the archive of a data directory or of the brokers, and a cluster by the
 * user's own kubeconfig.
 *
 * What must stay true: the log is opened for reading only, also while a Kinfold runs on it, so the
 * key stays with the one who restores.
 */
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openKafkaLog } from '../../adapters/kafka/log.ts'
import { openRestorer } from '../../adapters/kubernetes/restorer.ts'
import { openSqliteLog } from '../../adapters/sqlite/log.ts'
import type { Log } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Restorer } from '../../ports/restorer.ts'
import { systemClock } from '../../runtime/clock.ts'
import { exchangeTo, loadedContexts } from '../config/clusters.ts'
import { configFile } from '../config/config.ts'
import { defaultDataDirectory } from '../config/data-directory.ts'
import { type KafkaFlags, kafkaConfig } from '../config/kafka-config.ts'
import { logDirectoryIn } from '../config/log-directory.ts'
import { bad } from '../config/setting.ts'

export interface SourceFlags extends KafkaFlags {
  readonly data?: string
  readonly config?: string
}

export interface ArchiveSource {
  /** Closed by the caller. */
  readonly log: Log
  readonly codec: Codec
}

/** Brokers, if any are named; else a data directory. */
export async function openArchive(flags: SourceFlags): Promise<ArchiveSource> {
  const section = configFile(flags)['kafka']
  const isOnKafka =
    flags.brokers !== undefined || (section !== undefined && flags.data === undefined)
  const clock = systemClock()
  const codec = avroCodec()
  if (!isOnKafka) {
    const directory = logDirectoryIn(flags.data ?? defaultDataDirectory())
    return { codec, log: await openSqliteLog({ directory, clock, readOnly: true }) }
  }
  const { settings } = kafkaConfig(flags, section, flags.config ?? 'kafka')
  const options = { settings, clientId: 'kinfold-restore', mayCreate: false, clock }
  return { codec, log: await openKafkaLog(options) }
}

/** To be closed together. */
export class RestoredClusters implements AsyncDisposable {
  /** Into which it is restored. */
  readonly first: Restorer
  /** Of objects that name owners there, or of owners. */
  readonly others: readonly Restorer[]

  constructor([first, ...others]: readonly [Restorer, ...Restorer[]]) {
    this.first = first
    this.others = others
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.first, ...this.others].map((each) => each[Symbol.asyncDispose]()))
  }
}

export function openRestoredClusters(
  kubeconfig: string | undefined,
  contexts: readonly string[],
): RestoredClusters {
  const [first, ...others] = loadedContexts(kubeconfig, contexts)
  if (first === undefined || (contexts.length === 0 && others.length > 0)) {
    throw bad('a restore is into one cluster: name its context with --context, first of all')
  }
  const open = (context: typeof first): Restorer =>
    openRestorer({ name: context.name, exchange: exchangeTo('restore', context) })
  return new RestoredClusters([open(first), ...others.map(open)])
}
