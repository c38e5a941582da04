/**
 * Metrics of a process, read from its parts' own snapshots. What must stay true: labels are
 * bounded.
 */
import type { Meter } from '@opentelemetry/api'
import type { Clock } from '../../ports/clock.ts'
import type { Served } from '../../runtime/http/endpoint.ts'
import type { Reading } from '../../runtime/metrics.ts'
import { observeCounter, observeGauge } from '../../runtime/metrics.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import type { CallObserver, ObservedCall } from '../../runtime/telemetry/observed-cluster.ts'
import { clusterLabels } from '../../services/graph/api/document.ts'
import type { Shadow } from '../../services/graph/audit/shadow.ts'
import type { Census, ClusterCount } from '../../services/graph/census.ts'
import { CascadeTimes } from '../../services/graph/fold/cascade-time.ts'
import type { BlockedCount } from '../../services/graph/fold/tally.ts'
import type { TaskObserver } from '../../services/graph/fold/task.ts'
import type { Graph } from '../../services/graph/graph.ts'
import type { Reaper, ReaperNote } from '../../services/reaper/reaper.ts'
import { outcomeOf } from '../../services/reaper/tally.ts'
import {
  brokenWatch,
  type ElsewhereStatus,
  type WatcherObserver,
} from '../../services/watcher/status.ts'
import type { Watcher } from '../../services/watcher/watcher.ts'
import { type DiskSpace, spaceOf } from './disk-space.ts'
import type { ProcessTraces } from './telemetry.ts'

/** Graph and reaper know clusters by their ids; people by their names. */
export type ClusterNames = (id: string) => string

/** What it is and what it takes, the latter by the names that dashboards of processes know. */
export function registerProcess(meter: Meter, version: string): void {
  observeGauge(meter, 'kinfold_build_info', 'Always 1.', () => [{ value: 1, labels: { version } }])
  const labels = {}
  observeGauge(meter, 'process_start_time_seconds', 'Unix time of the start.', () => [
    { value: performance.timeOrigin / 1_000, labels },
  ])
  observeGauge(meter, 'process_resident_memory_bytes', 'Resident memory.', () => [
    { value: process.memoryUsage.rss(), labels },
  ])
  observeCounter(meter, 'process_cpu_seconds', 'Processor time, user and system.', () => {
    const { user, system } = process.cpuUsage()
    return [{ value: (user + system) / 1_000_000, labels }]
  })
}

/** By cap: a constant each (docs/operate/limits.md). */
export function registerCuts(meter: Meter, cuts: Cuts): void {
  observeCounter(
    meter,
    'kinfold_cap_cuts',
    'What a cap refused or took from its largest holder, so that others get their share.',
    () => [...cuts.counts()].map(([cap, value]) => ({ value, labels: { cap } })),
  )
}

export function registerEndpoint(meter: Meter, { status }: Pick<Served, 'status'>): void {
  const labels = {}
  observeGauge(meter, 'kinfold_http_connections', 'Connections to the endpoint.', () => [
    { value: status().connections.open, labels },
  ])
  observeGauge(
    meter,
    'kinfold_http_streams',
    'Answers that go on for as long as they are read, of which an endpoint gives 64 at a time.',
    () => [{ value: status().streams, labels }],
  )
  observeCounter(
    meter,
    'kinfold_http_refused',
    'Requests refused since they did not prove who sent them (401), or since that user may not (403).',
    () => [...status().refused].map(([code, value]) => ({ value, labels: { code: String(code) } })),
  )
  observeCounter(
    meter,
    'kinfold_http_cut',
    'Connections closed by us: to make room for another one (crowded), or since the client did not read the answer (stalled).',
    () => {
      const { crowded, stalled } = status().connections
      return Object.entries({ crowded, stalled }).map(([reason, value]) => {
        return { value, labels: { reason } }
      })
    },
  )
}

export function registerFreeDisk(meter: Meter, directory: string): void {
  observeGauge(meter, 'kinfold_disk_free_bytes', 'Free where the data directory is.', () => [
    { value: spaceOf(directory).freeBytes, labels: {} },
  ])
}

/** Undefined where nothing is deleted: it is not looked for. */
export function registerCopies(
  meter: Meter,
  copied: { found(): readonly { readonly name: string; readonly isFound: boolean }[] } | undefined,
): void {
  const help = '1 while another process runs on a copy of this data directory, as a cluster shows.'
  observeGauge(meter, 'kinfold_data_copied', help, () =>
    (copied?.found() ?? []).map(({ name: cluster, isFound }) => {
      return { value: Number(isFound), labels: { cluster } }
    }),
  )
}

/** Where the log is in the data directory, too. */
export function registerLogFile(meter: Meter, disk: DiskSpace, log: { bytes(): number }): void {
  const labels = {}
  observeGauge(meter, 'kinfold_log_bytes', 'The embedded log with its write-ahead log.', () => [
    { value: log.bytes(), labels },
  ])
  observeGauge(
    meter,
    'kinfold_disk_low',
    '1 while so little is free where the data directory is that nothing is deleted.',
    () => [{ value: Number(disk.isLow), labels }],
  )
}

/**
 * By the watchers of this process; an id where none of them watches it. A watcher has one cluster
 * for good once it has reached it, and its status is long: it is read until then, and not for each
 * result.
 */
export function namesOf(watchers: readonly Pick<Watcher, 'status'>[]): ClusterNames {
  const names = new Map<string, string>()
  const unnamed = new Set(watchers)
  return (id) => {
    if (!names.has(id)) {
      for (const watcher of unnamed) {
        const { clusterId, name } = watcher.status()
        if (clusterId === null) continue
        unnamed.delete(watcher)
        if (!names.has(clusterId)) names.set(clusterId, name)
      }
    }
    return names.get(id) ?? id
  }
}

export function registerWatchers(meter: Meter, watchers: readonly Watcher[]): void {
  observeGauge(meter, 'kinfold_objects', 'Objects that the watcher holds.', () =>
    perKind(watchers, ({ objects }) => objects),
  )
  observeGauge(
    meter,
    'kinfold_watch_lag_seconds',
    'Seconds since the last sign of life of the watch.',
    () => perKind(watchers, ({ lastProofOfLifeAgeMs }) => lastProofOfLifeAgeMs / 1_000),
  )
  observeGauge(
    meter,
    'kinfold_watch_broken_since_seconds',
    'Unix time since when the watch of a kind delivers nothing, by its last error: SILENT for none. Absent while it works.',
    () => watchers.flatMap(brokenWatches),
  )
  observeGauge(meter, 'kinfold_kind_synced', '1 when the kind is in sync.', () =>
    perKind(watchers, ({ synced }) => (synced ? 1 : 0)),
  )
  observeGauge(
    meter,
    'kinfold_cluster_connected',
    '1 while the watcher is connected to its cluster; otherwise nothing is reaped there.',
    () =>
      watchers.map((watcher) => {
        const { name, connected } = watcher.status()
        return { value: connected ? 1 : 0, labels: { cluster: name } }
      }),
  )
  observeGauge(
    meter,
    'kinfold_elsewhere_followed',
    'Of each cluster of which rules import owners: 1 while it is followed; otherwise nothing is deleted by these rules.',
    () => ofOwners(watchers, ({ cutOffBecause }) => Number(cutOffBecause === '')),
  )
  observeGauge(
    meter,
    'kinfold_elsewhere_left_out',
    'Of each cluster of which rules import owners: its namespaces of whose owners nothing is known, since they have too many.',
    () => ofOwners(watchers, ({ leftOut }) => leftOut.length),
  )
  observeGauge(
    meter,
    'leader_election_master_status',
    '1 while this process holds the Lease to watch the cluster, 0 while it waits for it.',
    () =>
      watchers.map((watcher) => {
        const { name: cluster, lease, isLeading } = watcher.status()
        return { value: isLeading ? 1 : 0, labels: { name: lease, cluster } }
      }),
  )
  observeCounter(meter, 'kinfold_watch_events', 'Events of watches and relists.', () =>
    watchers.flatMap((watcher) => {
      const { name: cluster, counters } = watcher.status()
      return WATCH_EVENTS.map((type) => ({ value: counters[type], labels: { cluster, type } }))
    }),
  )
  for (const [counter, description] of WATCHER_COUNTERS) {
    observeCounter(meter, `kinfold_watcher_${counter}`, description, () =>
      watchers.map((watcher) => {
        const { name, counters } = watcher.status()
        return { value: counters[counter], labels: { cluster: name } }
      }),
    )
  }
}

/** Of each cluster of which rules import owners. */
function ofOwners(
  watchers: readonly Watcher[],
  readingOf: (owners: ElsewhereStatus) => number,
): readonly Reading[] {
  return watchers.flatMap((watcher) => {
    const { name: cluster, elsewhere } = watcher.status()
    return elsewhere.map((owners) => {
      return { value: readingOf(owners), labels: { cluster, owner_cluster: owners.cluster } }
    })
  })
}

function brokenWatches(watcher: Watcher): Reading[] {
  const { name: cluster, kinds } = watcher.status()
  return kinds.flatMap((status) => {
    const broken = brokenWatch(status)
    if (broken === undefined) return []
    const { group, kind } = status
    const labels = { cluster, group, kind, code: broken.code }
    return [{ value: broken.since / 1_000, labels }]
  })
}

/** Bounds of the latency histogram's buckets. */
const LATENCY_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The same of cascades: in `guarded` none is shorter than its hold. */
const CASCADE_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1_800, 3_600]

/** `traces`: of those who want to hear of each event, too. */
export function observeLatency(
  meter: Meter,
  clock: Clock,
  traces?: Pick<ProcessTraces, 'folded'>,
): TaskObserver {
  const latency = meter.createHistogram('kinfold_decision_latency_seconds', {
    description: 'From the append of an event to the fold that issued commands for it.',
    advice: { explicitBucketBoundaries: LATENCY_SECONDS },
  })
  const cascade = meter.createHistogram('kinfold_cascade_latency_seconds', {
    description:
      'From the deletion that began a cascade to the deletion of each object that Kinfold deleted in it.',
    advice: { explicitBucketBoundaries: CASCADE_SECONDS },
  })
  const cascades = new CascadeTimes()
  return {
    folded: (event, at, outcome, graph) => {
      traces?.folded(event, at, outcome, graph)
      if (outcome.commands.length > 0) latency.record((clock.now() - at.timestamp) / 1_000)
      const tookMs = cascades.folded(event, at, outcome, graph)
      if (tookMs !== undefined) cascade.record(tookMs / 1_000)
    },
  }
}

/** `cluster`: by name. */
export function observeAppends(
  meter: Meter,
): (cluster: string) => Pick<WatcherObserver, 'appended'> {
  const latency = meter.createHistogram('kinfold_watch_append_latency_seconds', {
    description: 'From when an event of an object was read to when it was appended.',
    advice: { explicitBucketBoundaries: LATENCY_SECONDS },
  })
  return (cluster) => ({ appended: (tookMs) => latency.record(tookMs / 1_000, { cluster }) })
}

export function observeCalls(meter: Meter, traces?: Pick<ProcessTraces, 'called'>): CallObserver {
  const latency = meter.createHistogram('kinfold_api_call_duration_seconds', {
    description: 'API calls about one object, from sending to the answer, by what it says.',
    advice: { explicitBucketBoundaries: LATENCY_SECONDS },
  })
  return (call) => {
    const { cluster, verb, outcome, tookMs } = call
    traces?.called(call)
    latency.record(tookMs / 1_000, { cluster, verb, outcome: OUTCOMES[outcome] })
  }
}

/** As other labels are written. */
const OUTCOMES: Readonly<Record<ObservedCall['outcome'], string>> = {
  Found: 'found',
  Absent: 'absent',
  Unknown: 'unknown',
  Removed: 'removed',
  Changed: 'changed',
  WouldGo: 'would-go',
  Conflict: 'conflict',
  Refused: 'refused',
}

export function observeCommands(meter: Meter, nameOf: ClusterNames): (note: ReaperNote) => void {
  const latency = meter.createHistogram('kinfold_command_latency_seconds', {
    description: 'From the append of a command to its result.',
    advice: { explicitBucketBoundaries: LATENCY_SECONDS },
  })
  return (note) => {
    if (note.type !== 'Settled') return
    const { command, result, ageMs } = note
    const cluster = nameOf(command.cluster)
    latency.record(ageMs / 1_000, { cluster, verb: command.type, result: outcomeOf(result) })
  }
}

export function registerGraph(
  meter: Meter,
  graph: Pick<Graph, 'tasks'>,
  census: Census,
  nameOf: ClusterNames,
  clock: Pick<Clock, 'now'>,
): void {
  observeGauge(meter, 'kinfold_ingest_lag_messages', 'Events not folded yet.', () =>
    graph.tasks.map((task) => ({
      value: Number(task.status().lagEntries),
      labels: { partition: String(task.partition) },
    })),
  )
  observeGauge(meter, 'kinfold_replay_position', 'Offset of the next event to fold.', () =>
    graph.tasks.map((task) => ({
      value: Number(task.status().position),
      labels: { partition: String(task.partition) },
    })),
  )
  observeCounter(
    meter,
    'kinfold_state_faults',
    'Objects whose state contradicted what is known around them: of each commit one is checked.',
    () =>
      graph.tasks.map((task) => ({
        value: task.status().faults,
        labels: { partition: String(task.partition) },
      })),
  )
  registerCensus(meter, census, nameOf, clock)
}

function registerCensus(
  meter: Meter,
  census: Census,
  nameOf: ClusterNames,
  clock: Pick<Clock, 'now'>,
): void {
  const gauge = (name: string, description: string, read: ReadCount): void =>
    observeGauge(meter, name, description, () => perCluster(census, nameOf, read))
  gauge('kinfold_edges', 'Owner references that resolve to an owner.', ({ edges }) => [[edges]])
  gauge(
    'kinfold_dangling_references',
    'Owner references whose owner is proven absent.',
    ({ dangling }) => [[dangling]],
  )
  gauge(
    'kinfold_held',
    'Objects that would be deleted and are held, by what holds them.',
    ({ held }) => Object.entries(held).map(([reason, count]) => [count, { reason }]),
  )
  gauge(
    'kinfold_rule_objects',
    'Objects that a rule of the policy has deleted (deleting), or would if nothing held it (held).',
    ({ rules }) =>
      Object.entries(rules)
        .slice(0, MOST_RULES)
        .flatMap(([rule, count]) =>
          RULE_STATES.map((state) => [count[state], { rule, state }] as const),
        ),
  )
  gauge(
    'kinfold_breaker_open',
    '1 while the breaker of the whole cluster is open: nothing is deleted until a person closes it.',
    ({ isBreakerOpen }) => [[Number(isBreakerOpen)]],
  )
  gauge(
    'kinfold_paused',
    '1 while the cluster is paused: nothing is deleted until a person resumes it.',
    ({ isPaused }) => [[Number(isPaused)]],
  )
  for (const [name, description, read] of BLOCKED) {
    gauge(name, description, ({ blocked }) =>
      Object.entries(blocked).map(([reason, count]) => [read(count, clock.now()), { reason }]),
    )
  }
}

const RULE_STATES = ['held', 'deleting'] as const
/** Of one cluster, so that the series are few. */
const MOST_RULES = 100

/** Values with labels beside the cluster's. */
type ReadCount = (
  count: ClusterCount,
) => readonly (readonly [number, Readonly<Record<string, string>>?])[]

/** Clusters of one name each bear their id as well: one series would be theirs in turn. */
function perCluster(census: Census, nameOf: ClusterNames, read: ReadCount): Reading[] {
  const counts = census.counts()
  const labelOf = clusterLabels(new Map(counts.map(({ cluster }) => [cluster, nameOf(cluster)])))
  return counts.flatMap((count) => {
    const cluster = labelOf(count.cluster)
    return read(count).map(([value, labels]) => ({ value, labels: { cluster, ...labels } }))
  })
}

/** All 0 where nothing was compared. */
export function registerShadow(
  meter: Meter,
  shadow: Pick<Shadow, 'counts'>,
  census: Census,
  nameOf: ClusterNames,
): void {
  observeGauge(
    meter,
    'kinfold_shadow_deletions',
    'In mode observe, objects deleted by another collector (theirs), by the verdict of Kinfold (ours), or both (agreed).',
    () => {
      const counts = new Map(shadow.counts().map((count) => [count.cluster, count]))
      return perCluster(census, nameOf, ({ cluster }) =>
        AGREEMENTS.map((agreement) => [counts.get(cluster)?.[agreement] ?? 0, { agreement }]),
      )
    },
  )
}

const AGREEMENTS = ['agreed', 'theirs', 'ours', 'unclear', 'pending'] as const

const BLOCKED: readonly [string, string, (count: BlockedCount, now: number) => number][] = [
  [
    'kinfold_blocked_deletions',
    'Objects that may not be deleted, by reason.',
    ({ objects }) => objects,
  ],
  [
    'kinfold_blocked_oldest_seconds',
    'Seconds since the first refusal of the object that has been refused for longest.',
    ({ since }, now) => (since === null ? 0 : Math.max(0, now - since) / 1_000),
  ],
  ['kinfold_blocked_tries', 'Most tries of one object.', ({ tries }) => tries],
  [
    'kinfold_blocked_next_try_seconds',
    'Seconds until the next try; 0 when there is none.',
    ({ nextTry }, now) => (nextTry === null ? 0 : Math.max(0, nextTry - now) / 1_000),
  ],
]

export function registerReaper(meter: Meter, reaper: Reaper, nameOf: ClusterNames): void {
  observeCounter(meter, 'kinfold_commands', 'Commands settled.', () =>
    reaper.status().settled.map(({ cluster, verb, outcome, code, count }) => ({
      value: count,
      labels: { cluster: nameOf(cluster), verb, result: outcome, code: String(code ?? '') },
    })),
  )
  observeCounter(meter, 'kinfold_delete_requests', 'API calls of the reaper.', () =>
    reaper.status().calls.map(({ cluster, verb, code, count }) => ({
      value: count,
      labels: { cluster: nameOf(cluster), verb, code: String(code ?? '') },
    })),
  )
  observeCounter(
    meter,
    'kinfold_protected_refusals',
    'Commands that were not carried out because the object is protected.',
    () => {
      const { clusters, protectedRefusals } = reaper.status()
      return clusters.map(({ cluster }) => ({
        value: protectedRefusals.find((each) => each.cluster === cluster)?.count ?? 0,
        labels: { cluster: nameOf(cluster), by: 'gate' },
      }))
    },
  )
  observeCounter(
    meter,
    'kinfold_commands_unreadable',
    'Commands that could not be decoded, in the dead letters.',
    () => [{ value: reaper.status().unreadable, labels: {} }],
  )
  observeGauge(
    meter,
    'kinfold_lock',
    '1 while the admission lock of the cluster is proven to be in force.',
    () =>
      reaper.status().locks.map(({ cluster, state, isRequired }) => ({
        value: state === 'in force' ? 1 : 0,
        labels: { cluster: nameOf(cluster), required: String(isRequired) },
      })),
  )
  observeGauge(meter, 'kinfold_commands_in_flight', 'Commands being carried out.', () =>
    reaper.status().clusters.map(({ cluster, inFlight }) => ({
      value: inFlight,
      labels: { cluster: nameOf(cluster) },
    })),
  )
  observeGauge(meter, 'kinfold_commands_backlog', 'Commands read and not settled.', () => [
    { value: reaper.status().backlog, labels: {} },
  ])
}

const WATCH_EVENTS = ['added', 'updated', 'deleted', 'touched', 'bookmarks'] as const

const WATCHER_COUNTERS = [
  ['added', 'Objects published for the first time.'],
  ['updated', 'Changes published.'],
  ['deleted', 'Deletions published.'],
  ['touched', 'Versions that moved without a change that matters.'],
  ['ignored', 'Observations older than the known version.'],
  ['syncs', 'Complete relists.'],
  ['lists', 'Full lists begun.'],
  ['watches', 'Watches opened.'],
  ['failures', 'Calls that failed.'],
  ['heartbeats', 'Heartbeats published.'],
  ['discoveries', 'Answers of discovery.'],
  ['rewinds', 'Times a cluster went back in time.'],
  ['archived', 'Deletions observed whose last state was archived.'],
  ['unarchived', 'Deletions of archived kinds whose last state was not archived.'],
] as const

function perKind(
  watchers: readonly Watcher[],
  value: (kind: ReturnType<Watcher['status']>['kinds'][number]) => number,
): Reading[] {
  return watchers.flatMap((watcher) => {
    const { name: cluster, kinds } = watcher.status()
    return kinds.map((each) => ({
      value: value(each),
      labels: { cluster, group: each.group, kind: each.kind },
    }))
  })
}
