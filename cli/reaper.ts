/** `kinfold reaper`: carries out the commands on Kafka; several share them. */
import type { Command } from 'commander'
import { failed, passed } from '../runtime/health.ts'
import { openReaper } from '../services/reaper/main.ts'
import type { ConnectedCluster } from '../services/reaper/reaper.ts'
import { addArchiveOptions } from './archive-config.ts'
import { openClusters } from './clusters.ts'
import { addClusterOptions, addLockOption, addPolicyOptions } from './config.ts'
import { identifyEach, watchIdentities } from './identity.ts'
import { noticesOf } from './notice.ts'
import { openNotifications } from './notify.ts'
import { registerReaper } from './process-metrics.ts'
import { checkOfLock } from './readiness.ts'
import {
  runService,
  type Service,
  type ServiceFlags,
  type ServiceParts,
  serviceCommand,
} from './service.ts'

const HTTP = '127.0.0.1:7072'

export function addReaper(program: Command): void {
  const description = 'carry out the commands on Kafka; several share them'
  const command = serviceCommand(program, 'reaper', description, HTTP)
  addArchiveOptions(addLockOption(addPolicyOptions(addClusterOptions(command)))).action(
    async (flags: ServiceFlags) => await runService('reaper', flags, HTTP, open),
  )
}

async function open(parts: ServiceParts): Promise<Service> {
  const { config, log, codec, clock, random, logger, meter } = parts
  const clusters = openClusters('reaper', config.kubeconfig, config.contexts)
  const connected: ConnectedCluster[] = []
  const identities = watchIdentities(connected, clock, logger)
  const placement = parts.placement(0, config.mode)
  const make = (url: string): ReturnType<typeof openReaper> =>
    openReaper({
      ...{ log, codec, clock, random, logger },
      clusters: connected,
      mode: config.mode,
      archive: config.archive.settings,
      lock: config.lock,
      placement: { of: placement, url },
    })
  const nameOf = (id: string): string =>
    connected.find((each) => each.id === id)?.cluster.name ?? id
  let reaper: ReturnType<typeof openReaper> | undefined
  const notifications = openNotifications({
    config: config.notify,
    notices: () => noticesOf([], nameOf, reaper?.status().locks ?? []),
    ...{ clock, logger, meter },
  })
  return {
    checks: () => [
      ...clusters.map((cluster) => {
        const isKnown = connected.some((each) => each.cluster === cluster)
        const failure = isKnown ? identities.failure(cluster) : 'has not said who it is'
        const name = `cluster/${cluster.name}`
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
