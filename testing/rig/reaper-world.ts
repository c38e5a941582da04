/**
 * A reaper in a small world: log and API server in memory, the Kubernetes adapter between them,
 * time moved by hand.
 *
 * What must stay true: everything but the reaper outlives a `kill`, as it would outlive a process,
 * and no call that the dead one had under way reaches the log or the server afterwards.
 */
import { deepEqual } from 'node:assert/strict'
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { targetOf } from '../../core/issue/target.ts'
import type {
  AnnotateObject,
  Command,
  DeleteObject,
  OrphanDependent,
  OwnerClaim,
  RemoveFinalizer,
} from '../../core/model/command.ts'
import type { ObjectMeta } from '../../core/model/object.ts'
import { objectKey } from '../../core/model/partition.ts'
import { type Mode, type Protection, policyFor } from '../../core/model/policy.ts'
import { type Rule, ruleDigest } from '../../core/model/rule/rule.ts'
import type { Cluster } from '../../ports/cluster.ts'
import type { Produced } from '../../ports/log.ts'
import type { Codec } from '../../ports/record/codec.ts'
import {
  PROTECT_POLICY_KEY,
  protectKey,
  RULE_BOOK_KEY,
  ruleOrderKey,
} from '../../ports/record/control-key.ts'
import type { Control, RuleBook, RuleOrder } from '../../ports/record/service-record.ts'
import type { ArchiveSettings } from '../../runtime/archive/archive-record.ts'
import type { ReaperConfig } from '../../services/reaper/config.ts'
import type { Result } from '../../services/reaper/decide/result.ts'
import type { Locks } from '../../services/reaper/lock.ts'
import { createReaper, type Reaper } from '../../services/reaper/reaper.ts'
import { annotateObject, deleteObject, orphanDependent, removeFinalizer } from './reaper.ts'

/** Of time that a test waits for anything, in steps of a millisecond. */
const PATIENCE_MS = 120_000
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'

export interface Running {
  readonly reaper: Reaper
  /** As a main stops it. */
  stop(): Promise<void>
}

export interface NewObject {
  readonly owners?: readonly object[]
  readonly finalizers?: readonly string[]
}

export class World {
  readonly clock: ManualClock = new ManualClock()
  readonly codec: Codec = avroCodec()
  readonly server: ApiServer
  readonly id: string
  log: MemoryLog
  /** Of other clusters, by id: the reaper is connected to them, too. */
  readonly others: Map<string, ApiServer> = new Map()
  #life = new AbortController()
  #numbers = 0
  #commands = 0

  static async open(partitions = 1): Promise<World> {
    const world = new World(partitions)
    await world.control('cluster', { verb: 'epoch', number: 1 })
    return world
  }

  private constructor(partitions: number) {
    const clock = this.clock
    this.log = new MemoryLog({ partitions, clock })
    this.server = new ApiServer({ clock, random: countingRandom(), name: 'blue' })
    this.id = this.server.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
  }

  /** A reaper process. `config` differs from the default as a test needs it. */
  /** `skewMs`: how far its clock on the wall is ahead of the log's. */
  start(
    config: Partial<ReaperConfig> = {},
    archive?: ArchiveSettings,
    locks?: Locks,
    skewMs = 0,
  ): Running {
    const stop = new AbortController()
    const cluster = this.connect(this.#life.signal)
    const reaper = createReaper({
      log: this.log,
      codec: this.codec,
      clusters: (id) => {
        if (id === this.id) return { id, cluster }
        const other = this.others.get(id)
        return other && { id, cluster: this.connect(this.#life.signal, other) }
      },
      clock: {
        now: () => this.clock.now() + skewMs,
        monotonicMs: () => this.clock.monotonicMs(),
        sleep: (ms, signal) => this.clock.sleep(ms, signal),
      },
      random: { next: () => 0.5 },
      config,
      archive,
      ...(locks !== undefined && { locks }),
    })
    const killed = this.#life.signal
    const ended = reaper.run(stop.signal).catch((error: unknown) => {
      if (!killed.aborted) throw error
    })
    return {
      reaper,
      stop: async () => {
        stop.abort()
        let isOver = false
        void ended.then(() => {
          isOver = true
        })
        await this.until(() => isOver)
        await ended
      },
    }
  }

  /** A connection that a kill cuts. */
  connect(
    signal: AbortSignal = new AbortController().signal,
    server: ApiServer = this.server,
  ): Cluster {
    const exchange = memoryExchange(server)
    signal.addEventListener('abort', () => void exchange[Symbol.asyncDispose](), { once: true })
    return openCluster({ name: 'blue', exchange, clock: this.clock, random: { next: () => 0.5 } })
  }

  /** As kill -9: the work under way of every reaper so far is lost. */
  kill(): void {
    this.log = this.log.reopen()
    this.#life.abort()
    this.#life = new AbortController()
  }

  /** Moves time until something is so. */
  async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
    const end = this.clock.now() + PATIENCE_MS
    while (!(await isSo())) {
      if (this.clock.now() > end) throw new Error('it did not come to pass')
      await this.clock.advance(1)
    }
  }

  async control(
    subject: 'cluster' | 'pause',
    more: Partial<Control> & Pick<Control, 'verb'>,
    about: string = this.id,
  ): Promise<void> {
    await this.#tellControl(`${subject}/${about}`, more)
  }

  /** By name, in every cluster. */
  async protect(subject: string, verb: 'protect' | 'unprotect' = 'protect'): Promise<void> {
    await this.#tellControl(protectKey('', subject), { verb, cluster: '' })
  }

  async protectByPolicy(more: Partial<Protection>, mode: Mode = 'enforce'): Promise<void> {
    const { protection: none } = policyFor(mode, 'parity')
    const protection = { ...none, ...more }
    await this.#tellControl(PROTECT_POLICY_KEY, { verb: 'protect', protection, mode, cluster: '' })
  }

  /** The policy has just these rules. */
  async rules(...rules: readonly Rule[]): Promise<void> {
    await this.#appendOrder(RULE_BOOK_KEY, { type: 'RuleBook', rules, who: 'test' })
  }

  async enforceRule(rule: Rule): Promise<void> {
    await this.#orderRule(rule, ruleDigest(rule))
  }

  async suspendRule(rule: Rule): Promise<void> {
    await this.#orderRule(rule, '')
  }

  async #orderRule({ name }: Rule, digest: string): Promise<void> {
    const order: RuleOrder = { type: 'RuleOrder', name, digest, who: 'ann', why: 'a test' }
    await this.#appendOrder(ruleOrderKey(name), order)
  }

  async #appendOrder(key: string, record: RuleBook | RuleOrder): Promise<void> {
    await this.log.append('orders', 0, [{ key, value: this.codec.encode(record) }])
  }

  async #tellControl(key: string, more: Partial<Control> & Pick<Control, 'verb'>): Promise<void> {
    const record: Control = {
      type: 'Control',
      protection: null,
      mode: null,
      cluster: this.id,
      kind: null,
      number: ++this.#numbers,
      connected: true,
      who: 'test',
      why: '',
      ...more,
    }
    const value = this.codec.encode(record)
    await this.log.append(more.verb === 'epoch' ? 'control' : 'orders', 0, [{ key, value }])
  }

  /**
   * Appends to partition 0 of `commands`, each with an id and cluster of its own unless it has one.
   */
  async command(...commands: readonly Command[]): Promise<void> {
    await this.append(commands.map((command) => this.produced(command)))
  }

  async append(records: readonly Produced[], partition = 0): Promise<void> {
    await this.log.append('commands', partition, records)
  }

  produced(command: Command): Produced {
    const key = objectKey(command.cluster, command.target.uid)
    return { key, value: this.codec.encode(command) }
  }

  deleteOf(object: ObjectMeta, more: Partial<DeleteObject> = {}): DeleteObject {
    const { ownerReferences: references, finalizers } = object
    return deleteObject({ ...this.#about(object), references, finalizers, ...more })
  }

  annotateOf(object: ObjectMeta, more: Partial<AnnotateObject> = {}): AnnotateObject {
    return annotateObject({ ...this.#about(object), ...more })
  }

  orphanOf(object: ObjectMeta, drop: readonly number[]): OrphanDependent {
    return orphanDependent({ ...this.#about(object), references: object.ownerReferences, drop })
  }

  releaseOf(object: ObjectMeta, finalizer: string): RemoveFinalizer {
    const { finalizers, deletedAt } = object
    return removeFinalizer({
      ...this.#about(object),
      ...{ finalizers, finalizer, deletedAt: deletedAt ?? 0 },
    })
  }

  #about(object: ObjectMeta): Pick<DeleteObject, 'id' | 'cluster' | 'target'> {
    const id = `0-${++this.#commands}-0`
    const target = { ...targetOf(object, undefined), aggregated: false }
    return { id, cluster: this.id, target }
  }

  /** The records appended to `events`, in order. */
  async results(partition = 0): Promise<readonly Result[]> {
    const entries = await this.entries(partition)
    return entries.map(({ value }) => this.codec.decode(value as Uint8Array) as Result)
  }

  async entries(partition = 0): Promise<readonly Produced[]> {
    const { start } = await this.log.bounds('events', partition)
    const options = { limit: 100_000, waitMs: 0 }
    return (await this.log.read('events', partition, start, options)).entries
  }

  /** Waits for so many results in all. */
  async settled(count: number, partition = 0): Promise<readonly Result[]> {
    await this.until(async () => (await this.log.bounds('events', partition)).end >= BigInt(count))
    const results = await this.results(partition)
    deepEqual(results.length, count)
    return results
  }

  /** A ConfigMap in `default`. */
  async create(name: string, { owners, finalizers }: NewObject = {}): Promise<ObjectMeta> {
    const metadata = { name, ownerReferences: owners, finalizers }
    await this.request('POST', CONFIG_MAPS, { metadata })
    return await this.read(name)
  }

  /** One that names an owner which is not there. */
  async dependent(name: string, finalizers: readonly string[] = []): Promise<ObjectMeta> {
    return await this.create(name, { owners: [GONE], finalizers })
  }

  async read(name: string, of: Partial<Command['target']> = {}): Promise<ObjectMeta> {
    const target = { ...configMap(name), ...of }
    const answer = await this.connect().get(target, new AbortController().signal)
    if (answer.type !== 'Found') throw new Error(`${name} was not found`)
    return answer.object
  }

  exists(name: string): boolean {
    return this.server.object('', 'configmaps', 'default', name) !== undefined
  }

  async patch(name: string, metadata: object): Promise<void> {
    await this.request('PATCH', `${CONFIG_MAPS}/${name}`, { metadata })
  }

  async delete(name: string, options: object = {}): Promise<void> {
    await this.request('DELETE', `${CONFIG_MAPS}/${name}`, options)
  }

  async request(method: string, path: string, body: object): Promise<void> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'
    const headers = { 'content-type': type, accept: 'application/json' }
    const request = { method, path, headers, body: JSON.stringify(body) }
    const { status } = await this.server.handle(request, new AbortController().signal)
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}`)
  }

  /** Requests for ConfigMaps by verb, since the last call of this. */
  calls(): Readonly<Record<string, number>> {
    const counts = this.server.requestCounts()
    const since: Record<string, number> = {}
    for (const [what, count] of counts) {
      const verb = what.endsWith(' configmaps') ? what.split(' ')[0] : undefined
      const more = count - (this.#counted.get(what) ?? 0)
      if (verb !== undefined && more > 0) since[verb] = more
    }
    this.#counted = counts
    return since
  }

  #counted: ReadonlyMap<string, number> = new Map()
}

/** A reference to an owner that is not there. */
export const GONE = { apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'u-gone' }

export const GONE_CLAIM: OwnerClaim = {
  group: '',
  kind: 'ConfigMap',
  namespace: 'default',
  name: 'gone',
  uid: 'u-gone',
  version: 'v1',
  resource: 'configmaps',
  claim: 'absent',
  cluster: '',
  clusterEpoch: 0,
  createdAt: null,
}

export function configMap(name: string, uid = 'u'): Command['target'] {
  return {
    group: '',
    kind: 'ConfigMap',
    namespace: 'default',
    name,
    version: 'v1',
    resource: 'configmaps',
    uid,
    resourceVersion: '',
    aggregated: false,
  }
}

/** Uids that differ and repeat from run to run. */
function countingRandom(): { next(): number } {
  let state = 1
  return {
    next() {
      state = (state * 48_271) % 2_147_483_647
      return state / 2_147_483_647
    },
  }
}
