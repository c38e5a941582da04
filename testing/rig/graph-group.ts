/**
 * Several graph processes in one: a log, a group that shares its partitions, and an endpoint on
 * loopback for each of them.
 *
 * What must stay true: processes share nothing but the log, the group's view of the assignments,
 * and HTTP. A killed one is a member until it expires, as with a real group.
 */
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { MemoryCoordinator } from '../../adapters/memory/placement.ts'
import type { Event } from '../../core/model/event.ts'
import type { ClusterId } from '../../core/model/object.ts'
import { policyFor } from '../../core/model/policy.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Placement } from '../../ports/placement.ts'
import { type MarkSettings, NO_MARKS } from '../../ports/record/manager-mark.ts'
import type { Store } from '../../ports/store.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Authority } from '../../runtime/http/authority.ts'
import { serveEndpoint } from '../../runtime/http/endpoint.ts'
import type { HttpToken } from '../../runtime/http/http-token.ts'
import { reachOf } from '../../services/graph/fold/former/former-rows.ts'
import { giveOrder, isOrder } from '../../services/graph/fold/order.ts'
import { DEFAULT_RETENTION } from '../../services/graph/fold/retention.ts'
import { Graph } from '../../services/graph/graph.ts'
import { addGraphRoutes } from '../../services/graph/http.ts'
import { ActorIndex } from '../../services/graph/query/index/actor-index.ts'
import { HistoryIndex } from '../../services/graph/query/index/history-index.ts'
import { createQuestions } from '../../services/graph/questions.ts'
import { assign, call, codec, emptyStore } from './task-rig.ts'

const POLICY = policyFor('enforce', 'parity')

/** Each event in the partition of its cluster; records of no cluster, in all. */
export async function tell(
  log: Log,
  events: readonly Event[],
  partitionOf: (cluster: ClusterId) => number = () => 0,
): Promise<void> {
  const partitions = Array.from({ length: log.partitions('events') }, (_, each) => each)
  for (const event of events) {
    if (event.type === 'Unreadable') continue
    const cluster = 'cluster' in event ? event.cluster : ''
    const isForAll = cluster === '' || event.type === 'Directive'
    const targets = isForAll ? partitions : [partitionOf(cluster)]
    if (isOrder(event)) {
      await giveOrder(log, codec, event, targets)
      continue
    }
    const value = codec.encode(event)
    for (const partition of targets) {
      await log.append('events', partition, [{ key: cluster || 'all', value }])
    }
    if (event.type !== 'WatcherStarted') continue
    await assign(log, cluster, partitionOf(cluster))
    await call(log, cluster, event.name)
  }
}

export interface GraphProcess {
  readonly url: string
  readonly graph: Graph
  readonly index: HistoryIndex
  /** Requests that other processes sent on to it, and how many of them are being answered. */
  readonly forwarded: () => { readonly count: number; readonly open: number }
  stop(): Promise<void>
  /** It leaves the group, and continues to answer. */
  leave(): void
  /** As kill -9: it answers no longer; the group believes that it is alive until `expire`. */
  kill(): Promise<void>
  expire(): Promise<void>
}

export interface ProcessOptions {
  readonly token?: HttpToken
  readonly authority?: Authority
  readonly isReadingReviewed?: boolean
  readonly marks?: MarkSettings
  /** By which questions are answered; else the machine's. */
  readonly clock?: Clock
  /** Where it believes that the partitions are. */
  readonly owners?: (known: ReadonlyMap<number, string>) => ReadonlyMap<number, string>
  readonly openStore?: () => Store
  /** Not: its index of names and histories has read nothing yet. */
  readonly isIndexing?: boolean
  /** Called before a request that another process forwarded is handled. */
  readonly onForwarded?: () => Promise<void>
  /** Called around each request that is handled. */
  readonly around?: (handle: () => void) => void
}

export class GraphGroup {
  readonly log: Log
  readonly partitions: number
  readonly #coordinator: MemoryCoordinator
  readonly #processes = new Set<GraphProcess>()
  #isEnded = false

  /** The log of `from` is in memory, its first record a millisecond later. */
  constructor(partitions: number, standbys = 0, from: number | Log = 1_000_000) {
    this.partitions = partitions
    this.log = typeof from === 'number' ? memoryLog(partitions, from) : from
    this.#coordinator = new MemoryCoordinator(partitions, standbys)
  }

  async start(options: ProcessOptions = {}): Promise<GraphProcess> {
    const { log } = this
    this.#isEnded = false
    const { token, authority, isReadingReviewed = false, onForwarded, around } = options
    const { marks = NO_MARKS } = options
    const clock = systemClock()
    const stop = new AbortController()
    const session = new AbortController()
    const { openStore = emptyStore, owners = (known) => known, isIndexing = true } = options
    const index = new HistoryIndex(log, codec, options.clock ?? clock)
    const graph = new Graph({
      log,
      codec,
      clock,
      placement: this.#placementOf(session.signal),
      retention: DEFAULT_RETENTION,
      policy: { policy: POLICY, who: 'test', marks },
      openStore: async () => openStore(),
      openIndex: async (partition) => index.open(partition, emptyStore()),
    })
    const actors = new ActorIndex({
      ...{ log, codec, clock, store: emptyStore() },
      keepMs: DEFAULT_RETENTION.keepMs,
    })
    const parts = createQuestions({
      ...{ log, codec, index, actors, clock: options.clock ?? clock },
      graph: {
        get tasks() {
          return graph.tasks
        },
        owners: () => owners(graph.owners()),
      },
      access: { authority, isReadingReviewed },
      marks,
    })
    const forwarded = { count: 0, open: 0 }
    const add = (routes: FastifyInstance): void => {
      routes.addHook('onRequest', async ({ headers }, reply) => {
        if (headers['kinfold-forwarded'] === undefined) return
        forwarded.count += 1
        forwarded.open += 1
        reply.raw.on('close', () => (forwarded.open -= 1))
        await onForwarded?.()
      })
      if (around !== undefined) {
        routes.addHook('onRequest', (_request, _reply, done) => around(() => done()))
      }
      addGraphRoutes(routes, parts)
    }
    const { url, server } = await serveEndpoint(
      { add, version: 'test', checks: () => [], scrape: async () => '' },
      { address: '127.0.0.1:0', token, authority },
    )
    const ended = Promise.all([
      graph.run(url, stop.signal),
      isIndexing && index.run(stop.signal),
      actors.run(stop.signal),
    ])
    ended.catch(() => undefined)
    const kill = async (): Promise<void> => {
      stop.abort(new Error('the process ends'))
      await server.close()
    }
    const expire = async (): Promise<void> => {
      session.abort()
      await ended
      this.#processes.delete(process)
    }
    const process: GraphProcess = {
      url,
      graph,
      index,
      forwarded: () => ({ ...forwarded }),
      leave: () => session.abort(),
      kill,
      expire,
      async stop() {
        await kill()
        await expire()
      },
    }
    this.#processes.add(process)
    return process
  }

  /** A process that dies notifies no other: only its session ends, later. */
  #placementOf(session: AbortSignal): Placement {
    const placement = this.#coordinator.placement()
    return {
      assignments: (url) => placement.assignments(url, session),
      owners: () => placement.owners(),
      [Symbol.asyncDispose]: async () => await placement[Symbol.asyncDispose](),
    }
  }

  /** Until every partition is folded to its end, and all are indexed; an error once it ends. */
  async caughtUp(): Promise<void> {
    while (!(await this.#isCaughtUp())) {
      if (this.#isEnded) throw new Error('the group of processes ended')
      await setImmediate()
    }
  }

  /** What lay before the position can be asked no more, from the next commit on. */
  forgetBefore(position: bigint): void {
    for (const { graph } of this.#processes)
      for (const task of graph.tasks) task.forgetBefore(position)
  }

  async #isCaughtUp(): Promise<boolean> {
    const processes = [...this.#processes]
    const tasks = processes.flatMap(({ graph }) => graph.tasks)
    if (tasks.length !== this.partitions) return false
    for (const task of tasks) {
      const { state, position } = task.status()
      const options = { limit: 1, waitMs: 0 }
      const { entries } = await this.log.read('events', task.partition, position, options)
      if (state !== 'folding' || entries.length > 0) return false
      if (reachOf(task.store, codec)?.isFilled === false) return false
    }
    for (const { index } of processes) if ((await index.lagEntries()) > 0n) return false
    return true
  }

  async stop(): Promise<void> {
    this.#isEnded = true
    for (const process of [...this.#processes]) await process.stop()
  }
}

/** Each record at a time of its own. */
function memoryLog(partitions: number, from: number): MemoryLog {
  let now = from
  return new MemoryLog({ partitions, clock: { ...systemClock(), now: () => ++now } })
}
