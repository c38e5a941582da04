/**
 * The reaper: follows `commands` and `control`, carries out what may go, and appends what became of each command.
 *
 * What must stay true: a position is saved only behind appended results, so a reaper that dies at any moment carries commands out again
 * and never leaves one out. One target that is slow or refused holds up no other.
 *
 * Not here: connections (main.ts), whether and how a command goes (gate.ts, reap.ts).
 */
import type { Command } from '../../core/command.ts'
import type { ClusterId } from '../../core/object.ts'
import { homeOf } from '../../core/partition.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Codec } from '../../ports/codec.ts'
import type { Log, LogError } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Job } from './backlog.ts'
import { DEFAULT_REAPER_CONFIG, type ReaperConfig } from './config.ts'
import { createControl } from './control.ts'
import { createLane } from './lane.ts'
import { createLogRetry } from './log-retry.ts'
import { createOutbox } from './outbox.ts'
import type { Result } from './result.ts'
import { createSite, type Site, type SiteStatus, withoutSite } from './site.ts'
import { type CallCount, createTally, type SettledCount } from './tally.ts'

/** The same for as long as the reaper lives. `id` is what the endpoint must prove to be. */
export interface ConnectedCluster {
  readonly id: ClusterId
  readonly cluster: Cluster
}

export interface ReaperParts {
  readonly log: Log
  readonly codec: Codec
  /** Undefined: this process has no connection to it, and its commands settle as blocked. */
  readonly clusters: (id: ClusterId) => ConnectedCluster | undefined
  readonly clock: Clock
  readonly random: Random
  readonly config?: Partial<ReaperConfig>
  readonly observe?: (note: ReaperNote) => void
}

/** What a main may want to write down. */
export type ReaperNote =
  | {
      readonly type: 'Settled'
      readonly command: Command
      readonly result: Result
      /** Since the command was appended. */
      readonly ageMs: number
    }
  | {
      readonly type: 'Unreadable'
      readonly partition: number
      readonly position: bigint
      readonly reason: string
    }
  | { readonly type: 'LogWaits'; readonly error: LogError }
  | {
      readonly type: 'PositionLost'
      readonly partition: number
      readonly from: bigint
      readonly to: bigint
    }

export interface ReaperStatus {
  readonly clusters: readonly SiteStatus[]
  readonly inFlight: number
  /** Read and not settled, those in flight included. */
  readonly backlog: number
  readonly settled: readonly SettledCount[]
  readonly calls: readonly CallCount[]
  readonly unreadable: number
}

export interface Reaper {
  /** Until `signal` aborts; then calls in flight are awaited for a moment and positions saved. Rejects when it cannot go on. Once only. */
  run(signal: AbortSignal): Promise<void>
  status(): ReaperStatus
}

export function createReaper(parts: ReaperParts): Reaper {
  const { log, codec, clock, random, clusters } = parts
  const config: ReaperConfig = { ...DEFAULT_REAPER_CONFIG, ...parts.config }
  const observe = parts.observe ?? (() => {})
  const tally = createTally()
  const sites = new Map<ClusterId, Site>()
  /** No new work. */
  const stop = new AbortController()
  /** No waiting for work under way either. */
  const cut = new AbortController()
  let failure: { readonly error: unknown } | undefined

  const retry = createLogRetry(clock, config, (error) => observe({ type: 'LogWaits', error }))
  const control = createControl(log, codec, retry, config)
  const outbox = createOutbox({
    log,
    codec,
    clock,
    retry,
    bounds: config,
    onFailed: fail,
    signal: cut.signal,
  })
  const lanes = Array.from({ length: log.partitions('commands') }, (_, partition) =>
    createLane({
      partition,
      log,
      codec,
      retry,
      bounds: config,
      submit,
      onUnreadable(_partition, position, reason) {
        tally.unreadable()
        observe({ type: 'Unreadable', partition, position, reason })
      },
      onPositionLost: (_partition, from, to) =>
        observe({ type: 'PositionLost', partition, from, to }),
    }),
  )

  function fail(error: unknown): void {
    failure ??= { error }
    stop.abort(error)
  }

  function submit(job: Job): void {
    const site = siteOf(job.command.cluster)
    if (site !== undefined) site.add(job)
    else onResult(job, withoutSite(job.command, job.appendedAt, { control, clock, config }))
  }

  function siteOf(id: ClusterId): Site | undefined {
    const known = sites.get(id)
    if (known !== undefined) return known
    const connected = clusters(id)
    if (connected === undefined) return undefined
    const site = createSite({
      id,
      cluster: connected.cluster,
      control,
      clock,
      random,
      config,
      onResult,
      onAnswer: (verb, code) => tally.answered(id, verb, code),
      onFailed: fail,
      signal: cut.signal,
    })
    sites.set(id, site)
    return site
  }

  function onResult(job: Job, result: Result): void {
    const { command, appendedAt, onSettled } = job
    tally.settled(command, result)
    observe({ type: 'Settled', command, result, ageMs: clock.now() - appendedAt })
    outbox.put(command.partition, {
      key: homeOf(command.cluster, command.target.namespace),
      result,
      onAppended() {
        for (const settle of onSettled) settle()
      },
    })
  }

  async function saveOften(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await clock.sleep(config.saveEveryMs, signal)
      if (!signal.aborted) await save(signal)
    }
  }

  async function save(signal: AbortSignal): Promise<void> {
    for (const lane of lanes) await lane.save(signal)
  }

  /** Runs until stopped; what fails otherwise stops the rest. */
  async function task(run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal) {
    try {
      await run(signal)
    } catch (error) {
      if (!signal.aborted) fail(error)
    }
  }

  /** The pause is followed until the last call is answered. */
  async function drain(): Promise<void> {
    const done = new AbortController()
    const late = clock.sleep(config.drainMs, done.signal).then(() => {
      if (!done.signal.aborted) cut.abort()
    })
    await Promise.all([...sites.values()].map((site) => site.stopped()))
    await outbox.drained()
    await task(save, cut.signal)
    done.abort()
    cut.abort()
    await late
  }

  async function serve(): Promise<void> {
    await control.load(stop.signal)
    const following = task(control.follow, cut.signal)
    await Promise.all(
      [...lanes.map((lane) => lane.run), saveOften].map((run) => task(run, stop.signal)),
    )
    await drain()
    await following
  }

  return {
    async run(signal) {
      const onAbort = (): void => stop.abort(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      if (signal.aborted) onAbort()
      try {
        await task(serve, stop.signal)
      } finally {
        signal.removeEventListener('abort', onAbort)
      }
      if (failure !== undefined) throw failure.error
    },
    status() {
      const clustersNow = [...sites.values()].map((site) => site.status())
      return {
        clusters: clustersNow,
        inFlight: clustersNow.reduce((sum, { inFlight }) => sum + inFlight, 0),
        backlog: lanes.reduce((sum, lane) => sum + lane.unsettled(), 0),
        ...tally.counts(),
      }
    },
  }
}
