/**
 * Two real kube-apiservers, north with owners and south with objects that name them, and the
 * watchers, graph, endpoint and reaper of both in this process.
 *
 * What must stay true: the services are the real ones, and rules are read as a config file has
 * them; the log and the clock are of this process, so an hour is moved by hand, in steps in which
 * heartbeats continue.
 */
import { equal, ok } from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { avroCodec } from '../adapters/avro/codec.ts'
import { openCluster } from '../adapters/kubernetes/cluster.ts'
import { openUndiciExchange } from '../adapters/kubernetes/connection/exchange.ts'
import { loadContexts } from '../adapters/kubernetes/connection/kubeconfig.ts'
import { MemoryLease } from '../adapters/memory/lease.ts'
import { MemoryLog } from '../adapters/memory/log.ts'
import { placeAll } from '../adapters/memory/placement.ts'
import { MemoryStore } from '../adapters/memory/store.ts'
import { graphOptionsOf, upConfig } from '../cli/config/config.ts'
import type { OwnerElsewhere } from '../core/model/event.ts'
import { ruleDigest } from '../core/model/rule/rule.ts'
import type { Exchange } from '../ports/exchange.ts'
import type { Writable } from '../ports/record/codec.ts'
import { serveEndpoint } from '../runtime/http/endpoint.ts'
import { systemRandom } from '../runtime/random.ts'
import { Graph } from '../services/graph/graph.ts'
import { addGraphRoutes } from '../services/graph/http.ts'
import { ActorIndex } from '../services/graph/query/index/actor-index.ts'
import { HistoryIndex, type OpenIndex } from '../services/graph/query/index/history-index.ts'
import { createQuestions } from '../services/graph/questions.ts'
import { createReaper } from '../services/reaper/reaper.ts'
import { createWatcher } from '../services/watcher/watcher.ts'
import { type ControlPlane, startControlPlane } from './cluster/control-plane.ts'
import { eventually } from './eventually.ts'
import { CONFIG_MAP, type Made, make, mergePatch, NAMESPACE, pathOf } from './process/objects.ts'
import { SettableClock } from './settable-clock.ts'

const PARTITIONS = 2
/** A heartbeat that is older than a minute shows nothing. */
export const STEP_MS = 50_000
export const HOUR_MS = 3_600_000

const ATTENTIVE = { everyMs: 10 }

/** Of a bridge one sees that it asks for the end of lineage in each round. */
class SeenLog extends MemoryLog {
  rounds = 0

  override async end(...asked: Parameters<MemoryLog['end']>): Promise<bigint> {
    if (asked[0] === 'lineage') this.rounds++
    return await super.end(...asked)
  }
}

export interface FarClustersOptions {
  /** Of north, and of south. */
  readonly namespaces: readonly string[]
  /** `exports` and `rules` of a config file, by the ids of north and south. */
  readonly config: (north: string, south: string) => string
  /** Rules that are enforced; all others report. */
  readonly enforced: readonly string[]
}

export async function startFarClusters(options: FarClustersOptions): Promise<FarClusters> {
  const started = ['north', 'south'].map((context) => startControlPlane({ context }))
  const [north, south] = (await Promise.all(started)) as [ControlPlane, ControlPlane]
  const clusters = new FarClusters(north, south)
  try {
    await clusters.begin(options)
    return clusters
  } catch (error) {
    await clusters[Symbol.asyncDispose]()
    throw error
  }
}

/** Made by `startFarClusters` only. */
export class FarClusters implements AsyncDisposable {
  readonly north: ControlPlane
  readonly south: ControlPlane
  readonly log: SeenLog
  readonly #clock = new SettableClock()
  readonly #codec = avroCodec()
  readonly #stop = new AbortController()
  #stopNorth = new AbortController()
  readonly #running: Promise<unknown>[] = []
  readonly #exchanges: Exchange[] = []
  readonly #ids = new Map<ControlPlane, string>()
  /** What the address of north leads to. */
  #behindNorth: Exchange
  #bystander: Made | undefined
  #endpoint: { readonly url: string; readonly server: FastifyInstance } | undefined

  constructor(north: ControlPlane, south: ControlPlane) {
    this.north = north
    this.south = south
    this.log = new SeenLog({ partitions: PARTITIONS, clock: this.#clock })
    this.#behindNorth = this.#exchangeTo(north)
  }

  /** Of the graph. */
  get url(): string {
    return this.#endpoint?.url ?? ''
  }

  async begin(options: FarClustersOptions): Promise<void> {
    const { north, south } = this
    for (const plane of [north, south]) {
      for (const name of options.namespaces) await make(plane, { kind: NAMESPACE, name })
      const { body } = await plane.request<Stored>('GET', '/api/v1/namespaces/kube-system')
      this.#ids.set(plane, body.metadata.uid)
    }
    this.#bystander = await make(south, { kind: CONFIG_MAP, name: 'bystander' })
    await this.#startServices(options)
    this.#watch(south, this.#stop.signal)
    this.watchNorth()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopNorth()
    this.#stop.abort(new Error('The test is done with it.'))
    await this.#endpoint?.server.close()
    await Promise.all(this.#running)
    await Promise.all(this.#exchanges.map((each) => each[Symbol.asyncDispose]()))
    await Promise.all([this.north, this.south].map((each) => each[Symbol.asyncDispose]()))
  }

  idOf(plane: ControlPlane): string {
    return this.#ids.get(plane) ?? ''
  }

  watchNorth(): void {
    this.#stopNorth = new AbortController()
    this.#watch(this.north, this.#stopNorth.signal)
  }

  stopNorth(): void {
    this.#stopNorth.abort(new Error('It is cut off.'))
  }

  /** The server that answers at the address of north from now on. */
  answerAsNorth(plane: ControlPlane): void {
    this.#behindNorth = this.#exchangeTo(plane)
  }

  /** An owner in a namespace of north, and an object in one of south that names it. */
  async pair(
    name: string,
    namespace: string,
    { within = 'team', finalizers = [] }: PairOptions = {},
  ): Promise<readonly [Made, Made]> {
    const { north, south } = this
    const owner = await make(north, { kind: CONFIG_MAP, name, namespace, finalizers })
    const dependent = await make(south, { kind: CONFIG_MAP, name, namespace: within })
    const value = `${this.idOf(north)}//ConfigMap/${namespace}/${name}/${owner.uid}`
    const annotations = { 'kinfold.io/owner': value }
    await mergePatch(south, pathOf(dependent), { metadata: { annotations } })
    return [owner, dependent]
  }

  async events(from: readonly bigint[] = [0n, 0n]): Promise<readonly Writable[]> {
    const options = { limit: 1_000_000, waitMs: 0 }
    const pages = await Promise.all(
      from.map((offset, partition) => this.log.read('events', partition, offset, options)),
    )
    return pages.flatMap(({ entries }) => entries.map(({ value }) => this.#codec.decode(value!)))
  }

  async published(owner: Made, state: OwnerElsewhere['state']): Promise<void> {
    await eventually(`${owner.name} is published as ${state}`, async () => {
      const all = (await this.events()).filter((event) => {
        return event.type === 'OwnerElsewhere' && event.uid === owner.uid
      })
      const last = all.at(-1)
      return (last?.type === 'OwnerElsewhere' && last.state === state) || JSON.stringify(all.length)
    })
  }

  /** Heartbeats, watches and the bridge go on meanwhile. */
  async pass(ms: number, isNorthThere = true): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += STEP_MS) {
      this.#clock.pass(STEP_MS)
      await this.#touch(`${this.log.rounds}`)
      // Of the first heartbeats it is not known that they came after the step.
      for (const _ of ['first', 'second']) {
        await this.#heard(isNorthThere ? [this.north, this.south] : [this.south])
      }
    }
  }

  /** In south. */
  async isThere(made: Made): Promise<boolean> {
    return (await this.south.request('GET', pathOf(made))).status === 200
  }

  /** In south. */
  async gone(made: Made): Promise<void> {
    await eventually(`${made.name} is deleted`, async () => {
      await this.#touch('end')
      return !(await this.isThere(made))
    })
  }

  /** So that something is published there. */
  async #touch(at: string): Promise<void> {
    ok(this.#bystander !== undefined)
    await mergePatch(this.south, pathOf(this.#bystander), { metadata: { labels: { at } } })
  }

  /** Another heartbeat of each of these, and the bridge has read it. */
  async #heard(planes: readonly ControlPlane[]): Promise<void> {
    const ends = await Promise.all([0, 1].map((each) => this.log.end('events', each)))
    await eventually(
      'heartbeats go on',
      async () => {
        const beats = (await this.events(ends)).filter(({ type }) => type === 'Heartbeat')
        return planes.every((plane) =>
          beats.some((event) => 'cluster' in event && event.cluster === this.idOf(plane)),
        )
      },
      ATTENTIVE,
    )
    // One round may have begun before.
    const rounds = this.log.rounds + 2
    await eventually('the bridge goes on', async () => this.log.rounds >= rounds, ATTENTIVE)
  }

  #exchangeTo(plane: ControlPlane): Exchange {
    const [context] = loadContexts({ kubeconfig: plane.kubeconfig, contexts: [] })
    const exchange = openUndiciExchange(context!)
    this.#exchanges.push(exchange)
    return exchange
  }

  #clusterOf(plane: ControlPlane): ReturnType<typeof openCluster> {
    const direct = plane === this.north ? undefined : this.#exchangeTo(plane)
    const exchange: Exchange = {
      request: (request, signal) => (direct ?? this.#behindNorth).request(request, signal),
      [Symbol.asyncDispose]: async () => {},
    }
    return openCluster({ name: plane === this.north ? 'north' : 'south', exchange })
  }

  #watch(plane: ControlPlane, signal: AbortSignal): void {
    const watcher = createWatcher({
      ...{ log: this.log, codec: this.#codec, clock: this.#clock },
      ...{ random: systemRandom(), lease: new MemoryLease() },
      cluster: this.#clusterOf(plane),
      config: { kinds: ['configmaps'], heartbeatMs: 50, elsewhereMs: 20 },
    })
    // It ends by itself once its cluster is another one.
    this.#running.push(watcher.run(signal).catch(() => undefined))
  }

  async #startServices({ config, enforced }: FarClustersOptions): Promise<void> {
    const { north, south, log } = this
    const [codec, clock] = [this.#codec, this.#clock]
    const file = join(north.folder, 'kinfold.yaml')
    await writeFile(file, config(this.idOf(north), this.idOf(south)))
    const { policy, retention } = graphOptionsOf(upConfig({ config: file }))
    const placement = placeAll(PARTITIONS)
    const openStore = async (): Promise<MemoryStore> => new MemoryStore()
    const index = new HistoryIndex(log, codec, clock)
    const openIndex = async (partition: number): Promise<OpenIndex> =>
      index.open(partition, new MemoryStore())
    const graph = new Graph({
      ...{ log, codec, clock, placement, retention, policy },
      ...{ openStore, openIndex },
    })
    await this.#answerFrom(graph, index, retention.keepMs)
    this.#running.push(graph.run(this.url, this.#stop.signal))
    await eventually('the policy takes effect', async () => {
      return (await this.events()).filter(({ type }) => type === 'OrderGiven').length === PARTITIONS
    })
    for (const rule of policy.policy.rules) {
      if (enforced.includes(rule.name)) await this.#enforce(rule.name, ruleDigest(rule))
    }
    const connected = [north, south].map((plane) => ({
      id: this.idOf(plane),
      cluster: this.#clusterOf(plane),
    }))
    const reaper = createReaper({
      ...{ log, codec, clock, random: systemRandom(), config: { mode: 'enforce' } },
      clusters: (id) => connected.find((each) => each.id === id),
    })
    this.#running.push(reaper.run(this.#stop.signal))
  }

  async #answerFrom(graph: Graph, index: HistoryIndex, keepMs: number): Promise<void> {
    const parts = { log: this.log, codec: this.#codec, clock: this.#clock }
    const actors = new ActorIndex({ ...parts, store: new MemoryStore(), keepMs })
    const questions = createQuestions({ ...parts, graph, index, actors })
    this.#endpoint = await serveEndpoint(
      {
        add: (routes) => addGraphRoutes(routes, questions),
        ...{ version: 'test', checks: () => [], scrape: async () => '' },
      },
      { address: '127.0.0.1:0', token: undefined, authority: undefined },
    )
    this.#running.push(index.run(this.#stop.signal), actors.run(this.#stop.signal))
  }

  /** As `kinfold rules enforce` does. */
  async #enforce(subject: string, digest: string): Promise<void> {
    const order = { verb: 'enforce-rule', subject, digest, claimed: 'ann', why: 'a test' }
    const response = await fetch(`${this.url}/v1/directives`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(order),
    })
    equal(response.status, 200, await response.text())
  }
}

interface PairOptions {
  /** Namespace of the object. */
  readonly within?: string
  /** Of the owner. */
  readonly finalizers?: readonly string[]
}

interface Stored {
  readonly metadata: { readonly uid: string }
}
