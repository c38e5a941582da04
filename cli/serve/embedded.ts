/**
 * A whole Kinfold in one process on the embedded log: watchers, graph, reaper and endpoint.
 *
 * What must stay true: what is opened is closed in reverse order, also after a failure; the endpoint's address is in the data directory
 * while it is served. A start that fails for a setting, a port that is taken or no cluster that answers leaves no data directory behind.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openSqliteLog, type SqliteLog } from '../../adapters/sqlite/log.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { ArchiveRoom } from '../../runtime/archive/archive-room.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import { openAuditTokens } from '../../runtime/http/cluster-token.ts'
import { checkAddress, serveEndpoint } from '../../runtime/http/endpoint.ts'
import { openToken } from '../../runtime/http/http-token.ts'
import { openTlsOf } from '../../runtime/http/tls.ts'
import { together } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import { observedCluster } from '../../runtime/telemetry/observed-cluster.ts'
import { checkFoldVersion, foldVersionOf } from '../../services/graph/fold/fold-version.ts'
import { DEFAULT_RETENTION } from '../../services/graph/fold/retention.ts'
import { addGraphRoutes, addShadow } from '../../services/graph/http.ts'
import { openGraph } from '../../services/graph/main.ts'
import { openReaper } from '../../services/reaper/main.ts'
import { openWatcher } from '../../services/watcher/main.ts'
import { graphOptionsOf, makeDataDirectory, type UpConfig } from '../config/config.ts'
import type { NotifyConfig } from '../config/notify-config.ts'
import { checkUpgraded } from '../offline/upgrade.ts'
import { VERSION } from '../print/version.ts'
import { serveAddress } from '../process/address-file.ts'
import { CopiedData } from '../process/copied-data.ts'
import { recordStart } from '../process/data-start.ts'
import { DiskSpace } from '../process/disk-space.ts'
import { identifyEach, identifySome } from '../process/identity.ts'
import {
  checksOfLogTime,
  clockNote,
  clockOf,
  confirmTime,
  watchLogTime,
} from '../process/log-time.ts'
import { openNotifications } from '../process/notify.ts'
import { openAuthority } from '../process/open-authority.ts'
import {
  namesOf,
  observeAppends,
  observeCalls,
  observeCommands,
  observeLatency,
  registerCopies,
  registerCuts,
  registerEndpoint,
  registerFreeDisk,
  registerGraph,
  registerLogFile,
  registerProcess,
  registerReaper,
  registerShadow,
  registerWatchers,
} from '../process/process-metrics.ts'
import {
  checkOfLock,
  checksOfData,
  checksOfTls,
  checksOfTokens,
  readinessOf,
} from '../process/readiness.ts'
import { sayReady } from '../process/ready-line.ts'
import { openTelemetry } from '../process/telemetry.ts'
import { watching } from '../process/watching.ts'

export type EmbeddedConfig = Pick<
  UpConfig,
  | 'data'
  | 'mode'
  | 'preset'
  | 'holds'
  | 'budgets'
  | 'approvals'
  | 'rememberMs'
  | 'protection'
  | 'lock'
  | 'kinds'
  | 'ignoreKinds'
  | 'onlyAllowed'
  | 'partitions'
  | 'http'
  | 'httpTokenFile'
  | 'httpMetricsTokenFile'
  | 'httpAdvertise'
  | 'httpTls'
  | 'httpTlsCaFile'
  | 'httpReview'
  | 'httpAuthorize'
  | 'kubeconfig'
  | 'contexts'
  | 'keepMs'
  | 'keepEvents'
  | 'keepPastMs'
  | 'snapshotEvents'
  | 'diskReserveBytes'
  | 'archive'
> & {
  readonly notify?: NotifyConfig | undefined
  readonly auditTokenFile?: string | undefined
}

/** What the caller does once each: `locked` when the data directory is this process's, `ready` when `/readyz` would say so. */
export interface EmbeddedSteps {
  readonly locked?: () => void
  readonly ready?: (url: string) => void
}

/** Runs until the signal aborts. The clusters are closed by the caller. */
export async function runEmbedded(
  config: EmbeddedConfig,
  given: readonly Cluster[],
  logger: Logger,
  signal: AbortSignal,
  steps: EmbeddedSteps = {},
): Promise<void> {
  const cuts = new Cuts(systemClock(), logger)
  const token = config.httpTokenFile === undefined ? undefined : openToken(config.httpTokenFile)
  const { httpMetricsTokenFile } = config
  const metricsToken =
    httpMetricsTokenFile === undefined ? undefined : openToken(httpMetricsTokenFile)
  const clusterTokens = openAuditTokens(config)
  await using opened = openAuthority(config, systemClock(), cuts)
  const { authority } = opened
  const tls = openTlsOf(config)
  const http = {
    ...{ address: config.http, token, metricsToken, clusterTokens, tls, authority },
    advertise: config.httpAdvertise,
    isReadingReviewed: config.httpAuthorize,
  }
  await checkAddress(http)
  checkUpgraded(config.data)
  const clock = systemClock()
  const codec = avroCodec()
  await using telemetry = await openTelemetry({ service: 'kinfold', codec, clock, logger })
  const { metrics, traces } = telemetry
  const onCall = observeCalls(metrics.meter, traces)
  const clusters = given.map((each) => observedCluster(each, () => clock.monotonicMs(), onCall))
  // A first start without a cluster leaves nothing; of a log that is there, what is wrong with it comes first.
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
  await using parts = await openGraph({
    log,
    codec,
    clock: logClock,
    cuts,
    logger,
    directory: config.data,
    access: { authority, isReadingReviewed: config.httpAuthorize },
    ...graphOptionsOf(config),
    observe: observeLatency(metrics.meter, logClock, traces),
  })
  const { graph, census, index, actors, shadow } = parts
  const appendsOf = observeAppends(metrics.meter)
  const disk = new DiskSpace({
    directory: config.data,
    reserveBytes: config.diskReserveBytes,
    archiveBytes: config.archive.mostBytes,
    logBytes: () => file.bytes(),
    ...{ clock, logger },
  })
  const room = new ArchiveRoom({
    disk: () => disk.archive,
    keepMs: config.archive.keepMs ?? DEFAULT_RETENTION.archiveKeepMs,
    ...{ clock: logClock, cuts },
  })
  const { settings, observed } = config.archive
  // Where nothing is deleted, two processes on one record do no harm, and no cluster is written to.
  const copied =
    config.mode === 'enforce'
      ? new CopiedData({
          own: await recordStart(file, random),
          clusters: connected,
          ...{ clock, logger },
        })
      : undefined
  const watchers = clusters.map((cluster) =>
    openWatcher({
      ...{ cluster, log, codec, clock, random, logger, cuts },
      kinds: config.kinds,
      ignoreKinds: config.ignoreKinds,
      onlyAllowed: config.onlyAllowed,
      archived: observed && { ...observed, room },
      election: null,
      observe: appendsOf(cluster.name),
    }),
  )
  const notifications = openNotifications({
    config: config.notify,
    counts: () => census.counts(),
    locks: () => reaper.status().locks,
    clusters: connected,
    nameOf: namesOf(watchers),
    ...{ clock: logClock, logger, cuts, meter: metrics.meter },
  })
  const onNote = observeCommands(metrics.meter, namesOf(watchers))
  const reaper = openReaper({
    log,
    codec,
    clock: logClock,
    ageMs: (timestamp) => file.time.ageMs(timestamp),
    random,
    logger,
    cuts,
    clusters: connected,
    mode: config.mode,
    archive: settings && { ...settings, room },
    lock: config.lock,
    barring: (cluster) => disk.lacking() || (copied?.barring(cluster) ?? ''),
    observe: (note) => {
      onNote(note)
      notifications.observe(note)
    },
  })
  registerProcess(metrics.meter, VERSION)
  registerCuts(metrics.meter, cuts)
  registerWatchers(metrics.meter, watchers)
  registerGraph(metrics.meter, graph, census, namesOf(watchers), logClock)
  registerShadow(metrics.meter, shadow, census, namesOf(watchers))
  registerReaper(metrics.meter, reaper, namesOf(watchers))
  registerFreeDisk(metrics.meter, config.data)
  registerLogFile(metrics.meter, disk, file)
  registerCopies(metrics.meter, copied)
  const checks = (): readonly Check[] => [
    ...readinessOf(watchers, graph, census),
    ...reaper.status().locks.map(checkOfLock),
    ...checksOfLogTime(file.time),
    ...(copied?.checks() ?? []),
    ...disk.checks(),
    ...room.checks(namesOf(watchers)),
    ...checksOfData(config.data),
    ...checksOfTokens({ token, metricsToken, clusterTokens }),
    ...checksOfTls(tls),
    ...notifications.checks(),
  ]
  const served = await serveEndpoint(
    {
      version: VERSION,
      checks,
      scrape: metrics.scrape,
      logger,
      cuts,
      add: (routes) => {
        addGraphRoutes(routes, {
          ...{ ...parts, log, codec },
          logTime: file.time,
          clockNote: () => clockNote(file.time),
        })
        addShadow(routes, shadow)
      },
    },
    http,
  )
  const { url, advertised, server } = served
  registerEndpoint(metrics.meter, served)
  try {
    logger.log('info', 'serving', {
      url,
      data: config.data,
      mode: config.mode,
      preset: config.preset,
    })
    await copied?.look(signal)
    await together(
      [
        (either) => graph.run(advertised, either),
        ...watching(watchers, logger),
        (either) => reaper.run(either),
        (either) => identifyEach(clusters, connected, clock, logger, either),
        (either) => index.run(either),
        (either) => actors.run(either),
        (either) => shadow.run(either),
        (either) => disk.run(either),
        ...(settings === undefined
          ? []
          : [(either: AbortSignal) => room.restore(log, codec, either)]),
        ...(copied === undefined ? [] : [(either: AbortSignal) => copied.run(either)]),
        ...notifications.loops,
        (either) => watchLogTime(file.time, clock, logger, either),
        (either) =>
          sayReady({ checks, watchers, graph, ...config }, clock, logger, either, () =>
            steps.ready?.(url),
          ),
        (either) => serveAddress(config, url, either),
      ],
      signal,
    )
  } finally {
    await server.close()
  }
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
