/** `kinfold graph`: folds what Kafka holds, decides, and answers questions; several share the partitions. */
import { join } from 'node:path'
import type { Command } from 'commander'
import { FAR } from '../services/graph/config.ts'
import { policyName } from '../services/graph/graph.ts'
import { addGraphRoutes, addShadow } from '../services/graph/http.ts'
import { openGraph } from '../services/graph/main.ts'
import { clusterLabels } from '../services/graph/query/cluster-label.ts'
import { serveAddress } from './address-file.ts'
import { addPolicyOptions, DEFAULT_DATA, graphOptionsOf, makeDataDirectory } from './config.ts'
import { noticesOf } from './notice.ts'
import { openNotifications } from './notify.ts'
import {
  observeLatency,
  registerFreeDisk,
  registerGraph,
  registerShadow,
} from './process-metrics.ts'
import { blockedOf, checksOfData, checksOfTasks } from './readiness.ts'
import {
  runService,
  type Service,
  type ServiceFlags,
  type ServiceParts,
  serviceCommand,
} from './service.ts'
import { whole } from './setting.ts'

const HTTP = '127.0.0.1:7070'
const MOST_STANDBYS = 8

export function addGraph(program: Command): void {
  const description =
    'fold the events on Kafka, decide, and answer questions; several share the partitions'
  addPolicyOptions(serviceCommand(program, 'graph', description, HTTP))
    .option('--data <dir>', `directory of the stores (default: ${DEFAULT_DATA})`)
    .option('--partitions <n>', 'partitions of new topics (default: 1)')
    .option(
      '--standbys <n>',
      'processes that follow each partition, for a short takeover (default: 0)',
    )
    .option(
      '--schema-registry <url>',
      'register the schemas of lineage and history there, and write their ids',
    )
    .option('--schema-registry-credentials-file <file>', 'USER:PASSWORD for it')
    .action(async (flags: ServiceFlags) => {
      const value = flags.standbys
      const standbys = whole({ key: 'standbys', value, from: '--standbys' }, 0, MOST_STANDBYS) ?? 0
      await runService('graph', flags, HTTP, async (parts) => await open(parts, standbys))
    })
}

async function open(parts: ServiceParts, standbys: number): Promise<Service> {
  const { config, log, codec, clock, logger, meter } = parts
  makeDataDirectory(config.data)
  const options = graphOptionsOf(config)
  const made = await openGraph({
    ...{ log, codec, clock, logger },
    directory: join(config.data, parts.kafka.settings.application),
    logIdentity: log.identity,
    placement: parts.placement(standbys, policyName(options.policy.policy)),
    access: { authority: parts.authority, isReadingReviewed: config.httpAuthorize },
    ...options,
    pace: FAR,
    observe: observeLatency(meter, clock),
  })
  const { graph, census, index, shadow } = made
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
    notices: () => noticesOf(census.counts(), (id) => made.clusterName(id), []),
    ...{ clock, logger, meter },
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
      (signal) => shadow.run(signal),
      (signal) => serveAddress(config, url, signal),
      ...notifications.loops,
    ],
    [Symbol.asyncDispose]: async () => await made[Symbol.asyncDispose](),
  }
}
