/**
 * Several graph processes in one: a log, a group that shares its partitions, and an endpoint on loopback for each of them.
 *
 * What must stay true: processes share nothing but the log, the group's view of who has what, and HTTP. A killed one is a member until it expires, as
 * with a real group.
 */
import { setImmediate } from 'node:timers/promises'
import { MemoryLog } from '../adapters/memory/log.ts'
import { MemoryCoordinator } from '../adapters/memory/placement.ts'
import type { Event } from '../core/event.ts'
import { partitionOfObject } from '../core/partition.ts'
import { policyFor } from '../core/policy.ts'
import type { Log } from '../ports/log.ts'
import type { Placement } from '../ports/placement.ts'
import { systemClock } from '../runtime/clock.ts'
import { serveEndpoint } from '../runtime/endpoint.ts'
import type { HttpToken } from '../runtime/http-token.ts'
import { createAccess } from '../services/graph/access.ts'
import { createCascades } from '../services/graph/cascade.ts'
import type { Graph } from '../services/graph/graph.ts'
import { createGraph } from '../services/graph/graph.ts'
import { createGraphDump } from '../services/graph/graph-dump.ts'
import { createHoldings } from '../services/graph/held.ts'
import type { HistoryIndex } from '../services/graph/history-index.ts'
import { createHistoryIndex } from '../services/graph/history-index.ts'
import { addGraphRoutes } from '../services/graph/http.ts'
import type { Peer } from '../services/graph/peer.ts'
import { createPeer } from '../services/graph/peer.ts'
import { createPlanner } from '../services/graph/plan.ts'
import { createQuery } from '../services/graph/query.ts'
import { DEFAULT_RETENTION } from '../services/graph/retention.ts'
import { createViews } from '../services/graph/view.ts'
import { taskOf } from '../services/graph/viewed-partition.ts'
import { codec, emptyStore } from './task-rig.ts'

const POLICY = policyFor('enforce', 'parity')

/** Each event where it belongs; what is of no object, everywhere. */
export async function tell(log: Log, events: readonly Event[]): Promise<void> {
  const partitions = log.partitions('events')
  for (const event of events) {
    if (event.type === 'Unreadable') continue
    const value = codec.encode(event)
    const home = 'object' in event && event.object !== null ? event.object.namespace : undefined
    const targets =
      home === undefined
        ? Array.from({ length: partitions }, (_, partition) => partition)
        : [partitionOfObject('c', home, partitions)]
    for (const partition of targets) await log.append('events', partition, [{ key: 'k', value }])
  }
}

export interface GraphProcess {
  readonly url: string
  readonly graph: Graph
  readonly index: HistoryIndex
  /** Calls made to other processes. */
  readonly calls: () => number
  stop(): Promise<void>
  /** As kill -9: it answers no more; the group believes that it lives until `expire`. */
  kill(): Promise<void>
  expire(): Promise<void>
}

export class GraphGroup {
  readonly log: MemoryLog
  readonly partitions: number
  readonly #coordinator: MemoryCoordinator
  readonly #processes = new Set<GraphProcess>()

  constructor(partitions: number, standbys = 0) {
    // Each record at a time of its own.
    let now = 1_000_000
    this.partitions = partitions
    this.log = new MemoryLog({ partitions, clock: { ...systemClock(), now: () => ++now } })
    this.#coordinator = new MemoryCoordinator(partitions, standbys)
  }

  async start(
    wrapped: (peer: Peer) => Peer = (peer) => peer,
    token?: HttpToken,
  ): Promise<GraphProcess> {
    const { log } = this
    const clock = systemClock()
    const stop = new AbortController()
    const session = new AbortController()
    const graph = createGraph({
      log,
      codec,
      clock,
      placement: this.#placementOf(session.signal),
      retention: DEFAULT_RETENTION,
      policy: { policy: POLICY, who: 'test' },
      openStore: async () => emptyStore(),
    })
    const index = createHistoryIndex(log, codec, clock, emptyStore())
    let calls = 0
    const peer = wrapped(createPeer(() => token?.own()))
    const counted: Peer = {
      get: async (...asked) => await peer.get(...asked).finally(() => calls++),
      page: async (...asked) => await peer.page(...asked).finally(() => calls++),
      counts: async (...asked) => await peer.counts(...asked).finally(() => calls++),
    }
    const here = taskOf(graph)
    const owners = () => graph.owners()
    const { partitions } = this
    const views = createViews({ codec, clock, peer: counted, partitions, here, owners })
    const holdings = createHoldings(views)
    const parts = {
      query: createQuery(views, index),
      planner: createPlanner(views, codec, clock),
      cascades: createCascades(views, index, clock),
      dump: createGraphDump(views, codec, clock),
      holdings,
      here,
      views,
      access: createAccess({ views, authority: undefined, isReadingReviewed: false }),
      clock,
      log,
      codec,
    }
    const { url, server } = await serveEndpoint(
      {
        add: (routes) => addGraphRoutes(routes, parts),
        version: 'test',
        checks: () => [],
        scrape: async () => '',
      },
      { address: '127.0.0.1:0', token },
    )
    const ended = Promise.all([graph.run(url, stop.signal), index.run(stop.signal)])
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
      calls: () => calls,
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

  /** A process that dies tells nobody: only its session ends, later. */
  #placementOf(session: AbortSignal): Placement {
    const placement = this.#coordinator.placement()
    return {
      assignments: (url) => placement.assignments(url, session),
      owners: () => placement.owners(),
      [Symbol.asyncDispose]: async () => await placement[Symbol.asyncDispose](),
    }
  }

  /** Until every partition is folded to its end, notes between them included, and all are indexed. */
  async caughtUp(): Promise<void> {
    while (!(await this.#isCaughtUp())) await setImmediate()
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
    }
    for (const { index } of processes) if ((await index.lagEntries()) > 0n) return false
    return true
  }

  async stop(): Promise<void> {
    for (const process of [...this.#processes]) await process.stop()
  }
}
