/**
 * `GET /v1/horizon`: how far back each question about the past reaches, for each partition, and why.
 *
 * What must stay true: these are the bounds by which questions are refused, read where those read them. Where the index begins is said of the process that is asked: each
 * has its own.
 *
 * Not here: the refusal (horizon.ts).
 */

import type { FastifyInstance } from 'fastify'
import { policyOf } from '../../../core/graph/graph.ts'
import type { Horizon as HorizonDocument } from '../api/answer-schema.ts'
import type { AnswerOf, Row } from '../api/document.ts'
import { type AsOf, documentOf, timeOf } from '../api/document.ts'
import { labelOf } from '../api/word.ts'
import { begunAt } from '../query/answer/past.ts'
import type { HistoryIndex } from '../query/index/history-index.ts'
import { type Reach, reachOf } from '../query/index/log-reach.ts'
import type { Horizon as Moments } from '../query/index/moment.ts'
import { NEVER } from '../query/index/span-index.ts'
import { spanText } from '../query/plan/span-text.ts'
import { clusterRefs } from '../query/view/cluster-label.ts'
import type { KnownCluster } from '../query/view/clusters.ts'
import { horizonOf } from './horizon.ts'
import type { LogParts } from './log-page.ts'

/** What a question is answered from. */
export type Source = Bound['source']

export type Bound = Row<HorizonAnswer['bounds']>

export type PartitionBound = Row<Bound['partitions']>

export type HorizonAnswer = AnswerOf<HorizonDocument>

export function addHorizon(server: FastifyInstance, parts: LogParts): void {
  server.get('/v1/horizon', async () => {
    const { log, clusters } = parts
    const all = await clusters.all()
    const views = all.flatMap((each) => clusters.view(each) ?? [])
    const asOf = new Map<number, AsOf>()
    for (const view of views) asOf.set(view.partition.partition, view.asOf())
    const history = await reachOf(log, 'history')
    const bounds: readonly Bound[] = [
      boundOf('history', ['history -n', 'deletions'], history),
      indexBound(parts.index, history),
      momentBound(parts.index, all, begunAt(log, parts.index)),
      boundOf('events', ['audit verify'], await reachOf(log, 'events')),
      rememberBound(parts),
    ]
    const answer: HorizonAnswer = { bounds }
    const doubts = new Set(views.map((view) => view.partial()).filter((text) => text !== ''))
    const partial = [...doubts].join('; ')
    return documentOf('Horizon', { answer, partial, asOf: [...asOf.values()] })
  })
}

function boundOf(source: Source, questions: readonly string[], reach: readonly Reach[]): Bound {
  const partitions = reach.map((each) => {
    return { partition: each.partition, first: Number(each.first), ...horizonOf([each]) }
  })
  return { source, questions, ...horizonOf(reach), partitions }
}

/** What it has of an object, it has from its creation on, unless that was before it begins. */
function indexBound(index: HistoryIndex, history: readonly Reach[]): Bound {
  const partitions = history.map(({ partition }): PartitionBound => {
    const begin = index.begin(partition)
    if (begin === undefined) {
      return { partition, first: 0, earliest: null, because: 'nothing is indexed yet' }
    }
    const first = Number(begin.offset)
    if (begin.at === null) return { partition, first, earliest: null, because: WHOLE }
    return { partition, first, earliest: timeOf(begin.at), because: REBUILT }
  })
  const latest =
    partitions
      .map(({ earliest }) => earliest ?? '')
      .sort()
      .at(-1) ?? ''
  const earliest = latest === '' ? null : latest
  const because = earliest === null ? WHOLE : REBUILT
  return { source: 'index', questions: ['history KIND/NAME', 'why'], earliest, because, partitions }
}

const WHOLE = 'it has all that happened to an object since its creation'
const REBUILT =
  'the index was built from then on: what was older had been removed from the log; of an object that was created later it has all'

/** Of clusters in one partition by the one that reaches back least: a list at an earlier moment would lack its objects. */
function momentBound(index: HistoryIndex, all: readonly KnownCluster[], begun: number): Bound {
  const refOf = clusterRefs(all)
  const byPartition = [...Map.groupBy(all, ({ partition }) => partition)]
  const partitions = byPartition.map(([partition, own]) => {
    const horizons = own.flatMap(({ id }) => {
      const horizon = index.spans.horizon(id)
      return horizon === undefined ? [] : [{ ...horizon, name: labelOf(refOf(id)) }]
    })
    const bound = momentsOf(partition, horizons, index.isBegun())
    return begun <= bound.at
      ? bound
      : { ...bound, earliest: timeOf(begun), at: begun, because: REMOVED }
  })
  partitions.sort((a, b) => a.partition - b.partition)
  const least = partitions.reduce<PartitionMoments | undefined>((a, b) => {
    return a !== undefined && a.at >= b.at ? a : b
  }, undefined)
  const { earliest, because } = least ?? { earliest: null, because: 'no cluster was ever seen' }
  const bounds = partitions.map(({ at: _, ...bound }) => bound)
  return { source: 'moments', questions: MOMENTS, earliest, because, partitions: bounds }
}

interface PartitionMoments extends PartitionBound {
  /** In milliseconds: 0 where there is no bound, infinite where no moment can be asked. */
  readonly at: number
}

function momentsOf(
  partition: number,
  horizons: readonly (Moments & { readonly name: string })[],
  isBegun: boolean,
): PartitionMoments {
  const none = { partition, first: 0, earliest: null, at: Number.POSITIVE_INFINITY }
  if (!isBegun) return { ...none, because: 'the index is built anew: ask again later' }
  const [first, ...others] = horizons
  if (first === undefined) return { ...none, at: 0, because: SEEN }
  const { position, at, name } = others.reduce((a, b) => (b.position > a.position ? b : a), first)
  if (position === NEVER.position) {
    return {
      ...none,
      because: `history of cluster ${name} was recorded by a version that did not record owners`,
    }
  }
  const because = `an object of cluster ${name} that existed before was forgotten ("remember"), or what it was before was removed from the log`
  return { partition, first: position, earliest: timeOf(at), at, because }
}

const MOMENTS = ['get --at', 'tree --at', 'why --at', 'lineage export --at', 'diff'] as const
const REMOVED = 'history was removed from the log before this index was built'
const SEEN = 'nothing was forgotten: what there was before a cluster was watched is unknown'

function rememberBound({ clusters, clock }: LogParts): Bound {
  const bound = { source: 'remember', questions: NAMES, partitions: [] } as const
  const policy = clusters
    .readers()
    .map(policyOf)
    .find(({ position }) => position >= 0n)
  if (policy === undefined) {
    return { ...bound, earliest: null, because: 'this process has no partition yet: ask another' }
  }
  const { rememberMs } = policy.policy
  return {
    ...bound,
    earliest: timeOf(clock.now() - rememberMs),
    because: `an object that was deleted is forgotten after "remember" (${spanText(rememberMs)}), unless a reference names it`,
  }
}

const NAMES = ['names of deleted objects', 'get --gone', 'tree', 'why'] as const
