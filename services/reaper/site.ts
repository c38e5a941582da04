/**
 * One cluster as the reaper works on it: its waiting commands, its limit of concurrent calls, and
 * the proofs about it.
 *
 * What must stay true: no more commands under way than the throttle and the turns of kinds allow
 * (backlog.ts), and a command that may not be sent settles without a call.
 *
 * Not here: the life of one command (reap.ts), the destination of its result (`onResult`).
 */
import { type Command, type CommandRule, ruleOf } from '../../core/model/command.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { CompileExpression } from '../../ports/expression.ts'
import type { Random } from '../../ports/random.ts'
import type { PolicyStatus } from '../../ports/record/service-record.ts'
import type { Archive } from './archive.ts'
import { type CallVerb, createCaller } from './call.ts'
import type { ReaperConfig } from './config.ts'
import type { Control } from './control.ts'
import { clusterElsewhere, type Facts, judge } from './decide/gate.ts'
import { blockedAt, type Ended, unsent } from './decide/result.ts'
import { Backlog, type Job } from './intake/backlog.ts'
import type { Moments } from './intake/moment.ts'
import type { Locks } from './lock.ts'
import { LookTurns } from './look-turns.ts'
import { Policies } from './policy-proof.ts'
import { type PolicyOutcomes, writeStatus } from './policy-status.ts'
import { Proofs } from './proof.ts'
import { type Reaping, reap } from './reap.ts'
import { Throttle } from './throttle.ts'

export interface Site {
  /** What is known of it by live GETs, for commands to another cluster, too. */
  readonly proofs: Proofs
  add(job: Job): void
  /** The labels and annotations to read may have changed. */
  project(): void
  /** Something outside may have changed: waiting commands may be sent now. */
  look(): void
  /** No further command is sent; resolves when those under way are answered or cut. */
  stopped(): Promise<void>
  status(): SiteStatus
  /** Writes the status of policies that have another one by now. */
  report(said: readonly PolicyStatus[], signal: AbortSignal): Promise<void>
}

export interface SiteStatus {
  readonly cluster: ClusterId
  /** Commands under way, each with at most one call. */
  readonly inFlight: number
  readonly concurrency: number
  readonly waiting: number
}

export interface FactSources {
  readonly control: Control
  /** This process has a connection to it. */
  readonly isReachable: (cluster: ClusterId) => boolean
  /** Undefined: none is wanted. */
  readonly locks: Pick<Locks, 'lacking' | 'isAwaited'> | undefined
  /**
   * Why there is too little room to record deletions; empty while there is enough. Undefined: the
   * log has a disk of its own.
   */
  readonly barring: ((cluster: ClusterId) => string) | undefined
  /**
   * Of the reaper, monotonic: between the append of an earlier command and now there was a time
   * that this process did not witness.
   */
  readonly startedMs: number
  readonly clock: Clock
  readonly config: ReaperConfig
  readonly compile: CompileExpression
}

export interface SiteParts extends FactSources {
  readonly id: ClusterId
  readonly cluster: Cluster
  readonly random: Random
  readonly archive: Archive | undefined
  readonly proofsOf: Reaping['proofsOf']
  readonly onEnd: (job: Job, end: Ended) => void
  readonly onFound: Reaping['onFound']
  readonly onAnswer: (verb: CallVerb, code: number | null) => void
  readonly onFailed: (error: unknown) => void
  /** Cuts calls under way. */
  readonly signal: AbortSignal
}

export function createSite(parts: SiteParts): Site {
  return new OneCluster(parts)
}

interface Reported {
  readonly said: PolicyStatus
  readonly outcomes: PolicyOutcomes
}

class OneCluster implements Site {
  readonly #parts: SiteParts
  readonly #backlog = new Backlog()
  readonly #throttle: Throttle
  readonly #reaping: Reaping
  readonly #policies: Policies
  readonly #underWay = new Set<Promise<void>>()
  /** By the uid of a policy: of what its status was written. */
  readonly #reported = new Map<string, Reported>()
  #isStopped = false
  /** When a call last had no answer, or the server reported a failure of its own. Monotonic. */
  #troubledMs: number

  constructor(given: SiteParts) {
    // Its watcher in the same process reads objects with other fields.
    const parts = { ...given, cluster: given.cluster.apart() }
    const { id, cluster, clock, random, config, archive, compile } = parts
    const throttle = new Throttle(config)
    const onTrouble = (): void => {
      this.#troubledMs = clock.monotonicMs()
    }
    const onBroken = (): void => {
      onTrouble()
      proofs.voidAll()
      policies.voidAll()
    }
    const onAnswer: SiteParts['onAnswer'] = (verb, code) => {
      if (code === null || code >= 500) onTrouble()
      parts.onAnswer(verb, code)
    }
    const rest = { clock, random, bounds: config, onAnswer, onBroken }
    const caller = createCaller({ id, cluster, throttle, ...rest })
    const proofs = new Proofs({ id, cluster, caller, clock, bounds: config, onTrouble })
    const policies = new Policies({
      ...{ caller, clock, bounds: config, compile },
      onRules: () => this.project(),
    })
    const facts: Reaping['facts'] = (command, moments) =>
      factsOf(command, moments, { troubledMs: this.#troubledMs, policies }, parts)
    this.#troubledMs = parts.startedMs
    this.#parts = parts
    this.#throttle = throttle
    this.#policies = policies
    const { onFound, proofsOf } = parts
    const troubledMs = (): number => this.#troubledMs
    const turns = new LookTurns(() => throttle.limit())
    this.#reaping = {
      ...{ clock, caller, proofs, policies, turns, config, archive, troubledMs, facts, onFound },
      proofsOf,
    }
    this.project()
  }

  get proofs(): Proofs {
    return this.#reaping.proofs
  }

  add(job: Job): void {
    const superseded = this.#backlog.add(job)
    if (superseded !== undefined) {
      const result = unsent(superseded.command, 'stale', 'superseded')
      this.#parts.onEnd(superseded, { result, isSpared: false })
    }
    this.#pump()
  }

  project(): void {
    const { id, cluster, control } = this.#parts
    cluster.project(control.projection(id, this.#policies.rules()))
  }

  look(): void {
    this.#pump()
  }

  async stopped(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#underWay)
  }

  status(): SiteStatus {
    return {
      cluster: this.#parts.id,
      inFlight: this.#throttle.inFlight(),
      concurrency: this.#throttle.limit(),
      waiting: this.#backlog.size(),
    }
  }

  async report(said: readonly PolicyStatus[], signal: AbortSignal): Promise<void> {
    const { caller, clock } = this.#reaping
    for (const each of said) {
      const outcomes = this.#policies.outcomes(each.uid)
      const known = this.#reported.get(each.uid)
      if (known?.said === each && known.outcomes === outcomes) continue
      const time = new Date(clock.now()).toISOString()
      const written = await writeStatus(each, { caller, outcomes, time }, signal)
      signal.throwIfAborted()
      if (written === null) continue
      const isAll = this.#policies.outcomes(each.uid) === outcomes
      this.#policies.written(each.uid, written)
      // What came meanwhile is written the next time.
      if (!isAll) continue
      this.#reported.set(each.uid, { said: each, outcomes: this.#policies.outcomes(each.uid) })
    }
    const uids = new Set(said.map(({ uid }) => uid))
    for (const uid of this.#reported.keys()) if (!uids.has(uid)) this.#reported.delete(uid)
  }

  #pump(): void {
    if (this.#isEarly()) return
    while (!this.#isStopped) {
      const job = this.#backlog.next(this.#throttle.limit())
      if (job === undefined) return
      const facts = this.#reaping.facts(job.command, job.moments)
      const pass = judge(job.command, facts, this.#parts.config)
      if (pass.type === 'Go') {
        this.#begin(job)
      } else {
        this.#parts.onEnd(job, blockedAt(job.command, pass))
        this.#backlog.finished(job)
      }
    }
  }

  /**
   * Its watcher starts as well, and has not connected yet; or the lock that it needs was not tried
   * yet.
   */
  #isEarly(): boolean {
    const { id, control, locks, clock, config, startedMs } = this.#parts
    const isAwaited = !control.isConnected(id) || locks?.isAwaited(id) === true
    return isAwaited && clock.monotonicMs() - startedMs < config.firstContactMs
  }

  #begin(job: Job): void {
    this.#throttle.enter()
    const carried = this.#carryOut(job).then(() => {
      this.#underWay.delete(carried)
      this.#pump()
    })
    this.#underWay.add(carried)
  }

  async #carryOut(job: Job): Promise<void> {
    const { signal, onEnd, onFailed } = this.#parts
    try {
      onEnd(job, await reap(job.command, job.moments, this.#reaping, signal))
    } catch (error) {
      // Cut: it is not settled, so it is carried out again after the next start.
      if (!signal.aborted) onFailed(error)
    } finally {
      this.#throttle.leave()
      this.#backlog.finished(job)
    }
  }
}

/** For a command to a cluster that this reaper has no connection to. */
export function withoutSite(command: Command, moments: Moments, parts: FactSources): Ended {
  const facts = factsOf(command, moments, undefined, parts)
  const pass = judge(command, facts, parts.config)
  if (pass.type === 'Blocked') return blockedAt(command, pass)
  return { result: unsent(command, 'blocked', 'unreachable'), isSpared: false }
}

/** What is known of a cluster by the connection to it. */
interface Connected {
  /** When it was last in trouble. */
  readonly troubledMs: number
  readonly policies: Policies
}

/** `connected`: undefined where there is no connection. */
function factsOf(
  command: Command,
  { appendedMs, knownMs }: Moments,
  connected: Connected | undefined,
  { control, isReachable, locks, barring, clock, config }: FactSources,
): Facts {
  const id = command.cluster
  const rule = ruleOf(command)
  const nowMs = clock.monotonicMs()
  const { troubledMs, policies } = connected ?? {}
  return {
    isReachable: troubledMs !== undefined,
    ageMs: nowMs - appendedMs,
    newsMs: nowMs - knownMs,
    clusterEpoch: control.clusterEpoch(id),
    isConnected: control.isConnected(id),
    elsewhere: otherFacts(command, control, isReachable),
    pausedBecause: control.pausedBecause(id),
    barredBecause: barring?.(id) ?? '',
    guarding: control.guarding(id),
    isUnbroken: troubledMs !== undefined && knownMs > troubledMs,
    mode: config.mode,
    policyMode: control.policyMode(),
    ...ruleFacts(rule, control, policies),
    unlocked: locks?.lacking(id),
  }
}

/** Of the cluster in which the command has an owner. */
function otherFacts(
  command: Command,
  control: Control,
  isReachable: FactSources['isReachable'],
): Facts['elsewhere'] {
  const claim = clusterElsewhere(command)
  if (claim === undefined) return null
  const { cluster: id } = claim
  const [clusterEpoch, isConnected] = [control.clusterEpoch(id), control.isConnected(id)]
  return { isReachable: isReachable(id), clusterEpoch, isConnected }
}

/** Of a policy of the cluster it is proven by a live GET whether it may be carried out. */
function ruleFacts(
  rule: CommandRule | null,
  control: Control,
  policies: Policies | undefined,
): Pick<Facts, 'rule' | 'ruleBecause' | 'readFor'> {
  const readFor = [...control.rules(), ...(policies?.rules() ?? [])]
  if (rule === null) return { rule: undefined, ruleBecause: '', readFor }
  if (rule.policy !== null) return { rule: policies?.ruleOf(rule), ruleBecause: '', readFor }
  return { rule: control.ruleOf(rule), ruleBecause: control.ruleBecause(rule), readFor }
}
