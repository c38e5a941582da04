/**
 * The reaper: follows `commands` and `control`, carries out the commands that may be sent, and
 * appends the result of each.
 *
 * What must stay true: a position is saved only after its results are appended, so a reaper that
 * dies at any moment carries commands out again and never leaves one out. One target that is slow
 * or refused delays no other.
 *
 * Not here: connections (main.ts), whether and how a command is sent (gate.ts, reap.ts).
 */
import type { Command } from '../../core/model/command.ts'
import type { OwnerFound } from '../../core/model/event.ts'
import type { ClusterId } from '../../core/model/object.ts'
import { homeOf } from '../../core/model/partition.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { CompileExpression } from '../../ports/expression.ts'
import type { Log, LogError } from '../../ports/log.ts'
import type { Placed, Placement } from '../../ports/placement.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { ArchiveSettings } from '../../runtime/archive/archive-record.ts'
import { joining } from '../../runtime/lifecycle.ts'
import { createLogRetry, type LogRetry } from '../../runtime/retry.ts'
import { type Archive, createArchive } from './archive.ts'
import { DEFAULT_REAPER_CONFIG, type ReaperConfig } from './config.ts'
import { Control } from './control.ts'
import { type Ended, found, type Result } from './decide/result.ts'
import { createFoundOwners, type FoundOwners } from './found-owners.ts'
import type { Job } from './intake/backlog.ts'
import { createLane, type Lane } from './intake/lane.ts'
import type { AgeOf } from './intake/moment.ts'
import type { LockStatus, Locks } from './lock.ts'
import { Outbox } from './outbox.ts'
import { createSite, type FactSources, type Site, type SiteStatus, withoutSite } from './site.ts'
import { type CallCount, createTally, type RefusedCount, type SettledCount } from './tally.ts'

/** The same for as long as the reaper lives. `id` is the identity that the endpoint must prove. */
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
  /** How long ago the log gave a time, if it reports that itself. */
  readonly ageMs?: AgeOf | undefined
  readonly random: Random
  /** The clusters' own locks; undefined: none is wanted. */
  readonly locks?: Locks
  /**
   * Why this process may delete nothing there now, empty where it may; undefined: it always may.
   */
  readonly barring?: ((cluster: ClusterId) => string) | undefined
  /** Which partitions of `commands` are this process'; undefined: all. */
  readonly placement?: { readonly of: Placement; readonly url: string } | undefined
  readonly config?: Partial<ReaperConfig>
  /** Undefined: nothing is archived. */
  readonly archive?: ArchiveSettings | undefined
  /** Of policies of clusters; undefined: one that has an expression is refused. */
  readonly compile?: CompileExpression | undefined
  readonly observe?: (note: ReaperNote) => void
}

/** The messages that a main may want to log. */
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
  readonly protectedRefusals: readonly RefusedCount[]
  readonly unreadable: number
  readonly locks: readonly LockStatus[]
}

export interface Reaper {
  /**
   * Until `signal` aborts; then calls in flight are awaited for a moment and positions saved.
   * Rejects when it cannot continue. Once only.
   */
  run(signal: AbortSignal): Promise<void>
  status(): ReaperStatus
}

/** How often it is checked whether a watcher has connected, after a start. */
const LOOK_EVERY_MS = 100

export function createReaper(parts: ReaperParts): Reaper {
  return new Loop(parts)
}

class Loop implements Reaper {
  readonly #parts: ReaperParts
  readonly #config: ReaperConfig
  readonly #control: Control
  readonly #retry: LogRetry
  /** Of the partitions that this process has, by their numbers. */
  readonly #lanes = new Map<number, Lane>()
  readonly #outbox: Outbox
  readonly #archive: Archive | undefined
  readonly #foundOwners: FoundOwners
  readonly #sites = new Map<ClusterId, Site>()
  readonly #tally = createTally()
  /** Monotonic. */
  readonly #startedMs: number
  /** No new work. */
  readonly #stop = new AbortController()
  /** No waiting for work under way either. */
  readonly #cut = new AbortController()
  #failure: { readonly error: unknown } | undefined

  constructor(parts: ReaperParts) {
    const { log, codec, clock } = parts
    const bounds = { ...DEFAULT_REAPER_CONFIG, ...parts.config }
    const waits = { firstMs: bounds.logRetryMs, mostMs: bounds.logRetryMaxMs }
    const onWait = (error: LogError): void => this.#note({ type: 'LogWaits', error })
    const retry = createLogRetry({ clock, waits, onWait })
    const signal = this.#cut.signal
    const onFailed = (error: unknown): void => this.#fail(error)
    this.#parts = parts
    this.#startedMs = clock.monotonicMs()
    this.#config = bounds
    this.#control = new Control({
      ...{ log, codec, retry, clock, bounds },
      onProtected: () => {
        for (const site of this.#sites.values()) site.project()
      },
    })
    this.#outbox = new Outbox({ log, codec, clock, retry, bounds, onFailed, signal })
    this.#retry = retry
    this.#foundOwners = createFoundOwners(clock, bounds.foundAgainMs)
    const { archive: settings } = parts
    this.#archive =
      settings === undefined ? undefined : createArchive({ log, codec, clock, bounds, settings })
  }

  async run(signal: AbortSignal): Promise<void> {
    const onAbort = (): void => this.#stop.abort(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    if (signal.aborted) onAbort()
    try {
      await this.#task((until) => this.#serve(until), this.#stop.signal)
    } finally {
      signal.removeEventListener('abort', onAbort)
    }
    if (this.#failure !== undefined) throw this.#failure.error
  }

  status(): ReaperStatus {
    const clusters = [...this.#sites.values()].map((site) => site.status())
    return {
      clusters,
      inFlight: clusters.reduce((sum, { inFlight }) => sum + inFlight, 0),
      backlog: [...this.#lanes.values()].reduce((sum, lane) => sum + lane.unsettled(), 0),
      ...this.#tally.counts(),
      locks: this.#parts.locks?.status() ?? [],
    }
  }

  /** The pause is followed until the last call is answered. */
  async #serve(signal: AbortSignal): Promise<void> {
    await this.#control.load(signal)
    const following = this.#task((until) => this.#control.follow(until), this.#cut.signal)
    const reading = this.#task((until) => this.#takeLanes(until), signal)
    const saving = this.#task((until) => this.#saveOften(until), signal)
    const looking = this.#task((until) => this.#lookForWatchers(until), signal)
    const reporting = this.#task((until) => this.#reportPolicies(until), signal)
    const trying = this.#task(async (until) => this.#parts.locks?.run(until), signal)
    await Promise.all([reading, saving, looking, reporting, trying])
    await this.#drain()
    await following
  }

  /** Those of this process, as they are given. */
  async #takeLanes(signal: AbortSignal): Promise<void> {
    const { log, placement } = this.#parts
    await joining(async (begin, either) => {
      const given = placement?.of.assignments(placement.url, either) ?? all(log)
      for await (const placed of given) begin((until) => this.#runLane(placed, until))
    }, signal)
  }

  /**
   * Commands read from a partition that moves to another process are still carried out: both may do
   * so, and the guards make that harmless.
   */
  async #runLane({ partition, revoked }: Placed, signal: AbortSignal): Promise<void> {
    const { log, codec, clock, ageMs } = this.#parts
    const lane = createLane({
      ...{ partition, log, codec, clock, ageMs, retry: this.#retry, bounds: this.#config },
      submit: (job) => this.#submit(job),
      onUnreadable: (position, reason) => this.#unreadable(partition, position, reason),
      onPositionLost: (from, to) => this.#note({ type: 'PositionLost', partition, from, to }),
    })
    this.#lanes.set(partition, lane)
    try {
      await lane.run(AbortSignal.any([signal, revoked]))
    } catch (error) {
      if (!revoked.aborted || signal.aborted) throw error
    }
    if (signal.aborted) return
    await lane.save(signal)
    if (this.#lanes.get(partition) === lane) this.#lanes.delete(partition)
  }

  /** Runs until `signal` aborts; any other failure stops the rest. */
  async #task(run: (until: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
    try {
      await run(signal)
    } catch (error) {
      if (!signal.aborted) this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
    this.#stop.abort(error)
  }

  async #saveOften(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#parts.clock.sleep(this.#config.saveEveryMs, signal)
      if (!signal.aborted) await this.#save(signal)
    }
  }

  /** Until the first contact is overdue: then commands that still wait for it are refused. */
  async #lookForWatchers(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    const isEarly = (): boolean =>
      clock.monotonicMs() - this.#startedMs < this.#config.firstContactMs
    while (!signal.aborted && isEarly()) {
      await clock.sleep(LOOK_EVERY_MS, signal)
      for (const site of this.#sites.values()) site.look()
    }
  }

  /** Of clusters whose commands this process has; one that only observes writes nothing. */
  async #reportPolicies(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    while (!signal.aborted) {
      await clock.sleep(this.#config.policyStatusEveryMs, signal)
      if (signal.aborted || this.#config.mode === 'observe') continue
      const said = this.#control
        .policyStatuses()
        .filter(({ partition }) => this.#lanes.has(partition))
      const clusters = Map.groupBy(said, ({ cluster }) => cluster)
      const reports = [...clusters].map(async ([cluster, all]) => {
        await this.#siteOf(cluster)?.report(all, signal)
      })
      await Promise.all(reports)
    }
  }

  async #save(signal: AbortSignal): Promise<void> {
    for (const lane of this.#lanes.values()) await lane.save(signal)
  }

  async #drain(): Promise<void> {
    const done = new AbortController()
    const late = this.#parts.clock.sleep(this.#config.drainMs, done.signal).then(() => {
      if (!done.signal.aborted) this.#cut.abort()
    })
    await Promise.all([...this.#sites.values()].map((site) => site.stopped()))
    await this.#outbox.drained()
    await this.#task((until) => this.#save(until), this.#cut.signal)
    done.abort()
    this.#cut.abort()
    await late
  }

  #submit(job: Job): void {
    const site = this.#siteOf(job.command.cluster)
    if (site !== undefined) site.add(job)
    else this.#settle(job, withoutSite(job.command, job.moments, this.#facts()))
  }

  #siteOf(id: ClusterId): Site | undefined {
    const known = this.#sites.get(id)
    if (known !== undefined) return known
    const connected = this.#parts.clusters(id)
    if (connected === undefined) return undefined
    const site = createSite({
      ...this.#facts(),
      id,
      cluster: connected.cluster,
      random: this.#parts.random,
      archive: this.#archive,
      proofsOf: (other) => this.#siteOf(other)?.proofs,
      onEnd: (job, end) => this.#settle(job, end),
      onFound: (command, claim, object) => this.#tellFound(command, found(command, claim, object)),
      onAnswer: (verb, code) => this.#tally.answered(id, verb, code),
      onFailed: (error) => this.#fail(error),
      signal: this.#cut.signal,
    })
    this.#sites.set(id, site)
    return site
  }

  #facts(): FactSources {
    const startedMs = this.#startedMs
    const { locks, barring, clock } = this.#parts
    const compile = this.#parts.compile ?? noExpressions
    const config = this.#config
    const isReachable = (id: ClusterId): boolean => this.#parts.clusters(id) !== undefined
    const rest = { locks, barring, startedMs, clock, config, compile }
    return { control: this.#control, isReachable, ...rest }
  }

  #settle(job: Job, { result, isSpared }: Ended): void {
    const { command, moments, onSettled } = job
    this.#tally.settled(command, result, isSpared)
    const ageMs = this.#parts.clock.monotonicMs() - moments.appendedMs
    this.#note({ type: 'Settled', command, result, ageMs })
    const key = homeOf(command.cluster, command.target.namespace)
    this.#outbox.put(command.partition, {
      key,
      result,
      onAppended() {
        for (const settle of onSettled) settle()
      },
    })
  }

  /** To the partition that asked: it has all of the cluster. */
  #tellFound({ partition }: Command, result: OwnerFound): void {
    if (!this.#foundOwners.isNews(result)) return
    const key = homeOf(result.cluster, result.owner.namespace)
    this.#outbox.put(partition, { key, result, onAppended: () => undefined })
  }

  #unreadable(partition: number, position: bigint, reason: string): void {
    this.#tally.unreadable()
    this.#note({ type: 'Unreadable', partition, position, reason })
  }

  #note(note: ReaperNote): void {
    this.#parts.observe?.(note)
  }
}

const noExpressions: CompileExpression = () => {
  return { type: 'Refused', reason: 'this process reads no expressions' }
}

function* all(log: Log): Iterable<Placed> {
  const { signal: revoked } = new AbortController()
  for (let partition = 0; partition < log.partitions('commands'); partition++) {
    yield { partition, role: 'active', revoked }
  }
}
