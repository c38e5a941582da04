/**
 * What the services that run apart have in common: their flags, Kafka, an endpoint, an end.
 *
 * What must stay true: what is opened is closed in reverse order, also after a failure. A data
 * directory is one process's, whatever that runs, before anything is written there.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Meter } from '@opentelemetry/api'
import type { FastifyInstance } from 'fastify'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { registeredCodec } from '../../adapters/avro/registry.ts'
import { type KafkaLog, openKafkaLog } from '../../adapters/kafka/log.ts'
import { createKafkaPlacement, type KafkaPlacement } from '../../adapters/kafka/placement.ts'
import { TopicsMissing } from '../../adapters/kafka/topics.ts'
import { lockDirectory } from '../../adapters/sqlite/lock.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Log, LogError } from '../../ports/log.ts'
import type { Placement } from '../../ports/placement.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Check } from '../../runtime/health.ts'
import type { Authority } from '../../runtime/http/authority.ts'
import { type Served, serveEndpoint } from '../../runtime/http/endpoint.ts'
import type { HttpToken } from '../../runtime/http/http-token.ts'
import { EXIT, ExitError, stopSignal, together } from '../../runtime/lifecycle.ts'
import type { Logger } from '../../runtime/logger.ts'
import { createLogger } from '../../runtime/logger.ts'
import { systemRandom } from '../../runtime/random.ts'
import { ResourceStack } from '../../runtime/resource-stack.ts'
import { Cuts } from '../../runtime/shares/cuts.ts'
import {
  configFile,
  makeDataDirectory,
  type UpConfig,
  type UpFlags,
  upConfig,
} from '../config/config.ts'
import { type KafkaConfig, type KafkaFlags, kafkaConfig } from '../config/kafka-config.ts'
import { VERSION } from '../print/version.ts'
import { becomeLean, keepCompiled } from '../process/lean-process.ts'
import { createLogProbe } from '../process/log-probe.ts'
import { openHttp } from '../process/open-http.ts'
import { registerCuts, registerEndpoint, registerProcess } from '../process/process-metrics.ts'
import { checkOfGroup } from '../process/readiness.ts'
import { openTelemetry, type ProcessTraces } from '../process/telemetry.ts'

export type ServiceName = 'graph' | 'reaper' | 'watcher'

/** How often it is looked for topics that are missing. */
const TOPICS_EVERY_MS = 1_000

export interface ServiceFlags extends UpFlags, KafkaFlags {
  readonly standbys?: string
}

/** What a service is given to run. */
export interface ServiceParts {
  readonly config: UpConfig
  readonly kafka: KafkaConfig
  readonly log: Log
  /** Of another log the stores are others'. */
  readonly logIdentity: string
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
  readonly logger: Logger
  /** What caps have cut in this process. */
  readonly cuts: Cuts
  readonly meter: Meter
  /** Undefined: they are switched off. */
  readonly traces: ProcessTraces | undefined
  /**
   * What requests to the endpoint must show, and what other processes of the service want to be
   * shown.
   */
  readonly token: HttpToken | undefined
  /** Clusters that say who asks. */
  readonly authority: Authority | undefined
  /**
   * A share of the partitions among the processes of this service. `policy`: what this one decides
   * by, so that a process with another one is noticed.
   */
  placement(standbys: number, policy: string): Placement
}

/** What a service makes of it. */
export interface Service extends AsyncDisposable {
  checks(): readonly Check[]
  add?(routes: FastifyInstance): void
  /** Called once the endpoint is served. */
  loops(served: Served): readonly ((signal: AbortSignal) => Promise<void>)[]
}

/** Until a signal ends it. `open` gets its parts and makes the service. */
export async function runService(
  name: ServiceName,
  flags: ServiceFlags,
  listening: string,
  open: (parts: ServiceParts) => Promise<Service>,
): Promise<void> {
  const config = upConfig(flags, listening)
  const kafka = kafkaConfig(flags, configFile(flags)['kafka'], flags.config ?? 'kafka')
  const logger = createLogger(`kinfold-${name}`, config.logLevel, config.logFormat)
  const cuts = new Cuts(systemClock(), logger)
  const isGraph = name === 'graph'
  await using http = await openHttp(config, { cuts, isAudited: isGraph, isShared: isGraph })
  const { token, authority } = http.settings
  becomeLean()
  keepCompiled()
  const signal = stopSignal()
  const clock = systemClock()
  // Only the graph writes what others read, and reads it again.
  const isRegistered = isGraph && kafka.registry !== undefined
  const codec = isRegistered ? await registeredCodec(kafka.registry) : avroCodec()
  await using brokers = await openLog({ name, kafka, config, clock, logger }, signal)
  using _lock = isGraph ? lockData(config) : undefined
  await using telemetry = await openTelemetry({
    ...{ service: `kinfold-${name}`, codec, clock, logger },
  })
  const { metrics, traces } = telemetry
  const log = traces === undefined ? brokers : traces.log(brokers)
  registerProcess(metrics.meter, VERSION)
  registerCuts(metrics.meter, cuts)
  await using placements = new ResourceStack()
  const groups: KafkaPlacement[] = []
  await using service = await open({
    ...{ config, kafka, log, clock, logger, cuts, token, authority, traces },
    logIdentity: brokers.identity,
    codec,
    random: systemRandom(),
    meter: metrics.meter,
    placement(standbys, policy) {
      const placement = placementOf({ name, kafka, log, clock, logger }, standbys, policy)
      groups.push(placement)
      return placements.use(placement)
    },
  })
  const probe = createLogProbe(log, clock, logger)
  const served = await serveEndpoint(
    {
      version: VERSION,
      checks: () => [
        ...service.checks(),
        ...groups.map((group) => checkOfGroup(group.status())),
        probe.check(),
        ...http.checks(),
      ],
      scrape: metrics.scrape,
      logger,
      cuts,
      add: (routes) => service.add?.(routes),
    },
    http.settings,
  )
  registerEndpoint(metrics.meter, served)
  try {
    logger.log('info', 'serving', { url: served.url, brokers: kafka.settings.brokers.join(',') })
    await together([...service.loops(served), (either) => probe.run(either)], signal)
  } finally {
    await served.server.close()
  }
  process.exitCode = EXIT.ok
}

/**
 * Two applications have stores of their own there, and an embedded Kinfold its log, but one address
 * is written.
 */
function lockData({ data }: UpConfig): Disposable {
  makeDataDirectory(data)
  const log = join(data, 'log')
  return lockDirectory(existsSync(log) ? log : data)
}

interface PlacementParts extends Pick<ServiceParts, 'kafka' | 'log' | 'clock' | 'logger'> {
  readonly name: ServiceName
}

function placementOf(
  { name, kafka, log, clock, logger }: PlacementParts,
  standbys: number,
  policy: string,
): KafkaPlacement {
  return createKafkaPlacement({
    settings: kafka.settings,
    clientId: `kinfold-${name}`,
    group: name,
    partitions: log.partitions('events'),
    ...{ standbys, policy, clock },
    onWarning: (text) => logger.log('warn', 'placement', { reason: text }),
  })
}

interface LogParts extends Pick<ServiceParts, 'kafka' | 'config' | 'clock' | 'logger'> {
  readonly name: ServiceName
}

/**
 * The graph creates missing topics, since its settings have the number of partitions; the others
 * wait for them.
 */
async function openLog(
  { name, kafka, config: { partitions }, clock, logger }: LogParts,
  signal: AbortSignal,
): Promise<KafkaLog> {
  const { settings, replicas } = kafka
  const mayCreate = kafka.mayCreate && name === 'graph'
  // Each try says it again.
  const warnings = new Set<string>()
  const warn = (reason: string): void => {
    if (!warnings.has(reason)) logger.log('warn', 'Kafka', { reason })
    warnings.add(reason)
  }
  for (let isLogged = false; ; isLogged = true) {
    try {
      return await openKafkaLog({
        ...{ settings, partitions, replicas, mayCreate, clock },
        clientId: `kinfold-${name}`,
        onWarning: warn,
      })
    } catch (error) {
      if (!(error instanceof LogError)) throw error
      signal.throwIfAborted()
      const mayWait = error instanceof TopicsMissing && kafka.mayCreate
      if (!mayWait) throw new ExitError(EXIT.failure, error.message, { cause: error })
      if (!isLogged) logger.log('warn', 'waiting for topics', { reason: error.message })
      await clock.sleep(TOPICS_EVERY_MS, signal)
    }
  }
}
