/**
 * One process of Kinfold: the loops it runs over the parts that an incarnation can call, as the
 * commands of cli/ put them together.
 *
 * What must stay true: the loops are the real ones; only the wires, the log, the disk and time are
 * simulated.
 *
 * Not here: when it starts and dies (slot.ts).
 */
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { kubernetesLease } from '../adapters/kubernetes/lease/lease.ts'
import { MemoryLease } from '../adapters/memory/lease.ts'
import { placeAll } from '../adapters/memory/placement.ts'
import type { Policy } from '../core/model/policy.ts'
import type { Clock } from '../ports/clock.ts'
import type { Cluster } from '../ports/cluster.ts'
import type { Lease } from '../ports/lease.ts'
import type { Log } from '../ports/log.ts'
import type { Random } from '../ports/random.ts'
import type { Codec } from '../ports/record/codec.ts'
import { policyContent } from '../ports/rule/policy-content.ts'
import { together } from '../runtime/lifecycle.ts'
import { Graph } from '../services/graph/graph.ts'
import type { ConnectedCluster, Reaper, ReaperNote } from '../services/reaper/reaper.ts'
import { createReaper } from '../services/reaper/reaper.ts'
import { LEASE, type WatcherConfig } from '../services/watcher/config.ts'
import type { Watcher } from '../services/watcher/watcher.ts'
import { createWatcher } from '../services/watcher/watcher.ts'
import type { Incarnation } from './incarnation.ts'
import { clockOf } from './incarnation.ts'
import { membership } from './membership.ts'
import type { World } from './model.ts'
import type { Process, Slot } from './slot.ts'

interface Parts {
  readonly world: World
  readonly slot: Slot
  readonly incarnation: Incarnation
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
}

type Loop = (signal: AbortSignal) => Promise<void>

/** Snapshots and trimming are rare, so that audits go back to the beginning in most worlds. */
const DAY_MS = 24 * 3_600_000
const RETENTION = { keepMs: DAY_MS, keepPastMs: null, archiveKeepMs: DAY_MS, everyMs: 600_000 }
/** Renewals in virtual time cost as much as any write. */
const LEASE_TIMES = { durationMs: 60_000, renewDeadlineMs: 45_000, retryMs: 20_000 }
const WATCH_SECONDS = 1_500
const SAVE_MS = 4_000
/** Twice that must be fresh enough to act on. */
const CONTROL_MS = 900
const AGAIN_MS = 5_000
const NO_EXPRESSIONS = { type: 'Refused', reason: 'no rule here has one' } as const

export function startProcess(world: World, slot: Slot, incarnation: Incarnation): Process {
  const { codec, time, broker } = world
  const clock = clockOf(time, incarnation, slot.wall)
  const log = broker.logOf(incarnation)
  const parts = { world, slot, incarnation, log, codec, clock, random: world.jitter }
  const stop = new AbortController()
  const clusters = world.names.map((name) => clusterOf(parts, name))
  const { watches, folds, reaps } = slot.roles
  const watchers = watches ? clusters.map((each) => watcherOf(parts, each)) : []
  const graph = folds ? graphOf(parts) : undefined
  const connected: ConnectedCluster[] = []
  const reaper = reaps ? reaperOf(parts, connected) : undefined
  const loops: Loop[] = watchers.map((watcher) => (signal) => watcher.run(signal))
  if (graph !== undefined) loops.push((signal) => graph.run(incarnation.name, signal))
  if (reaper !== undefined) {
    loops.push((signal) => reaper.run(signal))
    loops.push(
      ...clusters.map(
        (each): Loop =>
          (signal) =>
            identify(each, connected, clock, signal),
      ),
    )
  }
  const ended = together(loops, stop.signal)
  ended.catch(() => undefined)
  return { incarnation, stop, watchers, graph, reaper, connected, ended }
}

function clusterOf({ world, incarnation, clock, random }: Parts, name: string): Cluster {
  const exchange = world.network.exchange(name, incarnation)
  return openCluster({
    ...{ name, exchange, clock, random, watchSeconds: WATCH_SECONDS },
    policyContent: (object) => policyContent(object, () => NO_EXPRESSIONS),
  })
}

function watcherOf(parts: Parts, cluster: Cluster): Watcher {
  const { world, log, codec, clock, random } = parts
  const config: Partial<WatcherConfig> = world.options.watcher
  return createWatcher({
    cluster,
    log,
    codec,
    clock,
    random,
    lease: leaseOf(parts, cluster),
    config,
  })
}

function leaseOf({ world, slot, incarnation, clock, random }: Parts, { name }: Cluster): Lease {
  if (world.options.shape === 'embedded') return new MemoryLease(LEASE.name)
  const exchange = world.network.exchange(name, incarnation)
  const times = LEASE_TIMES
  return kubernetesLease({ exchange, clock, random, holder: slot.name, ...LEASE, times })
}

function graphOf({ world, slot, incarnation, log, codec, clock }: Parts): Graph {
  const { options, time } = world
  const { partitions } = options
  const group = world.graphGroup
  return new Graph({
    log,
    codec,
    clock,
    placement:
      options.shape === 'embedded' ? placeAll(partitions) : membership(group, incarnation, time),
    openStore: (partition) =>
      incarnation.call('store-read', () => slot.disk.open(partition, incarnation)),
    retention: { ...RETENTION, ...options.retention },
    policy: { policy: world.policy as Policy, who: slot.name },
    observe: {
      folded: (event, at, outcome) => world.folded({ event, at, outcome }),
      faults: (faults) => world.wrong(`a node contradicts its facts: ${faults.join('; ')}`),
      takenOver: (why) => world.trace.note('take-over', `${incarnation.name}: ${why}`),
    },
  })
}

function reaperOf(parts: Parts, connected: readonly ConnectedCluster[]): Reaper {
  const { world, incarnation, log, codec, clock, random } = parts
  const { options, time } = world
  const group = world.reaperGroup
  return createReaper({
    ...{ log, codec, clock, random },
    clusters: (id) => connected.find((each) => each.id === id),
    config: { mode: world.policy.mode, saveEveryMs: SAVE_MS, controlPollMs: CONTROL_MS },
    observe: (note: ReaperNote) => world.reaperSays(incarnation, note),
    ...(options.archive !== 'off' && {
      archive: { secrets: options.archive === 'secrets', key: undefined },
    }),
    placement: group && { of: membership(group, incarnation, time), url: incarnation.name },
    ...(options.shape === 'embedded' && { placement: undefined }),
  })
}

/**
 * As the command does it: each cluster is asked until it has returned its identity, and no two may
 * be equal.
 */
async function identify(
  cluster: Cluster,
  connected: ConnectedCluster[],
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const id = await cluster.identify(signal)
      const twin = connected.find((each) => each.id === id)
      if (twin !== undefined)
        throw new TwinError(`${cluster.name} and ${twin.cluster.name} are one`)
      connected.push({ id, cluster })
      return
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof TwinError) throw error
      await clock.sleep(AGAIN_MS, signal)
    }
  }
}

/** Two names that lead to one cluster end the start. */
export class TwinError extends Error {
  override readonly name = 'TwinError'
}
