/**
 * What runs beside the graph where a whole Kinfold is one process: watchers, reaper, notifications,
 * and what looks after the data directory; with their metrics, checks and loops.
 *
 * What must stay true: nothing here is opened that would have to be closed; all of it ends with the
 * signal of its loops.
 *
 * Not here: the log, the graph, and the endpoint (embedded.ts).
 */
import type { Meter } from '@opentelemetry/api'
import type { AppendTime } from '../../ports/append-time.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { ArchiveRoom } from '../../runtime/archive/archive-room.ts'
import type { Check } from '../../runtime/health.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { DEFAULT_RETENTION } from '../../services/graph/fold/retention.ts'
import type { GraphMain } from '../../services/graph/main.ts'
import { openReaper } from '../../services/reaper/main.ts'
import type { ConnectedCluster, Reaper } from '../../services/reaper/reaper.ts'
import { openWatcher } from '../../services/watcher/main.ts'
import type { Watcher } from '../../services/watcher/watcher.ts'
import type { UpConfig } from '../config/config.ts'
import type { NotifyConfig } from '../config/notify-config.ts'
import { VERSION } from '../print/version.ts'
import { CopiedData } from '../process/copied-data.ts'
import { recordStart } from '../process/data-start.ts'
import { DiskSpace } from '../process/disk-space.ts'
import { identifyEach } from '../process/identity.ts'
import { checksOfLogTime, watchLogTime } from '../process/log-time.ts'
import { type Notifications, openNotifications } from '../process/notify.ts'
import type { HttpConfig } from '../process/open-http.ts'
import {
  namesOf,
  observeAppends,
  observeCommands,
  registerCopies,
  registerCuts,
  registerFreeDisk,
  registerGraph,
  registerLogFile,
  registerProcess,
  registerReaper,
  registerShadow,
  registerWatchers,
} from '../process/process-metrics.ts'
import { checkOfLock, checksOfData, readinessOf } from '../process/readiness.ts'
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
  | 'rules'
  | 'mayRemove'
  | 'marks'
  | 'lock'
  | 'kinds'
  | 'ignoreKinds'
  | 'onlyAllowed'
  | 'partitions'
  | 'keepMs'
  | 'keepEvents'
  | 'keepPastMs'
  | 'snapshotEvents'
  | 'diskReserveBytes'
  | 'archive'
> &
  HttpConfig & { readonly notify?: NotifyConfig | undefined }

/** What its services share. */
export interface EmbeddedProcess {
  readonly config: EmbeddedConfig
  readonly clusters: readonly Cluster[]
  /** Those that said who they are when the process started. */
  readonly connected: ConnectedCluster[]
  readonly file: FileLog
  /** `file`, with traces where these are wanted. */
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  /** The time of the log's entries. */
  readonly logClock: Clock
  readonly random: Random
  readonly logger: Logger
  readonly cuts: Cuts
  readonly meter: Meter
}

interface FileLog extends Log {
  readonly time: AppendTime
  bytes(): number
}

export interface Services {
  readonly graph: GraphMain
  readonly disk: DiskSpace
  readonly room: ArchiveRoom
  /** Undefined where nothing is deleted. */
  readonly copied: CopiedData | undefined
  readonly watchers: readonly Watcher[]
  readonly notifications: Notifications
  readonly reaper: Reaper
}

export async function openServices(process: EmbeddedProcess, graph: GraphMain): Promise<Services> {
  const disk = diskOf(process)
  const room = roomOf(process, disk)
  const copied = await copiedOf(process)
  const watchers = watchersOf(process, room)
  const { config, connected, logClock, logger, cuts, meter } = process
  const notifications = openNotifications({
    config: config.notify,
    counts: () => graph.census.counts(),
    locks: () => reaper.status().locks,
    clusters: connected,
    nameOf: namesOf(watchers),
    ...{ clock: logClock, logger, cuts, meter },
  })
  const reaper = reaperOf(process, { disk, room, copied, watchers, notifications })
  return { graph, disk, room, copied, watchers, notifications, reaper }
}

function diskOf({ config, file, clock, logger }: EmbeddedProcess): DiskSpace {
  return new DiskSpace({
    directory: config.data,
    reserveBytes: config.diskReserveBytes,
    archiveBytes: config.archive.mostBytes,
    logBytes: () => file.bytes(),
    ...{ clock, logger },
  })
}

function roomOf({ config, logClock, cuts }: EmbeddedProcess, disk: DiskSpace): ArchiveRoom {
  return new ArchiveRoom({
    disk: () => disk.archive,
    keepMs: config.archive.keepMs ?? DEFAULT_RETENTION.archiveKeepMs,
    ...{ clock: logClock, cuts },
  })
}

/**
 * Where nothing is deleted, two processes on one record do no harm, and no cluster is written to.
 */
async function copiedOf(process: EmbeddedProcess): Promise<CopiedData | undefined> {
  const { config, file, random, connected, clock, logger } = process
  if (config.mode !== 'enforce') return undefined
  const own = await recordStart(file, random)
  return new CopiedData({ own, clusters: connected, clock, logger })
}

function watchersOf(process: EmbeddedProcess, room: ArchiveRoom): readonly Watcher[] {
  const { config, clusters, log, codec, clock, random, logger, cuts, meter } = process
  const { kinds, ignoreKinds, onlyAllowed } = config
  const { observed } = config.archive
  const appendsOf = observeAppends(meter)
  return clusters.map((cluster) =>
    openWatcher({
      ...{ cluster, log, codec, clock, random, logger, cuts, kinds, ignoreKinds, onlyAllowed },
      archived: observed && { ...observed, room },
      election: null,
      observe: appendsOf(cluster.name),
    }),
  )
}

function reaperOf(
  process: EmbeddedProcess,
  { disk, room, copied, watchers, notifications }: Omit<Services, 'graph' | 'reaper'>,
): Reaper {
  const { config, connected, file, log, codec, logClock, random, logger, cuts, meter } = process
  const { settings } = config.archive
  const onNote = observeCommands(meter, namesOf(watchers))
  return openReaper({
    ...{ log, codec, clock: logClock, random, logger, cuts, clusters: connected },
    ageMs: (timestamp) => file.time.ageMs(timestamp),
    mode: config.mode,
    mayRemove: config.mayRemove,
    archive: settings && { ...settings, room },
    lock: config.lock,
    barring: (cluster) => disk.lacking() || (copied?.barring(cluster) ?? ''),
    observe: (note) => {
      onNote(note)
      notifications.observe(note)
    },
  })
}

export function registerMetrics(process: EmbeddedProcess, services: Services): void {
  const { config, file, logClock, cuts, meter } = process
  const { watchers, reaper, disk, copied } = services
  const { graph, census, shadow } = services.graph
  registerProcess(meter, VERSION)
  registerCuts(meter, cuts)
  registerWatchers(meter, watchers)
  registerGraph(meter, graph, census, namesOf(watchers), logClock)
  registerShadow(meter, shadow, census, namesOf(watchers))
  registerReaper(meter, reaper, namesOf(watchers))
  registerFreeDisk(meter, config.data)
  registerLogFile(meter, disk, file)
  registerCopies(meter, copied)
}

/** Those of the notifications come last, after the endpoint's. */
export function checksOf(process: EmbeddedProcess, services: Services): readonly Check[] {
  const { watchers, reaper, copied, disk, room } = services
  const { graph, census } = services.graph
  return [
    ...readinessOf(watchers, graph, census),
    ...reaper.status().locks.map(checkOfLock),
    ...checksOfLogTime(process.file.time),
    ...(copied?.checks() ?? []),
    ...disk.checks(),
    ...room.checks(namesOf(watchers)),
    ...checksOfData(process.config.data),
  ]
}

type Loop = (signal: AbortSignal) => Promise<void>

/** `advertised`: the URL by which others reach this process. */
export function loopsOf(
  process: EmbeddedProcess,
  services: Services,
  advertised: string,
): readonly Loop[] {
  const { config, clusters, connected, file, log, codec, clock, logger } = process
  const { watchers, reaper, copied, disk, room, notifications } = services
  const { graph, index, actors, shadow } = services.graph
  const isArchiving = config.archive.settings !== undefined
  return [
    (signal) => graph.run(advertised, signal),
    ...watching(watchers, logger),
    (signal) => reaper.run(signal),
    (signal) => identifyEach(clusters, connected, clock, logger, signal),
    (signal) => index.run(signal),
    (signal) => actors.run(signal),
    (signal) => shadow.run(signal),
    (signal) => disk.run(signal),
    ...(isArchiving ? [(signal: AbortSignal) => room.restore(log, codec, signal)] : []),
    ...(copied === undefined ? [] : [(signal: AbortSignal) => copied.run(signal)]),
    ...notifications.loops,
    (signal) => watchLogTime(file.time, clock, logger, signal),
  ]
}
