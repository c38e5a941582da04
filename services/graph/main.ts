/**
 * Puts the graph service together: stores in directories, the tasks that the placement gives, the
 * index, and what answers questions.
 *
 * Not here: what it runs beside (cli/serve/up.ts), which log and placement it has (the caller's).
 */
import { join } from 'node:path'
import { openLevelStore } from '../../adapters/level/store.ts'
import { placeAll } from '../../adapters/memory/placement.ts'
import { factsOf } from '../../core/graph/facts.ts'
import { policyOf } from '../../core/graph/graph.ts'
import type { ClusterId } from '../../core/model/object.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Log } from '../../ports/log.ts'
import type { Placement } from '../../ports/placement.ts'
import type { Codec } from '../../ports/record/codec.ts'
import type { Store } from '../../ports/store.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { Cuts } from '../../runtime/shares/cuts.ts'
import { Shadow } from './audit/shadow.ts'
import type { Census } from './census.ts'
import { createCensus } from './census.ts'
import type { RetentionConfig } from './fold/retention.ts'
import type { TaskObserver } from './fold/task.ts'
import { Graph, type GraphParts, publishAhead } from './graph.ts'
import { ActorIndex } from './query/index/actor-index.ts'
import { HistoryIndex } from './query/index/history-index.ts'
import type { Questions, QuestionsOptions } from './questions.ts'
import { createQuestions } from './questions.ts'

export interface GraphMainOptions {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly directory: string
  /**
   * Stores of another log are not taken for its own; what one directory has had, if there was but
   * one log.
   */
  readonly logIdentity?: string | undefined
  readonly placement?: Placement
  /** Undefined: every client that is let in may ask anything. */
  readonly access?: QuestionsOptions['access']
  /** The one asked for, and by whom. */
  readonly policy?: GraphParts['policy']
  readonly retention: RetentionConfig
  /** How often its tasks commit, as fits the log. */
  readonly pace?: GraphParts['pace']
  readonly logger: Logger
  readonly cuts: Cuts
  readonly observe?: TaskObserver
}

export interface GraphMain extends AsyncDisposable, Questions {
  readonly graph: Graph
  readonly census: Census
  readonly index: HistoryIndex
  readonly actors: ActorIndex
  readonly shadow: Shadow
  /** As far as this process' own partitions know it; else the id. */
  clusterName(cluster: ClusterId): string
}

/** Its values lie in rows (fold/former/row.ts): a store of values alone is built anew. */
export function whatStore(partition: number): string {
  return `rows of partition ${partition}`
}

/** Whose state a store is: another number of partitions, or another log, is another state. */
export function storeIdentity(what: string, partitions: number, logIdentity = ''): string {
  return `${what} of ${partitions} ${logIdentity}`.trimEnd()
}

export async function openGraph(options: GraphMainOptions): Promise<GraphMain> {
  const { log, codec, clock, directory, logIdentity, policy, retention, logger, observe } = options
  const open = async (name: string, what: string = name): Promise<Store> =>
    await openLevelStore({
      directory: join(directory, name),
      identity: storeIdentity(what, log.partitions('events'), logIdentity),
      rebuild: true,
      onRebuild: (error) =>
        logger.log('warn', 'a store is rebuilt from the log', {
          store: name,
          reason: error.message,
        }),
    })
  if (policy !== undefined) await publishAhead({ log, codec }, policy)
  const index = new HistoryIndex(log, codec, clock)
  const graph = new Graph({
    log,
    codec,
    clock,
    retention,
    policy,
    pace: options.pace,
    placement: options.placement ?? placeAll(log.partitions('events')),
    openStore: async (partition) => await open(`store-${partition}`, whatStore(partition)),
    openIndex: async (partition) => {
      const what = `histories of partition ${partition}`
      return index.open(partition, await open(`histories-${partition}`, what))
    },
    policyChanged: (partition, former, policy) =>
      logger.log('warn', 'a partition had another policy', {
        partition,
        former: `${former.mode} ${former.preset}`,
        policy: `${policy.mode} ${policy.preset}`,
        hint: 'where several graph processes run, start each with the same: a process judges its partitions by its own policy',
      }),
    observe: {
      faults: (faults) =>
        logger.log('error', 'the state contradicts itself', {
          faults,
          hint: 'docs/operate/alerts.md#kinfoldstatefault says what to do',
        }),
      takenOver: (why) => logger.log('warn', 'a task is taken over again', { reason: why }),
      ...observe,
    },
  })
  const actorStore = await open('actors', 'actors by user')
  const actors = new ActorIndex({
    ...{ log, codec, clock, store: actorStore },
    keepMs: retention.keepMs,
  })
  const { access, cuts } = options
  const parts = { log, codec, clock, graph, index, actors, access, cuts, marks: policy?.marks }
  const questions = createQuestions(parts)
  const { clusters } = questions
  const shadowStore = await open('shadow')
  const shadow = shadowOver(shadowStore, { log, codec, clock, clusters })
  return {
    ...questions,
    graph,
    census: createCensus(graph, codec),
    index,
    actors,
    shadow,
    clusterName(cluster) {
      for (const reader of clusters.readers()) {
        const { state } = factsOf(reader, cluster)
        if (state !== undefined) return state.name
      }
      return cluster
    },
    [Symbol.asyncDispose]: async () => {
      await shadowStore[Symbol.asyncDispose]()
      await actorStore[Symbol.asyncDispose]()
    },
  }
}

function shadowOver(
  store: Store,
  parts: Pick<Questions, 'log' | 'codec' | 'clock' | 'clusters'>,
): Shadow {
  const { clusters } = parts
  return new Shadow({
    ...parts,
    store,
    mode: () => {
      const known = clusters.readers().map(policyOf)
      return known.find(({ position }) => position >= 0n)?.policy.mode
    },
    now: (cluster) => {
      const times = clusters
        .readers()
        .flatMap((reader) => factsOf(reader, cluster).state?.now ?? [])
      return times.length === 0 ? undefined : Math.max(...times)
    },
  })
}
