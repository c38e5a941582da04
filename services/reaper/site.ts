/**
 * One cluster as the reaper works on it: what waits for it, how much it is given at once, and what is proven about it.
 *
 * What must stay true: no more calls under way than the throttle lets, and a command that may not go settles without a call.
 *
 * Not here: the life of one command (reap.ts), where its result goes (`onResult`).
 */
import type { Command } from '../../core/command.ts'
import type { ClusterId } from '../../core/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Random } from '../../ports/random.ts'
import { createBacklog, type Job } from './backlog.ts'
import { type CallVerb, createCaller } from './call.ts'
import type { ReaperConfig } from './config.ts'
import type { Control } from './control.ts'
import { type Facts, judge } from './gate.ts'
import { createProofs } from './proof.ts'
import { reap } from './reap.ts'
import { type Result, unsent } from './result.ts'
import { createThrottle } from './throttle.ts'

export interface Site {
  add(job: Job): void
  /** No further command goes; resolves when those under way are answered or cut. */
  stopped(): Promise<void>
  status(): SiteStatus
}

export interface SiteStatus {
  readonly cluster: ClusterId
  /** Commands under way, each with at most one call. */
  readonly inFlight: number
  readonly concurrency: number
  readonly waiting: number
}

export interface SiteParts {
  readonly id: ClusterId
  readonly cluster: Cluster
  readonly control: Control
  readonly clock: Clock
  readonly random: Random
  readonly config: ReaperConfig
  readonly onResult: (job: Job, result: Result) => void
  readonly onAnswer: (verb: CallVerb, code: number | null) => void
  readonly onFailed: (error: unknown) => void
  /** Cuts calls under way. */
  readonly signal: AbortSignal
}

export function createSite(parts: SiteParts): Site {
  const { id, cluster, clock, random, config, signal, onResult, onAnswer } = parts
  const backlog = createBacklog()
  const throttle = createThrottle(config)
  const underWay = new Set<Promise<void>>()
  let isStopped = false

  const caller = createCaller({
    cluster,
    throttle,
    clock,
    random,
    bounds: config,
    onAnswer,
    onBroken: () => proofs.voidAll(),
  })
  const proofs = createProofs(id, cluster, caller, clock, config)
  const facts = (appendedAt: number): Facts => ({
    ...factsOf(id, appendedAt, parts),
    isReachable: true,
  })
  const reaping = { caller, proofs, config, facts }

  function pump(): void {
    while (!isStopped && throttle.hasRoom()) {
      const job = backlog.next()
      if (job === undefined) return
      const pass = judge(job.command, facts(job.appendedAt), config)
      if (pass.type === 'Blocked') {
        onResult(job, unsent(job.command, 'blocked', pass.reason))
        backlog.finished(job)
        continue
      }
      throttle.enter()
      const carried = carryOut(job)
      underWay.add(carried)
      void carried.then(() => underWay.delete(carried)).then(pump)
    }
  }

  async function carryOut(job: Job): Promise<void> {
    try {
      onResult(job, await reap(job.command, job.appendedAt, reaping, signal))
    } catch (error) {
      // Cut: it is not settled, so it is carried out again after the next start.
      if (!signal.aborted) parts.onFailed(error)
    } finally {
      throttle.leave()
      backlog.finished(job)
    }
  }

  return {
    add(job) {
      const superseded = backlog.add(job)
      if (superseded !== undefined) {
        onResult(superseded, unsent(superseded.command, 'stale', 'superseded'))
      }
      pump()
    },
    async stopped() {
      isStopped = true
      await Promise.all(underWay)
    },
    status: () => ({
      cluster: id,
      inFlight: throttle.inFlight(),
      concurrency: throttle.limit(),
      waiting: backlog.size(),
    }),
  }
}

/** For a command to a cluster that this reaper has no connection to. */
export function withoutSite(
  command: Command,
  appendedAt: number,
  parts: Pick<SiteParts, 'control' | 'clock' | 'config'>,
): Result {
  const facts = { ...factsOf(command.cluster, appendedAt, parts), isReachable: false }
  const pass = judge(command, facts, parts.config)
  return unsent(command, 'blocked', pass.type === 'Blocked' ? pass.reason : 'unreachable')
}

function factsOf(
  id: ClusterId,
  appendedAt: number,
  { control, clock, config }: Pick<SiteParts, 'control' | 'clock' | 'config'>,
): Omit<Facts, 'isReachable'> {
  return {
    ageMs: clock.now() - appendedAt,
    clusterEpoch: control.clusterEpoch(id),
    isConnected: control.isConnected(id),
    isPaused: control.isPaused(id),
    mode: config.mode,
  }
}
