/**
 * The graph service: runs the tasks that it is given, for as long as they are its own, is standby
 * for others, and makes the policy that was asked for the one that is folded.
 *
 * What must stay true: a task that is added or revoked disturbs no other; a failure that only a
 * person can repair ends the service: it never continues silently with fewer partitions, and a task
 * is retried for as long as it is given.
 *
 * Not here: who has which partition (ports/placement.ts), what a task does (task.ts).
 */

import { createHash } from 'node:crypto'
import { policyOf } from '../../core/graph/graph.ts'
import type { Policy } from '../../core/model/policy.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Placed, Placement, Role } from '../../ports/placement.ts'
import type { Codec } from '../../ports/record/codec.ts'
import { MARK_BOOK_KEY, PROTECT_POLICY_KEY, RULE_BOOK_KEY } from '../../ports/record/control-key.ts'
import { hasKeys, type MarkSettings, markKeys, NO_MARKS } from '../../ports/record/manager-mark.ts'
import type { Report } from '../../ports/share-out.ts'
import type { Store } from '../../ports/store.ts'
import { joining, together } from '../../runtime/lifecycle.ts'
import { Backoff } from '../../runtime/retry.ts'
import { FIRST_ANSWERED_MS, FIRST_ANSWERED_STEP_MS, type Pace, RESIGNED_WAITS } from './config.ts'
import { EventRates } from './event-rate.ts'
import { GatheringStore } from './fold/bytes/gathering-store.ts'
import { giveOrder } from './fold/order.ts'
import type { RetentionConfig } from './fold/retention.ts'
import { keepTrimmed } from './fold/retention.ts'
import { Standby } from './fold/standby.ts'
import type { TaskObserver } from './fold/task.ts'
import { Task } from './fold/task.ts'
import { keepOrders } from './orders/order-keeper.ts'
import { publishPolicyStatus } from './orders/policy-status.ts'
import type { OpenIndex } from './query/index/history-index.ts'
import { readerOf } from './query/view/view.ts'

/** A standby that has no more of the changelog to read takes over at once. */
const READY_ENTRIES = 1_000n

export interface AskedPolicy {
  readonly policy: Policy
  readonly who: string
  /** Of other tools, which answers read; left out: none. */
  readonly marks?: MarkSettings
}

export interface GraphParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly placement: Placement
  readonly openStore: (partition: number) => Promise<Store>
  /** Beside the store, in whatever role; left out: names and histories are not indexed. */
  readonly openIndex?: (partition: number) => Promise<OpenIndex>
  readonly retention: RetentionConfig
  /** The one asked for, and by whom; undefined: whatever was folded last. */
  readonly policy?: AskedPolicy | undefined
  /**
   * A partition was folded by another policy until now: by ours before, or by that of another
   * process.
   */
  readonly policyChanged?: (partition: number, former: Policy, policy: Policy) => void
  /** For the tasks' commits. */
  readonly pace?: Pace | undefined
  readonly observe?: TaskObserver
}

export interface PartitionStatus {
  readonly partition: number
  readonly role: Role
  /** A task's; `opening` before there is one, and `following` of a standby. */
  readonly state: string
  readonly position: bigint
  /** Of events of a task, of the changelog of a standby. */
  readonly lagEntries: bigint
}

/** A partition that this process has a part in. */
interface Seat {
  placed: Placed
  /** The role was replaced by another. */
  replaced: AbortController
  work: Task | Standby | undefined
  index: OpenIndex | undefined
}

export class Graph {
  readonly #parts: GraphParts
  readonly #seats = new Map<number, Seat>()
  /**
   * Partitions whose policy this process has seen to: once, since another process may have been
   * started with a newer one while this one slept.
   */
  readonly #settled = new Set<number>()

  readonly #rates: EventRates

  constructor(parts: GraphParts) {
    this.#parts = parts
    this.#rates = new EventRates(parts.clock)
  }

  /** Until the signal aborts, as the process that answers at `url`. */
  async run(url: string, signal: AbortSignal): Promise<void> {
    await joining(async (begin, either) => {
      const report = (): Report => this.#report()
      for await (const placed of this.#parts.placement.assignments(url, either, report)) {
        const seat = this.#seats.get(placed.partition)
        if (seat === undefined) {
          const nothing = { work: undefined, index: undefined }
          const taken: Seat = { placed, replaced: new AbortController(), ...nothing }
          this.#seats.set(placed.partition, taken)
          begin((each) => this.#sit(taken, each))
        } else {
          seat.placed = placed
          seat.replaced.abort()
        }
      }
    }, signal)
  }

  /** Those that this process has now, by partition: another list whenever it is asked for. */
  get tasks(): readonly Task[] {
    return this.#sorted().flatMap(({ work }) => (work instanceof Task ? work : []))
  }

  /** All that this process was given, by partition. */
  status(): readonly PartitionStatus[] {
    return this.#sorted().map(statusOf)
  }

  /** Of each partition the URL of the process that has it, as far as is known. */
  owners(): ReadonlyMap<number, string> {
    return this.#parts.placement.owners()
  }

  /**
   * What it can answer, or could at once, its index included, and how many events its tasks fold.
   */
  #report(): Report {
    const all = this.status()
    const isUpToDate = ({ partition, state, lagEntries }: PartitionStatus): boolean =>
      state === 'folding' ||
      (state === 'following' &&
        lagEntries <= READY_ENTRIES &&
        this.#seats.get(partition)?.index?.isFollowing !== false)
    const folding = all.filter(({ state }) => state === 'folding')
    return {
      ready: all.filter(isUpToDate).map(({ partition }) => partition),
      loads: this.#rates.of(folding),
    }
  }

  #sorted(): Seat[] {
    return [...this.#seats.values()].sort((a, b) => a.placed.partition - b.placed.partition)
  }

  /**
   * For as long as the partition is ours: in one role after the other over the same store, with the
   * same index beside it; both are opened again if it was taken away in between.
   */
  async #sit(seat: Seat, signal: AbortSignal): Promise<void> {
    const { partition } = seat.placed
    const { openStore, openIndex } = this.#parts
    while (isOurs(seat, signal)) {
      await this.#afterAnswered(seat, signal)
      await using store = await openStore(partition)
      await using index = await openIndex?.(partition)
      seat.index = index
      try {
        await this.#inRoles(seat, store, signal)
      } finally {
        seat.index = undefined
      }
    }
    this.#seats.delete(partition)
  }

  /** A partition that no process answers comes before one that another process answers. */
  async #afterAnswered(seat: Seat, signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    const untilMs = clock.monotonicMs() + FIRST_ANSWERED_MS
    const isWaiting = (): boolean =>
      isOurs(seat, signal) && seat.placed.role === 'standby' && this.#isTakingOver()
    while (isWaiting() && clock.monotonicMs() < untilMs) {
      await clock.sleep(FIRST_ANSWERED_STEP_MS, signal)
    }
  }

  #isTakingOver(): boolean {
    return this.status().some(({ role, state }) => role === 'active' && state !== 'folding')
  }

  async #inRoles(seat: Seat, store: Store, signal: AbortSignal): Promise<void> {
    while (isOurs(seat, signal)) {
      seat.replaced = new AbortController()
      const { placed, replaced } = seat
      const either = AbortSignal.any([signal, placed.revoked, replaced.signal])
      try {
        if (placed.role === 'active') await this.#fold(seat, store, either)
        else await this.#follow(seat, store, either)
      } finally {
        // Before the store closes: who asks meanwhile would fail with that, and hide why it ended.
        seat.work = undefined
      }
    }
  }

  async #fold(seat: Seat, store: Store, signal: AbortSignal): Promise<void> {
    const { log, codec, clock, observe, pace, retention, policy } = this.#parts
    const { partition } = seat.placed
    const gathering = new GatheringStore(store, clock)
    const watching = observe && { observe }
    const task = new Task({
      ...{ log, codec, clock, partition, pace, ...watching },
      store: gathering,
      restored: async () => await this.#settlePolicy(task),
      idle: async () => await gathering.settle(),
      isRemembering: retention.keepPastMs !== 0,
      marks: policy?.marks,
    })
    seat.work = task
    const loops = [
      (either: AbortSignal) => this.#foldOn(task, either),
      (either: AbortSignal) => publishPolicyStatus({ log, codec, clock, task }, either),
      (either: AbortSignal) => keepTrimmed({ log, codec, clock, task, retention }, either),
    ]
    if (partition === 0)
      loops.push((either) => keepOrders({ log, codec, clock, task, policy }, either))
    try {
      await together(loops, signal)
    } finally {
      await gathering.leave()
    }
  }

  async #settlePolicy({ partition, store }: Task): Promise<void> {
    const { log, codec, policy: asked, policyChanged } = this.#parts
    if (asked === undefined || this.#settled.has(partition)) return
    const former = await ensurePolicy({ log, codec, partition, store }, asked)
    this.#settled.add(partition)
    if (former !== undefined) policyChanged?.(partition, former, asked.policy)
  }

  /**
   * The process that fenced us notices that the task is ours, or has its own revoked; if the task
   * is not ours, it is revoked while we wait.
   */
  async #foldOn(task: Task, signal: AbortSignal): Promise<void> {
    const { clock, observe } = this.#parts
    const backoff = new Backoff(RESIGNED_WAITS)
    while (!signal.aborted) {
      const { position } = task.status()
      await task.run(signal)
      if (signal.aborted) return
      if (task.status().position > position) backoff.reset()
      observe?.takenOver?.(`partition ${task.partition} was taken over by another process`)
      await clock.sleep(backoff.next(), signal)
    }
  }

  async #follow(seat: Seat, store: Store, signal: AbortSignal): Promise<void> {
    const { log, codec, clock } = this.#parts
    const standby = new Standby({ log, codec, clock, store, partition: seat.placed.partition })
    seat.work = standby
    await standby.run(signal)
  }
}

function isOurs({ placed }: Seat, signal: AbortSignal): boolean {
  return !signal.aborted && !placed.revoked.aborted
}

function statusOf({ placed: { partition, role }, work }: Seat): PartitionStatus {
  const opening = { state: 'opening', position: 0n, lagEntries: 0n }
  return { partition, role, ...(work?.status() ?? opening) }
}

const START_WHY = 'asked for at start'

export interface PolicyPlace extends Pick<Task, 'partition' | 'store'> {
  readonly log: Log
  readonly codec: Codec
}

/**
 * Appends a `PolicyChanged` if the last one folded differs; before it publishes its mode and its
 * rules to reapers, so that a softer one, or one without a rule, stops what is on its way, and to
 * reapers and watchers what it protects and what its rules read. Call it once the task is restored.
 * Answers with the policy that it replaces, if any.
 */
export async function ensurePolicy(
  { log, codec, partition, store }: PolicyPlace,
  asked: AskedPolicy,
): Promise<Policy | undefined> {
  const { policy, who } = asked
  const folded = policyOf(readerOf(store, codec))
  await publishPolicy({ log, codec }, asked)
  const bytesOf = (each: Policy): Uint8Array =>
    codec.encode({ type: 'PolicyChanged', policy: each, who, why: START_WHY })
  const value = bytesOf(policy)
  const former = folded.position < 0n ? undefined : folded.policy
  if (former !== undefined && isSame(bytesOf(former), value)) return undefined
  await giveOrder(log, codec, { type: 'PolicyChanged', policy, who, why: START_WHY }, [partition])
  return former
}

/**
 * For people; of different policies it differs, too. The schema they are written by may be another
 * in another version, and makes none.
 */
export function policyName(policy: Policy): string {
  const digest = createHash('sha256').update(JSON.stringify(policy)).digest('hex').slice(0, 8)
  return `${policy.mode} ${policy.preset} (${digest})`
}

/** What is published already is not published again. */
async function publishPolicy(
  { log, codec }: Pick<PolicyPlace, 'log' | 'codec'>,
  { policy, who }: AskedPolicy,
): Promise<void> {
  const { protection, mode, rules } = policy
  const nothing = { cluster: '', kind: null, number: 0, connected: false }
  const control = codec.encode({
    ...{ type: 'Control', verb: 'protect', ...nothing },
    ...{ protection, mode, who, why: START_WHY },
  })
  const book = codec.encode({ type: 'RuleBook', rules, who })
  const records = [
    { key: RULE_BOOK_KEY, value: book },
    { key: PROTECT_POLICY_KEY, value: control },
  ]
  const latest = await log.latest('orders', 0)
  const changed = records.filter(({ key, value }) => {
    const published = latest.find((each) => each.key === key)?.value
    // No book and one without rules permit the same.
    if (published == null) return key !== RULE_BOOK_KEY || rules.length > 0
    return !isSame(published, value)
  })
  if (changed.length > 0) await log.append('orders', 0, changed)
}

/**
 * To watchers and reapers, before any of this process begins: they would read all objects without
 * it first, and then again. A policy only where none was published before: one that replaces
 * another waits for `ensurePolicy`, since a fold must have it before what it no longer protects is
 * published without that.
 */
export async function publishAhead(
  { log, codec }: Pick<PolicyPlace, 'log' | 'codec'>,
  asked: AskedPolicy,
): Promise<void> {
  const { who, marks = NO_MARKS } = asked
  const latest = await log.latest('orders', 0)
  const isFirst = !latest.some(({ key }) => key === RULE_BOOK_KEY || key === PROTECT_POLICY_KEY)
  if (isFirst) await publishPolicy({ log, codec }, asked)
  const keys = markKeys(marks)
  const value = codec.encode({ type: 'MarkBook', ...keys, who })
  const published = latest.find(({ key }) => key === MARK_BOOK_KEY)?.value
  if (published == null ? !hasKeys(keys) : isSame(published, value)) return
  await log.append('orders', 0, [{ key: MARK_BOOK_KEY, value }])
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
