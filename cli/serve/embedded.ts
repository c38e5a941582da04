/**
 * A whole Kinfold in one process on the embedded log: watchers, graph, reaper and endpoint.
 *
 * What must stay true: what is opened is closed in reverse order, also after a failure; the
 * endpoint's address is in the data directory while it is served. A start that fails for a setting,
 * a port that is taken or no cluster that answers leaves no data directory behind.
 *
 * Not here: the services beside the graph (embedded-services.ts), what the endpoint is served with
 * (open-http.ts).
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openSqliteLog, type SqliteLog } from '../../adapters/sqlite/log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import { type Served, serveEndpoint } from '../../runtime/http/endpoint.ts'
import { together } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { observedCluster } from '../../runtime/telemetry/observed-cluster.ts'
import { checkFoldVersion, foldVersionOf } from '../../services/graph/fold/fold-version.ts'
import { addGraphRoutes, addShadow } from '../../services/graph/http.ts'
import { type GraphMain, openGraph } from '../../services/graph/main.ts'
import { graphOptionsOf, makeDataDirectory } from '../config/config.ts'
import { checkUpgraded } from '../offline/upgrade.ts'
import { VERSION } from '../print/version.ts'
import { serveAddress } from '../process/address-file.ts'
import { identifySome } from '../process/identity.ts'
import { clockNote, clockOf, confirmTime } from '../process/log-time.ts'
import { type OpenHttp, openHttp } from '../process/open-http.ts'
import { observeCalls, observeLatency, registerEndpoint } from '../process/process-metrics.ts'
import { sayReady } from '../process/ready-line.ts'
import { openTelemetry } from '../process/telemetry.ts'
import {
  checksOf,
  type EmbeddedConfig,
  type EmbeddedProcess,
  loopsOf,
  openServices,
  registerMetrics,
  type Services,
} from './embedded-services.ts'

/**
 * What the caller does once each: `locked` when the data directory is this process's, `ready` when
 * `/readyz` would say so.
 */
export interface EmbeddedSteps {
  readonly locked?: () => void
  readonly ready?: (url: string) => void
}

export interface Embedded {
  readonly config: EmbeddedConfig
  /** Closed by the caller. */
  readonly clusters: readonly Cluster[]
  readonly logger: Logger
  readonly steps?: EmbeddedSteps
}

/** Runs until the signal aborts. */
export async function runEmbedded(embedded: Embedded, signal: AbortSignal): Promise<void> {
  const { config, logger, steps = {} } = embedded
  const cuts = new Cuts(systemClock(), logger)
  await using http = await openHttp(config, { cuts, isAudited: true, isShared: false })
  checkUpgraded(config.data)
  const clock = systemClock()
  const codec = avroCodec()
  await using telemetry = await openTelemetry({ service: 'kinfold', codec, clock, logger })
  const { metrics, traces } = telemetry
  const onCall = observeCalls(metrics.meter, traces)
  const clusters = embedded.clusters.map((each) =>
    observedCluster(each, () => clock.monotonicMs(), onCall),
  )
  // A first start without a cluster leaves nothing; of a log that is there, what is wrong with it
  // comes first.
  const first = existsSync(logIn(config)) ? undefined : await identifySome(clusters, signal)
  const random = systemRandom()
  makeDataDirectory(config.data)
  await using file = await openLog(config, clock, traces !== undefined)
  steps.locked?.()
  const log = traces === undefined ? file : traces.log(file)
  const logClock = clockOf(file.time, clock)
  checkFoldVersion(await foldVersionOf(log, codec))
  const connected = first ?? (await identifySome(clusters, signal))
  const asked = connected.map(({ cluster }) => cluster)
  await confirmTime(file.time, asked, logger, signal)
  const process: EmbeddedProcess = {
    ...{ config, clusters, connected, file, log, codec, clock, logClock, random, logger, cuts },
    ...{ meter: metrics.meter },
  }
  await using graph = await openGraph({
    ...{ log, codec, cuts, logger },
    clock: logClock,
    directory: config.data,
    access: { authority: http.settings.authority, isReadingReviewed: config.httpAuthorize },
    ...graphOptionsOf(config),
    observe: observeLatency(metrics.meter, logClock, traces),
  })
  const services = await openServices(process, graph)
  registerMetrics(process, services)
  const checks = (): readonly Check[] => [
    ...checksOf(process, services),
    ...http.checks(),
    ...services.notifications.checks(),
  ]
  const { scrape } = metrics
  const served = await serve(process, graph, { http, checks, scrape })
  registerEndpoint(metrics.meter, served)
  try {
    await runServices(process, services, { served, checks, steps }, signal)
  } finally {
    await served.server.close()
  }
}

interface EndpointOf {
  readonly http: OpenHttp
  readonly checks: () => readonly Check[]
  readonly scrape: () => Promise<string>
}

async function serve(
  { file, log, codec, logger, cuts }: EmbeddedProcess,
  graph: GraphMain,
  { http, checks, scrape }: EndpointOf,
): Promise<Served> {
  return await serveEndpoint(
    {
      ...{ version: VERSION, checks, scrape, logger, cuts },
      add: (routes) => {
        addGraphRoutes(routes, {
          ...{ ...graph, log, codec },
          logTime: file.time,
          clockNote: () => clockNote(file.time),
        })
        addShadow(routes, graph.shadow)
      },
    },
    http.settings,
  )
}

interface Running {
  readonly served: Served
  readonly checks: () => readonly Check[]
  readonly steps: EmbeddedSteps
}

async function runServices(
  process: EmbeddedProcess,
  services: Services,
  { served: { url, advertised }, checks, steps }: Running,
  signal: AbortSignal,
): Promise<void> {
  const { config, clock, logger } = process
  const { data, mode, preset } = config
  const readiness = { checks, watchers: services.watchers, graph: services.graph.graph, mode, data }
  logger.log('info', 'serving', { url, data, mode, preset })
  await services.copied?.look(signal)
  await together(
    [
      ...loopsOf(process, services, advertised),
      (either) => sayReady(readiness, clock, logger, either, () => steps.ready?.(url)),
      (either) => serveAddress(config, url, either),
    ],
    signal,
  )
}

async function openLog(config: EmbeddedConfig, clock: Clock, traces: boolean): Promise<SqliteLog> {
  const directory = logIn(config)
  const isNew = !existsSync(directory)
  const partitions = config.partitions ?? (isNew ? 1 : undefined)
  return await openSqliteLog({ directory, partitions, clock, traces })
}

function logIn({ data }: EmbeddedConfig): string {
  return join(data, 'log')
}
