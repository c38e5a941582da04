/** `kinfold reaper`: carries out the commands on Kafka; several share them. */
import { failed, passed } from '../../runtime/health.ts'
import { observedCluster } from '../../runtime/telemetry/observed-cluster.ts'
import { openReaper } from '../../services/reaper/main.ts'
import type { ConnectedCluster } from '../../services/reaper/reaper.ts'
import { openClusters } from '../config/clusters.ts'
import { identifyEach, watchIdentities } from '../process/identity.ts'
import { openNotifications } from '../process/notify.ts'
import { observeCalls, observeCommands, registerReaper } from '../process/process-metrics.ts'
import { checkOfLock } from '../process/readiness.ts'
import type { Service, ServiceParts } from './service.ts'

export async function openReaperService(parts: ServiceParts): Promise<Service> {
  const { config, log, codec, clock, random, logger, cuts, meter } = parts
  const onCall = observeCalls(meter, parts.traces)
  const clusters = openClusters('reaper', config.kubeconfig, config.contexts).map((each) =>
    observedCluster(each, () => clock.monotonicMs(), onCall),
  )
  const connected: ConnectedCluster[] = []
  const identities = watchIdentities(connected, clock, logger)
  const placement = parts.placement(0, config.mode)
  const nameOf = (id: string): string =>
    connected.find((each) => each.id === id)?.cluster.name ?? id
  const onNote = observeCommands(meter, nameOf)
  let reaper: ReturnType<typeof openReaper> | undefined
  const notifications = openNotifications({
    config: config.notify,
    counts: () => [],
    locks: () => reaper?.status().locks ?? [],
    clusters: connected,
    nameOf,
    ...{ clock, logger, cuts, meter },
  })
  const make = (url: string): ReturnType<typeof openReaper> =>
    openReaper({
      ...{ log, codec, clock, random, logger, cuts },
      clusters: connected,
      mode: config.mode,
      mayRemove: config.mayRemove,
      archive: config.archive.settings,
      lock: config.lock,
      placement: { of: placement, url },
      observe: (note) => {
        onNote(note)
        notifications.observe(note)
      },
    })
  return {
    checks: () => [
      ...clusters.map((cluster) => {
        const isKnown = connected.some((each) => each.cluster === cluster)
        const failure = isKnown ? identities.failure(cluster) : 'has not said who it is'
        const name = `cluster/${cluster.name}` as const
        return failure === '' ? passed(name) : failed(name, failure)
      }),
      ...(reaper?.status().locks ?? []).map(checkOfLock),
      ...notifications.checks(),
    ],
    loops: ({ url }) => {
      const made = make(url)
      reaper = made
      registerReaper(meter, made, nameOf)
      return [
        (signal) => made.run(signal),
        (signal) => identifyEach(clusters, connected, clock, logger, signal),
        (signal) => identities.run(signal),
        ...notifications.loops,
      ]
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(clusters.map((cluster) => cluster[Symbol.asyncDispose]()))
    },
  }
}
