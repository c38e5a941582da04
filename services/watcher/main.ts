/**
 * Puts a watcher together for one cluster. Not here: which clusters there are (the caller's
 * kubeconfig).
 */
import { kubernetesLease } from '../../adapters/kubernetes/lease/lease.ts'
import { MemoryLease } from '../../adapters/memory/lease.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Exchange } from '../../ports/exchange.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { LEASE } from './config.ts'
import type { ArchivedKinds } from './publish/deletion-archive.ts'
import type { WatcherObserver } from './status.ts'
import type { Watcher } from './watcher.ts'
import { createWatcher } from './watcher.ts'

export interface WatcherMainOptions {
  readonly cluster: Cluster
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly cuts: Cuts
  /**
   * Null when one process holds the log: no other can watch, and the cluster need not be written
   * to.
   */
  readonly election: Election | null
  /** To watch, as `deployments.apps`; null: all that it serves. */
  readonly kinds: readonly string[] | null
  /** To leave out, the same way. */
  readonly ignoreKinds: readonly string[]
  /** Of these only what the account may list and watch. */
  readonly onlyAllowed: boolean
  readonly observe?: Pick<WatcherObserver, 'appended'> | undefined
  readonly archived?: ArchivedKinds | undefined
}

/** Among processes that watch the same cluster for the same log. */
export interface Election {
  /** To the cluster; closed by the caller. */
  readonly exchange: Exchange
  /** Who this process is, for people: its pod or host. */
  readonly holder: string
}

export function openWatcher(options: WatcherMainOptions): Watcher {
  const { cluster, logger, election, clock, random, observe, ...rest } = options
  const { kinds, ignoreKinds, onlyAllowed, ...ports } = rest
  const lease =
    election === null
      ? new MemoryLease(LEASE.name)
      : kubernetesLease({ ...election, ...LEASE, clock, random })
  return createWatcher({
    ...ports,
    cluster,
    clock,
    random,
    lease,
    config: { kinds, ignoreKinds, onlyAllowed },
    observe: {
      ...observe,
      note: (level, message, fields) =>
        logger.log(level, message, { cluster: cluster.name, ...fields }),
    },
  })
}
