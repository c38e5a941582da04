/**
 * Watches one cluster and publishes its observations to the log.
 *
 * What must stay true: one process at a time publishes for a cluster as far as a lease can ensure
 * it, and each term has an epoch above all before it, so the fold can distinguish them where a
 * lease cannot.
 *
 * Not here: sockets, files, signals (main.ts), one term (session.ts).
 */
import type { ClusterId } from '../../core/model/object.ts'
import type { Rule } from '../../core/model/rule/rule.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { HeldLease, Lease, LeaseWait } from '../../ports/lease.ts'
import type { Log } from '../../ports/log.ts'
import type { Random } from '../../ports/random.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { assignPartition } from './assignment.ts'
import type { WatcherConfig } from './config.ts'
import { DEFAULT_CONFIG } from './config.ts'
import { within } from './deadline.ts'
import { logOfHolder } from './holder-log.ts'
import { IdentityGuard, isPassing } from './identity.ts'
import type { Marks } from './kind/marks.ts'
import { readMarks, resumable } from './kind/marks.ts'
import { listPolicies, POLICY_RESOURCES, PolicyReads } from './kind/policy-reads.ts'
import { backoffMs } from './monitor.ts'
import type { ArchivedKinds } from './publish/deletion-archive.ts'
import { untilDone } from './publish/log-retry.ts'
import type { SessionDeps, SessionEnd } from './session.ts'
import { Session } from './session.ts'
import type { Counters, WatcherObserver, WatcherStatus } from './status.ts'
import { noCounters, SILENT } from './status.ts'

export interface WatcherDeps {
  readonly cluster: Cluster
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly random: Random
  readonly lease: Lease
  /** The differences from `DEFAULT_CONFIG`. */
  readonly config?: Partial<WatcherConfig>
  readonly observe?: WatcherObserver
  /** Of which kinds the last state is archived when a deletion is observed. */
  readonly archived?: ArchivedKinds | undefined
}

export interface Watcher {
  /**
   * Until `signal` aborts, then quietly. Rejects with `WatcherError` when the cluster is another
   * one or its watermark is damaged, and with `LogError` when only a person can help the log; a
   * cluster that cannot be reached is waited for.
   */
  run(signal: AbortSignal): Promise<void>
  status(): WatcherStatus
}

export function createWatcher(deps: WatcherDeps): Watcher {
  return new ClusterWatcher(deps)
}

class ClusterWatcher implements Watcher {
  readonly #deps: Omit<SessionDeps, 'policies'>
  readonly #lease: Lease
  readonly #counters: Counters = noCounters()
  #clusterId: ClusterId | null = null
  #session: Session | undefined
  #reason = 'It has not been reached yet.'
  #isLeading = false
  /**
   * The epoch of the cluster in which it was last found to be restored: the next one is another,
   * also if the lease was lost in between.
   */
  #rewoundIn = 0
  #standbyOf: string | null = null

  constructor({ cluster, config, observe, lease, archived, ...ports }: WatcherDeps) {
    this.#lease = lease
    this.#deps = {
      ...ports,
      server: cluster,
      config: { ...DEFAULT_CONFIG, ...config },
      observer: observe ?? SILENT,
      counters: this.#counters,
      archived,
    }
  }

  status(): WatcherStatus {
    const session = this.#session
    return {
      clusterId: this.#clusterId,
      name: this.#deps.server.name,
      epoch: session?.reign.epoch ?? 0,
      clusterEpoch: session?.reign.clusterEpoch ?? 0,
      connected: session?.connected ?? false,
      reason: session?.reason ?? this.#reason,
      lease: this.#lease.name,
      isLeading: this.#isLeading,
      standbyOf: this.#standbyOf,
      kinds: session?.kinds() ?? [],
      unwatched: session?.unwatched() ?? [],
      elsewhere: session?.elsewhere() ?? [],
      counters: { ...this.#counters },
    }
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      while (!signal.aborted) await this.#holdLease(signal)
    } catch (error) {
      if (signal.aborted) return
      this.#reason = messageOf(error)
      throw error
    }
  }

  async #holdLease(signal: AbortSignal): Promise<void> {
    await this.#identify(signal)
    await using held = await this.#lease.acquire((wait) => this.#waits(wait), signal)
    this.#standbyOf = null
    this.#isLeading = true
    try {
      await this.#lead(held, signal)
    } catch (error) {
      // Everything under way when the lease was lost failed with it.
      if (signal.aborted || !held.lost.aborted) throw error
    } finally {
      this.#isLeading = false
      this.#session = undefined
    }
    if (signal.aborted || !held.lost.aborted) return
    this.#reason = messageOf(held.lost.reason)
    this.#note('warn', 'the lease is lost', { error: this.#reason })
  }

  async #lead(held: HeldLease, signal: AbortSignal): Promise<void> {
    const either = AbortSignal.any([signal, held.lost])
    // Another cluster may have taken the name while we waited.
    const cluster = await this.#identify(either)
    let rewinds = 0
    while (!either.aborted) {
      const begunMs = this.#deps.clock.monotonicMs()
      const end = await this.#reign(cluster, held, either)
      if (end === 'reprojected')
        this.#note('info', 'recorded fields of objects changed, relisting', {})
      if (end !== 'rewound') continue
      const { clusterEpoch } = this.status()
      this.#rewoundIn = clusterEpoch
      this.#note('warn', 'the cluster went back in time', { clusterEpoch })
      const isNews = this.#deps.clock.monotonicMs() - begunMs > this.#deps.config.backoffResetMs
      rewinds = isNews ? 1 : rewinds + 1
      if (rewinds > 1) await this.#pause(rewinds - 1, either)
    }
  }

  /**
   * Marks are read once no other watcher writes any: an earlier holder may still have had records
   * to write.
   */
  async #reign(cluster: ClusterId, held: HeldLease, signal: AbortSignal): Promise<SessionEnd> {
    const policies = new PolicyReads()
    const marks = await this.#readMarks(cluster, policies, signal)
    const epoch = await held.nextEpoch(marks.epoch, signal)
    const clusterEpoch = Math.max(marks.clusterEpoch, this.#rewoundIn + 1)
    const deps = { ...this.#deps, policies, log: logOfHolder(this.#deps.log, held) }
    const partition = await assignPartition(deps, cluster, marks.partition, signal)
    const { reading, projection } = marks
    const reign = { cluster, epoch, clusterEpoch, reading, projection, partition }
    this.#deps.server.project(projection)
    const session = new Session(deps, reign, resumable(marks, reign), signal)
    this.#session = session
    this.#note('info', 'watch started', { epoch, clusterEpoch, partition })
    return await session.run(held.lost)
  }

  #waits(wait: LeaseWait): void {
    const isHeld = wait.type === 'HeldBy'
    const reason = isHeld ? `Another watcher, ${wait.holder}, holds its lease.` : wait.reason
    this.#standbyOf = isHeld ? wait.holder : null
    if (!isHeld) this.#counters.failures++
    if (reason === this.#reason) return
    this.#reason = reason
    if (isHeld) this.#note('info', 'another watcher holds the lease', { holder: wait.holder })
    else this.#note('warn', 'the lease cannot be taken', { error: reason })
  }

  async #identify(signal: AbortSignal): Promise<ClusterId> {
    const { server, clock, config } = this.#deps
    for (let failures = 1; ; failures++) {
      try {
        return await within(clock, config.identifyTimeoutMs, signal, (limit) =>
          this.#askIdentity(server, limit),
        )
      } catch (error) {
        if (signal.aborted || !isPassing(error)) throw error
        this.#reason = error.message
        this.#counters.failures++
        this.#note('warn', 'the cluster cannot be reached', { error: this.#reason })
        await this.#pause(failures, signal)
      }
    }
  }

  async #askIdentity(server: Cluster, signal: AbortSignal): Promise<ClusterId> {
    if (this.#clusterId !== null) await new IdentityGuard(server, this.#clusterId).check(signal)
    else this.#clusterId = await server.identify(signal)
    return this.#clusterId
  }

  #readMarks(cluster: ClusterId, policies: PolicyReads, signal: AbortSignal): Promise<Marks> {
    const { log, codec, server, clock, config } = this.#deps
    const ownRules = async (): Promise<readonly Rule[]> => {
      for (const resource of POLICY_RESOURCES) {
        const list = (limit: AbortSignal): Promise<void> =>
          listPolicies(server, resource, policies, limit)
        try {
          await within(clock, config.identifyTimeoutMs, signal, list)
        } catch (error) {
          // They are known once their monitor has listed them.
          if (signal.aborted || !isPassing(error)) throw error
        }
      }
      return policies.rules
    }
    return untilDone(this.#deps, () => readMarks(log, codec, cluster, ownRules), signal)
  }

  async #pause(failures: number, signal: AbortSignal): Promise<void> {
    const { clock, random, config } = this.#deps
    await clock.sleep(backoffMs(failures, random.next(), config), signal)
  }

  #note(
    level: 'info' | 'warn',
    message: string,
    fields: Readonly<Record<string, string | number>>,
  ): void {
    this.#deps.observer.note(level, message, { cluster: this.#deps.server.name, ...fields })
  }
}

function messageOf(reason: unknown): string {
  return reason instanceof Error ? reason.message : String(reason)
}
