/**
 * The loop of the bridge beside a watcher: learns which objects name owners in other clusters,
 * reads what the log has of those clusters, and publishes what follows.
 *
 * What must stay true: no failure of it ends the watcher, or its other work: it cuts clusters off,
 * with a reason. What it publishes comes after the records of the objects, in the same partition
 * and under the same epoch. A cluster is followed only once it is known which objects name owners
 * there. Other rules, or a reader that is outdated, begin a new bridge, which knows nothing. Where
 * no rule imports owners, or nothing is exported to this cluster, nothing is read; nor of a cluster
 * that an order forgets, of which nothing is published either.
 *
 * Not here: what is published (owner-bridge.ts), whether a cluster is followed (other-cluster.ts),
 * which objects name owners (roll-call.ts).
 */
import type { ClusterId, ObjectMeta, Uid } from '../../core/model/object.ts'
import { kindsOf, type Rule } from '../../core/model/rule/rule.ts'
import { FollowedClusters } from '../../ports/assignment.ts'
import type { Cluster } from '../../ports/cluster.ts'
import { FollowedTopic } from '../../ports/followed-topic.ts'
import { type Entry, LogError } from '../../ports/log.ts'
import { type Codec, CodecError } from '../../ports/record/codec.ts'
import { kindKey } from './kind/catalog.ts'
import { connectionKey, type Reading } from './kind/marks.ts'
import type { Slots } from './kind/slots.ts'
import {
  OtherCluster,
  type OtherClusterParts,
  type OtherControl,
  type OtherLook,
} from './other-cluster.ts'
import { type BridgeEvent, OwnerBridge } from './owner-bridge.ts'
import type { LogDeps } from './publish/log-retry.ts'
import type { Onlooker } from './publish/telling.ts'
import { RollCall, type Uncalled, type Watching } from './roll-call.ts'
import type { ElsewhereStatus, WatcherObserver } from './status.ts'

export interface BridgingDeps extends LogDeps {
  readonly codec: Codec
  readonly server: Cluster
  readonly observer: WatcherObserver
  /** Of the objects that name owners elsewhere, and the term of its watcher. */
  readonly cluster: ClusterId
  readonly epoch: number
  /** When the term began. */
  readonly reading: BridgedReading
  /** Into the partition of the cluster, in order with the records of its objects. */
  readonly publish: (event: BridgeEvent) => void
  readonly room: () => Promise<void>
  readonly lists: Slots
  readonly watching: () => Watching
}

/** The rules of the policy, and the clusters of owners that orders forget. */
export type BridgedReading = Pick<Reading, 'rules' | 'forgotten'>

/** One bridge, from one change of rules to the next. */
interface Life {
  readonly rules: readonly Rule[]
  readonly bridge: OwnerBridge
  readonly call: RollCall
  readonly others: ReadonlyMap<ClusterId, OtherCluster>
  /** By cluster, as it was reported last. */
  readonly status: Map<ClusterId, Standing>
  /** Monotonic. */
  readonly sinceMs: number
  /** By cluster, as it was logged last: why it is cut off, empty where it is followed. */
  readonly logged: Map<ClusterId, string>
  /** By cluster, how many namespaces that are left out were logged. */
  readonly leftOut: Map<ClusterId, number>
}

interface Standing {
  /** Of that cluster; null where it was never known. */
  readonly epoch: number | null
  /** Empty where it is followed. */
  readonly cutOffBecause: string
  /** Up to where its events were folded before its lineage was read. */
  readonly folded: bigint
}

interface Connection {
  readonly epoch: number | null
  /** Why its watcher has no contact; empty where it has. */
  readonly because: string
}

interface ControlView {
  readonly connections: ReadonlyMap<ClusterId, Connection>
  readonly partitions: ReadonlyMap<ClusterId, { readonly partition: number }>
}

const NEVER: Standing = { epoch: null, cutOffBecause: 'it was not read yet', folded: 0n }
const UNREADABLE: Connection = { epoch: null, because: 'the record of its watcher is unreadable' }
const NO_CONTROL: OtherControl = { partition: undefined, unconnectedBecause: '' }
/** A heartbeat takes up to 10 s, a kind that is listed longer. */
const TO_BE_FOLLOWED_MS = 90_000
/** Events between two waits for room. */
const AT_ONCE = 500
const CONNECTIONS = connectionKey('')

export class Bridging implements Onlooker {
  readonly #deps: BridgingDeps
  readonly #connections: FollowedTopic
  readonly #clusters: FollowedClusters
  #rules: readonly Rule[] = []
  #forgotten: BridgedReading['forgotten']
  #life: Life | undefined

  constructor(deps: BridgingDeps) {
    const { log, codec, clock, reading } = deps
    this.#deps = deps
    this.#forgotten = reading.forgotten
    this.#connections = new FollowedTopic({ log, clock, topic: 'control', prefixes: [CONNECTIONS] })
    this.#clusters = new FollowedClusters(log, codec, clock)
    this.#begin(importing(reading.rules, deps.cluster), true)
  }

  /** Of each cluster of which rules import owners, and which no order forgets. */
  status(): readonly ElsewhereStatus[] {
    const life = this.#life
    if (life === undefined) return []
    return [...life.status].map(([cluster, { cutOffBecause }]) => {
      return { cluster, cutOffBecause, leftOut: life.bridge.leftOut(cluster) }
    })
  }

  published(object: ObjectMeta, isNew: boolean): void {
    this.#life?.bridge.noteObject(object, isNew)
  }

  left(uid: Uid): void {
    this.#life?.bridge.noteGone(uid)
  }

  /** As they are now. */
  follow({ rules, forgotten }: BridgedReading): void {
    this.#forgotten = forgotten
    const imports = importing(rules, this.#deps.cluster)
    if (textOf(imports) !== textOf(this.#rules)) this.#begin(imports, false)
  }

  #begin(rules: readonly Rule[], isFromStart: boolean): void {
    this.#rules = rules
    this.#life?.call.end()
    if (rules.length === 0) {
      this.#life = undefined
      return
    }
    const { log, codec, clock, cluster, epoch } = this.#deps
    const bridge = new OwnerBridge({ cluster, epoch, rules })
    const others = bridge.clusters.map((each) => {
      const noteLineage: OtherClusterParts['noteLineage'] = (uid, lineage) =>
        bridge.noteLineage(each, uid, lineage)
      return [each, new OtherCluster({ log, codec, clock, cluster: each, noteLineage })] as const
    })
    const note = (object: ObjectMeta): void => bridge.noteListed(object)
    const kinds = kindsOf(rules)
    const call = new RollCall({ ...this.#deps, kinds, isFromStart, note })
    const status = new Map(bridge.clusters.map((each) => [each, NEVER] as const))
    const sinceMs = clock.monotonicMs()
    const logged = new Map<ClusterId, string>()
    const said = { sinceMs, logged, leftOut: new Map() }
    this.#life = { rules, bridge, call, others: new Map(others), status, ...said }
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock, config } = this.#deps
    while (!signal.aborted) {
      const isMore = await this.#round(signal)
      await clock.sleep(isMore ? 0 : config.elsewhereMs, signal)
    }
  }

  /** Whether there is more to read at once. */
  async #round(signal: AbortSignal): Promise<boolean> {
    const life = this.#life
    if (life === undefined) return false
    const uncalled = life.call.look(signal)
    const control = await this.#tried(() => this.#control())
    let isMore = false
    for (const [cluster, other] of life.others) {
      if (this.#forgotten.has(cluster)) {
        this.#forget(life, cluster)
        continue
      }
      const { epoch, of } = controlOf(control, cluster)
      const look = await this.#looked(() => other.look(of, signal))
      if (signal.aborted || life !== this.#life) return false
      if (look.type === 'outdated') {
        this.#begin(this.#rules, false)
        return false
      }
      isMore ||= look.isMore
      const unsure = typeof control === 'string' ? control : look.cutOffBecause
      const full = life.bridge.isFull(cluster) ? 'more of its objects are exported than kept' : ''
      const cutOffBecause = unsure || full || uncalledOf(life, cluster, uncalled)
      this.#note(life, cluster, { epoch, cutOffBecause, folded: look.folded })
    }
    await this.#publish(life)
    return isMore
  }

  /** What it gives, or why it failed. */
  async #tried<T>(work: () => Promise<T>): Promise<T | string> {
    try {
      return await work()
    } catch (error) {
      return reasonOf(error)
    }
  }

  async #looked(look: () => Promise<OtherLook>): Promise<OtherLook> {
    const done = await this.#tried(look)
    if (typeof done !== 'string') return done
    return { type: 'read', cutOffBecause: done, isMore: false, folded: 0n }
  }

  async #control(): Promise<ControlView> {
    const { codec } = this.#deps
    const connections = new Map<ClusterId, Connection>()
    for (const { key, value } of await this.#connections.latest()) {
      connections.set(key.slice(CONNECTIONS.length), connectionIn(codec, value))
    }
    const { assignments: partitions } = await this.#clusters.read()
    return { connections, partitions }
  }

  #note(life: Life, cluster: ClusterId, { epoch, cutOffBecause, folded }: Standing): void {
    const former = life.status.get(cluster) ?? NEVER
    const now = { epoch: epoch ?? former.epoch, cutOffBecause, folded }
    life.status.set(cluster, now)
    if (now.epoch !== null) {
      life.bridge.noteCluster(cluster, { clusterEpoch: now.epoch, cutOffBecause, folded })
    }
    this.#log(life, cluster, cutOffBecause)
    this.#logLeftOut(life, cluster)
  }

  /** For as long as the order stands: once it is taken back all is published anew. */
  #forget({ bridge, status, logged }: Life, cluster: ClusterId): void {
    if (!status.delete(cluster)) return
    bridge.noteForgotten(cluster)
    logged.delete(cluster)
    const fields = { cluster: this.#deps.server.name, owner_cluster: cluster }
    this.#deps.observer.note('info', 'a cluster of owners is forgotten, as ordered', fields)
  }

  /** Of a cluster that is about to be followed, nothing. */
  #log({ logged, sinceMs }: Life, cluster: ClusterId, cutOffBecause: string): void {
    const { observer, server, clock } = this.#deps
    const isNew = !logged.has(cluster) && clock.monotonicMs() - sinceMs < TO_BE_FOLLOWED_MS
    if (logged.get(cluster) === cutOffBecause || (isNew && cutOffBecause !== '')) return
    logged.set(cluster, cutOffBecause)
    const fields = { cluster: server.name, owner_cluster: cluster, reason: cutOffBecause }
    if (cutOffBecause === '') observer.note('info', 'a cluster of owners is followed', fields)
    else observer.note('warn', 'a cluster of owners is cut off', fields)
  }

  #logLeftOut({ bridge, leftOut }: Life, cluster: ClusterId): void {
    const { observer, server } = this.#deps
    const namespaces = bridge.leftOut(cluster)
    const news = namespaces.slice(leftOut.get(cluster) ?? 0)
    leftOut.set(cluster, namespaces.length)
    for (const owner_namespace of news) {
      const fields = { cluster: server.name, owner_cluster: cluster, owner_namespace }
      observer.note('warn', 'a namespace of owners is left out: it has too many', fields)
    }
  }

  async #publish({ bridge }: Life): Promise<void> {
    const { clock, publish, room } = this.#deps
    for (const [index, event] of bridge.take(clock.monotonicMs()).entries()) {
      publish(event)
      if ((index + 1) % AT_ONCE === 0) await room()
    }
    await room()
  }
}

/** Of which objects it is not known yet whether they name owners there; empty where of none. */
function uncalledOf({ rules }: Life, cluster: ClusterId, uncalled: Uncalled): string {
  const asking = rules.filter(({ elsewhere }) => elsewhere?.cluster === cluster)
  const reasons = kindsOf(asking).flatMap((kind) => uncalled.get(kindKey(kind)) ?? [])
  return reasons[0] ?? ''
}

/** Where nothing is exported to the cluster nothing is imported. */
function importing(rules: readonly Rule[], cluster: ClusterId): readonly Rule[] {
  return rules.filter(({ elsewhere }) => elsewhere?.exports.some(({ to }) => to.includes(cluster)))
}

/** All that a bridge is of. */
function textOf(rules: readonly Rule[]): string {
  return JSON.stringify(rules.map(({ elsewhere, match }) => [elsewhere, match.kinds]))
}

/** Where `control` cannot be read nothing is known of it. */
function controlOf(
  control: ControlView | string,
  cluster: ClusterId,
): { readonly epoch: number | null; readonly of: OtherControl } {
  if (typeof control === 'string') return { epoch: null, of: NO_CONTROL }
  const connection = control.connections.get(cluster)
  const partition = control.partitions.get(cluster)?.partition
  const { epoch = null, because = 'its watcher never had contact' } = connection ?? {}
  return { epoch, of: { partition, unconnectedBecause: because } }
}

function connectionIn(codec: Codec, value: Entry['value']): Connection {
  try {
    const record = value === null ? undefined : codec.decode(value)
    if (record?.type !== 'Control') return UNREADABLE
    const { number: epoch, connected, why } = record
    return { epoch, because: connected ? '' : `its watcher has no contact: ${why}` }
  } catch (error) {
    if (error instanceof CodecError) return UNREADABLE
    throw error
  }
}

/** The loop goes on: another watcher would fail in the same way. */
function reasonOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return error instanceof LogError ? `the log cannot be read: ${message}` : `it failed: ${message}`
}
