/** Metrics of a whole process, read from its parts' own snapshots. What must stay true: labels are bounded. */
import type { Meter } from '@opentelemetry/api'
import type { Reading } from '../runtime/metrics.ts'
import { observeCounter, observeGauge } from '../runtime/metrics.ts'
import type { Graph } from '../services/graph/graph.ts'
import type { Reaper } from '../services/reaper/reaper.ts'
import type { Watcher } from '../services/watcher/watcher.ts'

export interface MetricParts {
  readonly watchers: readonly Watcher[]
  readonly graph: Graph
  readonly reaper: Reaper
  readonly version: string
}

export function registerMetrics(meter: Meter, parts: MetricParts): void {
  const { watchers, graph, reaper, version } = parts
  observeGauge(meter, 'kinfold_build_info', 'Always 1.', () => [{ value: 1, labels: { version } }])
  observeGauge(meter, 'kinfold_objects', 'Objects that the watcher holds.', () =>
    perKind(watchers, ({ objects }) => objects),
  )
  observeGauge(
    meter,
    'kinfold_watch_lag_seconds',
    'Since the watch of a kind last proved itself alive.',
    () => perKind(watchers, ({ lastProofOfLifeAgeMs }) => lastProofOfLifeAgeMs / 1_000),
  )
  observeGauge(meter, 'kinfold_kind_synced', '1 when the kind is in sync.', () =>
    perKind(watchers, ({ synced }) => (synced ? 1 : 0)),
  )
  observeCounter(meter, 'kinfold_watch_events', 'What watches and relists told.', () =>
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
  observeGauge(meter, 'kinfold_ingest_lag_messages', 'Events not folded yet.', () =>
    graph.tasks.map((task) => ({
      value: Number(task.status().lagEntries),
      labels: { partition: String(task.partition) },
    })),
  )
  // The reaper knows clusters by their ids; people by their names.
  registerReaper(meter, reaper, (id) => {
    const watcher = watchers.find((each) => each.status().clusterId === id)
    return watcher?.status().name ?? id
  })
}

function registerReaper(meter: Meter, reaper: Reaper, nameOf: (id: string) => string): void {
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
  observeGauge(meter, 'kinfold_commands_in_flight', 'Commands under way.', () =>
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
  ['added', 'Objects told for the first time.'],
  ['updated', 'Changes told.'],
  ['deleted', 'Deletions told.'],
  ['touched', 'Versions that moved without a change.'],
  ['lists', 'Full lists begun.'],
  ['watches', 'Watches opened.'],
  ['failures', 'Calls that failed.'],
  ['rewinds', 'Times a cluster went back in time.'],
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
