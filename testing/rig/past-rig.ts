/**
 * A life of a small cluster on a log, folded by the service's own batches, with the graph after
 * every event: answers about the past are compared with these.
 *
 * What must stay true: the fold, its records and its commits are those of a task; only users,
 * watches and the reaper are those of a model.
 */
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { factsOf } from '../../core/graph/facts.ts'
import { directivesOf } from '../../core/graph/graph.ts'
import { POLICY_KEY } from '../../core/graph/key.ts'
import type { Command } from '../../core/model/command.ts'
import type { Event } from '../../core/model/event.ts'
import { EMPTY_SET } from '../../core/model/hash.ts'
import { nodePhase } from '../../core/model/node.ts'
import type { GroupKind, ObjectMeta } from '../../core/model/object.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Pause } from '../../core/model/state.ts'
import type { TaskLog } from '../../ports/log.ts'
import type { KnownHold } from '../../ports/record/lineage.ts'
import { systemClock } from '../../runtime/clock.ts'
import { Batch } from '../../services/graph/fold/batch.ts'
import { RowStore } from '../../services/graph/fold/former/row-store.ts'
import { knownHold } from '../../services/graph/fold/known-object.ts'
import { orderOf, readEvent } from '../../services/graph/fold/order.ts'
import { CLUSTER, MONITORED, ModelCluster, served } from '../model/model-cluster.ts'
import { shortKind } from '../model/notation.ts'
import { ruleIn } from '../model/rule-notation.ts'
import { type Action, act } from '../model/world-generator.ts'
import { appendAll, codec } from './task-rig.ts'

const DAY_MS = 24 * 3_600_000

/**
 * Beside the actions of users: an object comes back with its uid, a kind is left out, the cluster
 * is restored from a backup, and time passes until deleted objects are forgotten.
 */
export type PastAction =
  | Action
  | { readonly type: 'again'; readonly pick: number }
  | { readonly type: 'backup' }
  | { readonly type: 'restore' }
  | { readonly type: 'pass'; readonly days: number }
  /** A kind becomes unwatched, or is watched again. */
  | { readonly type: 'unwatch'; readonly kind: string }
  /** People pause, resume, or give another policy. */
  | { readonly type: 'rule'; readonly rule: Rule }

export type Rule = 'pause' | 'resume' | 'guarded' | 'parity' | 'dry-run'

/** One object as the graph had it. */
export interface Held {
  readonly object: ObjectMeta
  readonly phase: string
  readonly held: KnownHold | null
}

export interface Snapshot {
  /** It holds everything before this offset. */
  readonly position: bigint
  /** Append time of the event before it. */
  readonly at: number
  readonly nodes: ReadonlyMap<string, Held>
  /** Kinds that are not watched, as GROUP/KIND. */
  readonly unwatched: ReadonlySet<string>
  /** Whose deletion was the event before it. */
  readonly deleted: string | undefined
  /** Null before the first policy. */
  readonly mode: string | null
  readonly pauses: readonly Pause[]
}

export class PastRig {
  readonly log: MemoryLog
  /** Its rows. */
  readonly rows: MemoryStore = new MemoryStore()
  readonly store: RowStore = new RowStore(this.rows, codec)
  /** After each event that was folded, in their order. */
  readonly snapshots: Snapshot[] = []
  readonly #batch: Batch
  readonly #task: TaskLog
  #cluster = new ModelCluster()
  #backup: ModelCluster | undefined
  readonly #uids = new Set<string>()
  readonly #kinds = new Map<string, GroupKind>()
  readonly #unwatched = new Set<string>()
  readonly #commands: Command[] = []
  #epoch = 1
  #serial = 0
  readonly #clock: { now: number }

  private constructor(log: MemoryLog, task: TaskLog, clock: { now: number }) {
    this.log = log
    this.#task = task
    this.#clock = clock
    this.#batch = new Batch({
      store: this.store,
      codec,
      partition: 0,
      partitions: 1,
      from: undefined,
      isRemembering: true,
    })
  }

  static async begin(): Promise<PastRig> {
    const clock = { now: 1_700_000_000_000 }
    const now = (): number => clock.now
    const log = new MemoryLog({
      partitions: 1,
      clock: { ...systemClock(), now, monotonicMs: now },
    })
    const rig = new PastRig(log, await log.openTask(0), clock)
    await rig.#append({ type: 'WatcherStarted', serverTime: null, ...rig.#started() })
    await rig.#rule('parity')
    for (const short of MONITORED) rig.#cluster.relist(short, 0, false)
    await rig.drain(Number.MAX_SAFE_INTEGER)
    await rig.commit()
    return rig
  }

  #started(): { cluster: string; name: string; epoch: number; clusterEpoch: number } {
    return { cluster: CLUSTER, name: 'test', epoch: this.#epoch, clusterEpoch: this.#epoch }
  }

  async act(action: PastAction): Promise<void> {
    this.#serial += 1
    switch (action.type) {
      case 'again': {
        const { departed } = this.#cluster
        const object = departed[action.pick % Math.max(1, departed.length)]
        if (object !== undefined)
          this.#cluster.create({ ...object, deletedAt: null, finalizers: [] })
        return
      }
      case 'unwatch':
        return this.#unwatch(action.kind)
      case 'rule':
        return await this.#rule(action.rule)
      case 'backup':
        this.#backup = this.#cluster.copy()
        return
      case 'restore':
        return await this.#restore()
      case 'pass':
        for (let day = 0; day < action.days; day++) {
          this.#clock.now += DAY_MS
          await this.#heartbeat()
        }
        return
      default:
        act(this.#cluster, action, this.#serial)
    }
  }

  async #rule(rule: Rule): Promise<void> {
    const [who, why] = ['test', 'test']
    if (rule === 'pause' || rule === 'resume') {
      const rest = { cluster: '', subject: '', digest: null, listed: EMPTY_SET, isProven: false }
      return await this.#append({ type: 'Directive', verb: rule, ...rest, who, why })
    }
    const isDryRun = rule === 'dry-run'
    const policy = policyFor(isDryRun ? 'dry-run' : 'enforce', isDryRun ? 'parity' : rule)
    // In dry run: they decide and hold, so that there is something to ask about.
    const rules =
      rule === 'guarded' ? [ruleIn('old cm 3600'), ruleIn('older pod 90000 for:60')] : []
    const given = { ...policy, rememberMs: DAY_MS, rules }
    await this.#append({ type: 'PolicyChanged', policy: given, who, why })
  }

  #unwatch(short: string): void {
    const isWatched = !this.#unwatched.delete(short)
    if (isWatched) this.#unwatched.add(short)
    this.#cluster.streams.get(short)?.push(served(short, !isWatched))
    if (!isWatched) this.#cluster.relist(short, 0, false)
  }

  /**
   * The cluster is as it was at its backup, in a new epoch; events that the watches had not
   * reported yet are lost.
   */
  async #restore(): Promise<void> {
    if (this.#backup === undefined) return
    this.#cluster = this.#backup.copy()
    this.#epoch += 1
    this.#commands.length = 0
    await this.#append({ type: 'WatcherStarted', serverTime: null, ...this.#started() })
    for (const stream of this.#cluster.streams.values()) stream.length = 0
    for (const short of MONITORED) this.#cluster.relist(short, 0, false)
  }

  async #heartbeat(): Promise<void> {
    await this.#append({ type: 'Heartbeat', cluster: CLUSTER, epoch: this.#epoch, kinds: [] })
  }

  /** Takes so many events of the watches, and carries out commands. */
  async drain(most: number): Promise<void> {
    for (let left = most; left > 0; left--) {
      const stream = [...this.#cluster.streams.values()].find(({ length }) => length > 0)
      const event = stream?.shift()
      const command = event === undefined ? this.#commands.shift() : undefined
      if (event !== undefined) await this.#append(event)
      else if (command === undefined) return
      else if (command.type === 'VerifyOwner') await this.#append(this.#cluster.verify(command))
      else if (command.type !== 'WarnObject') await this.#append(this.#cluster.carryOut(command))
    }
  }

  async beat(ms: number): Promise<void> {
    this.#clock.now += ms
    await this.#heartbeat()
  }

  async #append(event: Event): Promise<void> {
    this.#clock.now += this.#serial % 3
    const { end } = await this.log.bounds('events', 0)
    const ours: object = {
      ...('epoch' in event && { epoch: this.#epoch }),
      ...('clusterEpoch' in event && { clusterEpoch: this.#epoch }),
    }
    await appendAll(this.log, [{ ...event, ...ours } as Event])
    await this.#foldFrom(end)
  }

  async #foldFrom(from: bigint): Promise<void> {
    const { entries } = await this.log.read('events', 0, from, { limit: 100, waitMs: 0 })
    for (const entry of entries) {
      if (entry.offset < this.#batch.position.position) continue
      const read = readEvent(codec, entry, this.#batch.graph)
      const event = read.type === 'OrderGiven' ? await this.#orderOf(read) : read
      if (event.type === 'Refused') throw new Error(event.why)
      const at = { partition: 0, partitions: 1, position: entry.offset, timestamp: entry.timestamp }
      const outcome = await this.#batch.fold(event as Event, at)
      this.#commands.push(...outcome.commands)
      for (const { kind } of outcome.relists) {
        this.#cluster.relist(shortKind(kind.group, kind.kind), 0, false)
      }
      this.#note(event as Event, entry.offset + 1n, entry.timestamp)
      // The commit appends the event by which the fold continues.
      if (outcome.continues) await this.commit()
    }
  }

  async #orderOf(read: Parameters<typeof orderOf>[2]): Promise<Event> {
    const found = await orderOf(this.log, codec, read, this.#batch.position)
    if (found.type === 'Refused') throw new Error(found.why)
    this.#batch.obey(found.inForce)
    return found.order
  }

  #note(event: Event, position: bigint, at: number): void {
    if ('object' in event && event.object !== null) {
      const { group, kind, uid } = event.object
      this.#uids.add(uid)
      this.#kinds.set(`${group}/${kind}`, { group, kind })
    }
    const nodes = new Map<string, Held>()
    for (const uid of this.#uids) {
      const node = factsOf(this.#batch.graph, CLUSTER).node(uid)
      if (node === undefined) continue
      nodes.set(uid, { object: node.object, phase: nodePhase(node), held: knownHold(node) })
    }
    const unwatched = [...this.#kinds].flatMap(([name, kind]) => {
      return factsOf(this.#batch.graph, CLUSTER).kind(kind)?.phase === 'unmonitored' ? [name] : []
    })
    const deleted = event.type === 'ObjectDeleted' ? event.object.uid : undefined
    const policy = this.#batch.graph.get(POLICY_KEY)
    const mode = policy?.type === 'PolicyState' ? policy.policy.mode : null
    const { pauses } = directivesOf(this.#batch.graph)
    const rules = { mode, pauses, unwatched: new Set(unwatched) }
    this.snapshots.push({ position, at, nodes, deleted, ...rules })
  }

  async commit(): Promise<void> {
    const { changelog, outputs, rows } = this.#batch.take()
    const { end: before } = await this.log.bounds('events', 0)
    const end = await this.#task.commit({ changelog, outputs })
    await this.store.writeRows(rows, { changelog: end, position: this.#batch.position.position })
    this.#batch.clear()
    await this.#foldFrom(before)
  }

  get position(): bigint {
    return this.#batch.position.position
  }
}
