/**
 * `kinfold watcher`: watches clusters and tells Kafka what it sees; of several, one watches each
 * cluster and the others stand by.
 */
import { hostname } from 'node:os'
import { openWatcher } from '../../services/watcher/main.ts'
import { openWatchedClusters } from '../config/clusters.ts'
import { observeAppends, registerWatchers } from '../process/process-metrics.ts'
import { checksOfWatcher } from '../process/readiness.ts'
import { watching } from '../process/watching.ts'
import type { Service, ServiceParts } from './service.ts'

export async function openWatcherService(parts: ServiceParts): Promise<Service> {
  const { config, log, codec, clock, random, logger, cuts, meter } = parts
  const clusters = openWatchedClusters(config.kubeconfig, config.contexts)
  const holder = hostname()
  const { kinds, ignoreKinds, onlyAllowed } = config
  const appendsOf = observeAppends(meter)
  const watchers = clusters.map(({ cluster, exchange }) => {
    const election = { exchange, holder }
    const own = { cluster, log, codec, clock, random, logger, cuts }
    const archived = config.archive.observed
    return openWatcher({
      ...own,
      kinds,
      ignoreKinds,
      onlyAllowed,
      election,
      archived,
      observe: appendsOf(cluster.name),
    })
  })
  registerWatchers(meter, watchers)
  return {
    checks: () => watchers.flatMap(checksOfWatcher),
    loops: () => watching(watchers, logger),
    [Symbol.asyncDispose]: async () => {
      const all = clusters.flatMap(({ cluster, exchange }) => [cluster, exchange])
      await Promise.all(all.map((each) => each[Symbol.asyncDispose]()))
    },
  }
}
