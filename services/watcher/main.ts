/** Puts a watcher together for one cluster. Not here: which clusters there are (the caller's kubeconfig). */
import { MemoryLease } from '../../adapters/memory/lease.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Watcher } from './watcher.ts'
import { createWatcher } from './watcher.ts'

export interface WatcherMainOptions {
  readonly cluster: Cluster
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
}

/** One process holds the log, so nobody else can watch: the lease is its own. */
export function openWatcher(options: WatcherMainOptions): Watcher {
  const { cluster, logger, ...ports } = options
  return createWatcher({
    ...ports,
    cluster,
    lease: new MemoryLease(),
    observe: {
      note: (level, message, fields) =>
        logger.log(level, message, { cluster: cluster.name, ...fields }),
    },
  })
}
