/**
 * A small cascade through the real loops, and a crash at each call that they await: watcher, task
 * and reaper over memory adapters, killed at the k-th call to log, store or server, on the way
 * there or on the way back, and started again.
 *
 * What must stay true: a killed process never gets the answer to its call, and no later call of it
 * happens. For every k nothing is deleted wrongly, and in the end everything is deleted that should
 * be.
 *
 * Not here: faults of the outside, chance (world.ts).
 */
import { avroCodec } from '../../adapters/avro/codec.ts'
import { openCluster } from '../../adapters/kubernetes/cluster.ts'
import type { ApiObject, Effect } from '../../adapters/memory/api-server.ts'
import { ApiServer } from '../../adapters/memory/api-server.ts'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { memoryExchange } from '../../adapters/memory/exchange.ts'
import { MemoryLease } from '../../adapters/memory/lease.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryStore } from '../../adapters/memory/store.ts'
import { DEFAULT_POLICY } from '../../core/model/policy.ts'
import type { ExchangeRequest } from '../../ports/exchange.ts'
import { Task } from '../../services/graph/fold/task.ts'
import { ensurePolicy } from '../../services/graph/graph.ts'
import { createReaper } from '../../services/reaper/reaper.ts'
import { createWatcher } from '../../services/watcher/watcher.ts'
import { seeded } from '../../testing/seeded.ts'
import { leftoversOf, objectionTo, RESOURCES } from '../oracle.ts'
import { clockOf, exchangeOf, Life, logOf, storeOf } from './small-life.ts'

/**
 * When the process dies: at its call of that number since the cascade began; `isBack`: once it took
 * effect.
 */
export interface Crash {
  readonly call: number
  readonly isBack: boolean
}

export interface Crashed {
  /** From the beginning of the cascade until all was in order and only new events were awaited. */
  readonly calls: number
  /** The crash happened. */
  readonly hasDied: boolean
  readonly wrongs: readonly string[]
}

/** Until kinds are listed, and finalizers may be removed. */
const BEGINNING_MS = 20_000
const STEP_MS = 100
/** Of virtual time; a command that was lost with its process is given up after eleven minutes. */
const PATIENCE_MS = 30 * 60_000
/** The time in which work under way ends, such as the saving of positions. */
const AFTER_MS = 5_000

export async function crashed(crash: Crash | null): Promise<Crashed> {
  const world = new SmallCluster()
  world.populate()
  let life = world.start()
  await world.clock.advance(BEGINNING_MS)
  const before = life.calls
  if (crash !== null) life.dieAt(before + crash.call, crash.isBack)
  world.cascade()
  let hasDied = false
  let waitedMs = 0
  let doneMs = 0
  for (; waitedMs < PATIENCE_MS && doneMs < AFTER_MS; waitedMs += STEP_MS) {
    await world.clock.advance(STEP_MS)
    doneMs = world.leftovers().length === 0 ? doneMs + STEP_MS : 0
    if (!life.isDead) continue
    hasDied = true
    life = world.start()
  }
  life.die()
  const wrongs = [...world.wrongs, ...world.leftovers(), ...world.missing()]
  world.end()
  return { calls: life.calls - before, hasDied, wrongs }
}

const PATHS = {
  ConfigMap: '/api/v1/namespaces/default/configmaps',
  Secret: '/api/v1/namespaces/default/secrets',
} as const

/** It remembers nothing between records; to make one takes as long as half a world. */
const CODEC = avroCodec()

class SmallCluster {
  readonly clock: ManualClock = new ManualClock()
  readonly wrongs: string[] = []
  readonly #server: ApiServer
  readonly #store = new MemoryStore().content
  readonly #truth: {
    waited: Set<string>
    orphaned: Map<string, ApiObject>
    onceOrphaned: Map<string, ApiObject>
  }
  readonly #over = new AbortController()
  #log: MemoryLog
  #acting: ExchangeRequest | undefined

  constructor() {
    const { clock } = this
    this.#log = new MemoryLog({ partitions: 1, clock })
    this.#server = new ApiServer({ clock, random: seeded(1), name: 'small' })
    this.#server.observe((effect) => this.#judge(effect))
    this.#truth = { waited: new Set(), orphaned: new Map(), onceOrphaned: new Map() }
  }

  /**
   * An owner in the background with a dependent of its own and one that it shares; one in the
   * foreground, two deep; one that orphans.
   */
  populate(): void {
    for (const name of ['background', 'foreground', 'orphaning', 'stays']) this.#own(name, [])
    this.#own('alone', ['background'])
    this.#own('shared', ['background', 'stays'])
    this.#own('middle', ['foreground'])
    this.#own('leaf', ['middle'])
    this.#own('orphan', ['orphaning'])
  }

  cascade(): void {
    this.#delete('background', 'Background')
    this.#delete('foreground', 'Foreground')
    this.#delete('orphaning', 'Orphan')
  }

  leftovers(): readonly string[] {
    const all = RESOURCES.flatMap(([group, kind]) => [...this.#server.objects(group, kind)])
    return leftoversOf(this.#server, all).map(({ text }) => text)
  }

  /** Of the objects that must stay, and of those that must be deleted. */
  missing(): readonly string[] {
    const stays = ['stays', 'shared', 'orphan'].filter((name) => this.#find(name) === undefined)
    const goes = ['background', 'foreground', 'orphaning', 'alone', 'middle', 'leaf'].filter(
      (name) => this.#find(name) !== undefined,
    )
    return [...stays.map((name) => `${name} went`), ...goes.map((name) => `${name} is still there`)]
  }

  /** A process; open transactions of an earlier one are refused from here on. */
  start(): Life {
    const life = new Life()
    this.#log = this.#log.reopen()
    const clock = clockOf(this.clock, life)
    const log = logOf(this.#log, life)
    const ports = { log, codec: CODEC, clock }
    const random = seeded(2)
    const exchange = exchangeOf((request, signal) => this.#send(request, signal), life)
    const cluster = openCluster({ name: 'small', exchange, clock, random })
    const id = this.#server.object('', 'namespaces', '', 'kube-system')?.metadata.uid ?? ''
    const clusters = (asked: string) => (asked === id ? { id, cluster } : undefined)
    const task = new Task({
      ...ports,
      store: storeOf(new MemoryStore(this.#store), life),
      partition: 0,
    })
    const watcher = createWatcher({ ...ports, cluster, random, lease: new MemoryLease() })
    const reaper = createReaper({ ...ports, random, clusters, config: { mode: 'enforce' } })
    const { signal } = this.#over
    const policy = { ...DEFAULT_POLICY, mode: 'enforce', preset: 'parity' } as const
    const ensured = async (): Promise<void> => {
      while (task.status().state !== 'folding') await clock.sleep(20)
      const { partition, store } = task
      await ensurePolicy({ log, codec: CODEC, partition, store }, { policy, who: 'test' })
    }
    for (const run of [task.run(signal), watcher.run(signal), reaper.run(signal), ensured()])
      run.catch((error: unknown) => this.wrongs.push(`it died: ${String(error)}`))
    return life
  }

  /**
   * Signals with listeners stay in memory until they are aborted, and with them everything that
   * died here.
   */
  end(): void {
    this.#over.abort()
  }

  #send(request: ExchangeRequest, signal: AbortSignal): ReturnType<typeof exchangeRequest> {
    this.#acting = request
    try {
      return exchangeRequest(this.#server, request, signal)
    } finally {
      this.#acting = undefined
    }
  }

  #judge({ before, after }: Effect): void {
    const { finalizers = [], uid = '' } = after?.metadata ?? {}
    if (finalizers.includes('foregroundDeletion')) this.#truth.waited.add(uid)
    if (after !== null && finalizers.includes('orphan')) {
      this.#truth.orphaned.set(uid, after)
      this.#truth.onceOrphaned.set(uid, after)
    }
    const request = this.#acting
    if (before === null || request === undefined) return
    if (request.method !== 'DELETE' && request.method !== 'PATCH') return
    const never = {
      hasJustTurned: () => false,
      isGone: () => false,
      orphanedBefore: new Map(),
    }
    const judged = { ...never, server: this.#server, ...this.#truth }
    const objection = objectionTo(judged, request, before, after)
    if (objection !== '')
      this.wrongs.push(`${request.method} ${before.metadata.name}: ${objection}`)
  }

  #find(name: string): ApiObject | undefined {
    return (
      this.#server.object('', 'configmaps', 'default', name) ??
      this.#server.object('', 'secrets', 'default', name)
    )
  }

  #own(name: string, owners: readonly string[]): void {
    const ownerReferences = owners.flatMap((each) => {
      const owner = this.#find(each)
      if (owner === undefined) return []
      const { apiVersion, kind, metadata } = owner
      return [{ apiVersion, kind, name: each, uid: metadata.uid, blockOwnerDeletion: true }]
    })
    const path = owners.length === 0 ? PATHS.ConfigMap : PATHS.Secret
    this.#user('POST', path, { metadata: { name, ownerReferences } })
  }

  #delete(name: string, propagationPolicy: string): void {
    this.#user('DELETE', `${PATHS.ConfigMap}/${name}`, { propagationPolicy })
  }

  #user(method: string, path: string, body: object): void {
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const request = { method, path, headers, body: JSON.stringify(body) }
    // The server carries it out before it returns the promise of its answer.
    void this.#server.handle(request, new AbortController().signal)
  }
}

function exchangeRequest(server: ApiServer, request: ExchangeRequest, signal: AbortSignal) {
  return memoryExchange(server).request(request, signal)
}
