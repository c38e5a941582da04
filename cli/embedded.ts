/**
 * A whole Kinfold in one process on the embedded log: watchers, graph, reaper and endpoint.
 *
 * What must stay true: what is opened is closed in reverse order, also after a failure; the endpoint's address stands in the data directory
 * while it is served.
 */
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openSqliteLog } from '../adapters/sqlite/log.ts'
import type { Policy } from '../core/policy.ts'
import { FOLD_VERSION } from '../core/policy.ts'
import type { Clock } from '../ports/clock.ts'
import type { Cluster } from '../ports/cluster.ts'
import { ClusterError } from '../ports/cluster.ts'
import type { Log } from '../ports/log.ts'
import { systemClock } from '../runtime/clock.ts'
import { EXIT, ExitError, together } from '../runtime/lifecycle.ts'
import type { Logger } from '../runtime/logger.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { systemRandom } from '../runtime/random.ts'
import { checkHttp, serveHttp } from '../services/graph/http.ts'
import { openToken } from '../services/graph/http-token.ts'
import { openGraph } from '../services/graph/main.ts'
import { DEFAULT_RETENTION } from '../services/graph/retention.ts'
import { openReaper } from '../services/reaper/main.ts'
import type { ConnectedCluster } from '../services/reaper/reaper.ts'
import { openWatcher } from '../services/watcher/main.ts'
import type { UpConfig } from './config.ts'
import { readinessOf } from './readiness.ts'
import { registerMetrics } from './up-metrics.ts'
import { VERSION } from './version.ts'

export type EmbeddedConfig = Pick<
  UpConfig,
  | 'data'
  | 'mode'
  | 'preset'
  | 'partitions'
  | 'http'
  | 'httpTokenFile'
  | 'httpAdvertise'
  | 'keepMs'
  | 'keepEvents'
  | 'snapshotEvents'
>

/** How long a cluster may take to say who it is before the start is given up. */
const IDENTIFY_MS = 15_000
/** Bounds of the latency histogram's buckets. */
const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Runs until the signal aborts. `clusters` are closed by the caller. */
export async function runEmbedded(
  config: EmbeddedConfig,
  clusters: readonly Cluster[],
  logger: Logger,
  signal: AbortSignal,
  onServing: (url: string) => void = () => undefined,
): Promise<void> {
  const token = config.httpTokenFile === undefined ? undefined : openToken(config.httpTokenFile)
  const http = { address: config.http, token, advertise: config.httpAdvertise }
  checkHttp(http)
  const clock = systemClock()
  const random = systemRandom()
  const codec = avroCodec()
  makeDirectory(config.data)
  await using log = await openLog(config, clock)
  const connected = await identifyAll(clusters, signal)
  await using metrics = createMetrics()
  const latency = metrics.meter.createHistogram('kinfold_decision_latency_seconds', {
    description: 'From the append of an event to the fold that issued commands for it.',
    advice: { explicitBucketBoundaries: LATENCY_SECONDS },
  })
  await using parts = await openGraph({
    log,
    codec,
    clock,
    logger,
    directory: config.data,
    token: () => token?.own(),
    policy: { policy: policyOf(config), who: 'command line' },
    retention: {
      keepMs: config.keepMs,
      keepEvents: config.keepEvents,
      snapshotEvents: config.snapshotEvents,
      everyMs: DEFAULT_RETENTION.everyMs,
    },
    observe: {
      folded: (_event, at, outcome) => {
        if (outcome.commands.length > 0) latency.record((clock.now() - at.timestamp) / 1_000)
      },
    },
  })
  const watchers = clusters.map((cluster) =>
    openWatcher({ cluster, log, codec, clock, random, logger }),
  )
  const reaper = openReaper({
    log,
    codec,
    clock,
    random,
    logger,
    clusters: connected,
    mode: config.mode,
  })
  const { graph, census, index } = parts
  registerMetrics(metrics.meter, { watchers, graph, census, reaper, version: VERSION })
  const { url, advertised, server } = await serveHttp(
    {
      ...parts,
      log,
      codec,
      version: VERSION,
      checks: () => readinessOf(watchers, graph, census),
      scrape: metrics.scrape,
    },
    http,
  )
  const addressFile = join(config.data, 'http.json')
  const about = {
    url,
    pid: process.pid,
    tokenFile: config.httpTokenFile && resolve(config.httpTokenFile),
  }
  writeFileSync(addressFile, `${JSON.stringify(about)}\n`)
  try {
    onServing(url)
    logger.log('info', 'serving', {
      url,
      data: config.data,
      mode: config.mode,
      preset: config.preset,
    })
    await together(
      [
        (either) => graph.run(advertised, either),
        ...watchers.map((watcher) => (either: AbortSignal) => watcher.run(either)),
        (either) => reaper.run(either),
        (either) => index.run(either),
        (either) => census.run(either),
      ],
      signal,
    )
  } finally {
    rmSync(addressFile, { force: true })
    await server.close()
  }
}

function policyOf({ mode, preset }: EmbeddedConfig): Policy {
  return { mode, preset, foldVersion: FOLD_VERSION }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new ExitError(EXIT.failure, `the data directory ${path} cannot be made: ${why}`)
  }
}

async function openLog(config: EmbeddedConfig, clock: Clock): Promise<Log> {
  const directory = join(config.data, 'log')
  const isNew = !existsSync(directory)
  const partitions = config.partitions ?? (isNew ? 1 : undefined)
  return await openSqliteLog({ directory, partitions, clock })
}

/** Each cluster says who it is; one that cannot, or two that are one, end the start with a sentence. */
async function identifyAll(
  clusters: readonly Cluster[],
  signal: AbortSignal,
): Promise<ConnectedCluster[]> {
  const connected = await Promise.all(clusters.map((cluster) => identify(cluster, signal)))
  for (const { id, cluster } of connected) {
    const twin = connected.find((other) => other.id === id && other.cluster !== cluster)
    if (twin === undefined) continue
    throw new ExitError(
      EXIT.input,
      `contexts ${cluster.name} and ${twin.cluster.name} are one cluster (${id}): name it once`,
    )
  }
  return connected
}

async function identify(cluster: Cluster, signal: AbortSignal): Promise<ConnectedCluster> {
  try {
    const either = AbortSignal.any([signal, AbortSignal.timeout(IDENTIFY_MS)])
    return { id: await cluster.identify(either), cluster }
  } catch (error) {
    if (signal.aborted) throw error
    const why = error instanceof Error ? error.message : String(error)
    const hint =
      error instanceof ClusterError && error.code === 'FORBIDDEN'
        ? 'its account needs "get" on the namespace kube-system; kinfold doctor lists all it needs'
        : 'check the context and that the server runs'
    throw new ExitError(
      EXIT.failure,
      `cluster ${cluster.name} does not say who it is: ${why}; ${hint}`,
    )
  }
}
