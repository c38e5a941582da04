/**
 * `kinfold graph`: folds what Kafka holds, decides, and answers questions; several share the
 * partitions.
 */
import { join } from 'node:path'
import { clusterLabels } from '../../services/graph/api/document.ts'
import { withCloudEvents } from '../../services/graph/cloud-events.ts'
import { FAR } from '../../services/graph/config.ts'
import { checkFoldVersion, foldVersionOf } from '../../services/graph/fold/fold-version.ts'
import { policyName } from '../../services/graph/graph.ts'
import { addGraphRoutes, addShadow } from '../../services/graph/http.ts'
import { openGraph } from '../../services/graph/main.ts'
import { graphOptionsOf } from '../config/config.ts'
import { serveAddress } from '../process/address-file.ts'
import { openNotifications } from '../process/notify.ts'
import {
  observeLatency,
  registerFreeDisk,
  registerGraph,
  registerShadow,
} from '../process/process-metrics.ts'
import { blockedOf, checksOfData, checksOfTasks } from '../process/readiness.ts'
import type { Service, ServiceParts } from './service.ts'

export async function openGraphService(parts: ServiceParts, standbys: number): Promise<Service> {
  const { config, kafka, codec, clock, logger, cuts, meter } = parts
  // Before it joins the others: a process that may not go on with this log takes no partition from
  // those that may.
  checkFoldVersion(await foldVersionOf(parts.log, codec))
  const { application } = kafka.settings
  const registry = kafka.registry?.url
  const log = kafka.cloudEvents
    ? withCloudEvents(parts.log, { codec, application, registry })
    : parts.log
  const options = graphOptionsOf(config)
  const made = await openGraph({
    ...{ log, codec, clock, logger, cuts },
    directory: join(config.data, application),
    logIdentity: parts.logIdentity,
    placement: parts.placement(standbys, policyName(options.policy.policy)),
    access: { authority: parts.authority, isReadingReviewed: config.httpAuthorize },
    ...options,
    pace: FAR,
    observe: observeLatency(meter, clock, parts.traces),
  })
  const { graph, census, index, actors, shadow } = made
  registerFreeDisk(meter, config.data)
  registerGraph(meter, graph, census, (id) => made.clusterName(id), clock)
  registerShadow(meter, shadow, census, (id) => made.clusterName(id))
  const blocked = (): ReturnType<typeof blockedOf> => {
    const counts = census.counts()
    const names = counts.map(({ cluster }) => [cluster, made.clusterName(cluster)] as const)
    const labelOf = clusterLabels(new Map(names))
    return counts.flatMap((count) => blockedOf(labelOf(count.cluster), count))
  }
  const notifications = openNotifications({
    config: config.notify,
    counts: () => census.counts(),
    locks: () => [],
    nameOf: (id) => made.clusterName(id),
    ...{ clock, logger, cuts, meter },
  })
  return {
    checks: () => [
      ...checksOfTasks(graph),
      ...blocked(),
      ...checksOfData(config.data),
      ...notifications.checks(),
    ],
    add: (routes) => {
      addGraphRoutes(routes, { ...made, log, codec })
      addShadow(routes, shadow)
    },
    loops: ({ url, advertised }) => [
      (signal) => graph.run(advertised, signal),
      (signal) => index.run(signal),
      (signal) => actors.run(signal),
      (signal) => shadow.run(signal),
      (signal) => serveAddress(config, url, signal),
      ...notifications.loops,
    ],
    [Symbol.asyncDispose]: async () => await made[Symbol.asyncDispose](),
  }
}
