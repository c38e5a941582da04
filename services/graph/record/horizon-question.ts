/**
 * `GET /v1/horizon`: how far back each question about the past reaches, for each partition, and
 * why.
 *
 * What must stay true: these are the bounds by which questions are refused, read where those read
 * them. Where the index begins is said of the process that has the partition; how far moments reach
 * of the partitions of the process that is asked.
 *
 * Not here: the refusal (horizon.ts).
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { policyOf } from '../../../core/graph/graph.ts'
import { timeText } from '../../../core/model/text.ts'
import type { Log } from '../../../ports/log.ts'
import type { Horizon as HorizonDocument } from '../api/answer-schema.ts'
import type { AnswerOf, Row } from '../api/document.ts'
import { type AsOf, documentOf, timeOf } from '../api/document.ts'
import { spanText } from '../api/word.ts'
import { reachOf as formerReachOf } from '../fold/former/former-rows.ts'
import type { ActorIndex } from '../query/index/actor-index.ts'
import type { HistoryIndex } from '../query/index/history-index.ts'
import { type Reach, reachOf } from '../query/index/log-reach.ts'
import type { KnownCluster } from '../query/view/clusters.ts'
import { readJson } from '../query/view/forward-call.ts'
import type { View } from '../query/view/view.ts'
import { horizonOf } from './horizon.ts'
import type { LogParts } from './log-page.ts'

/** What a question is answered from. */
export type Source = Bound['source']

export type Bound = Row<HorizonAnswer['bounds']>

export type PartitionBound = Row<Bound['partitions']>

export type HorizonAnswer = AnswerOf<HorizonDocument>

export interface HorizonParts extends LogParts {
  readonly actors: Pick<ActorIndex, 'keptSince' | 'newest'> | undefined
}

/** Clusters that are named. */
const MOST_NAMED = 5

export function addHorizon(server: FastifyInstance, parts: HorizonParts): void {
  server.get('/v1/horizon', async (request, reply) => {
    const { log, clusters, forwarding } = parts
    const mine = await forwarding.ownOf(request, reply)
    if (mine !== undefined) return beginsOf(parts.index, mine)
    const all = await clusters.all()
    const views = all.flatMap((each) => clusters.view(each) ?? [])
    const asOf = new Map<number, AsOf>()
    for (const view of views) asOf.set(view.partition.partition, view.asOf())
    const history = await reachOf(log, 'history')
    const begun = await begunOf(parts, request, reply, all)
    const bounds: readonly Bound[] = [
      boundOf('history', ['history -n', 'deletions'], history),
      indexBound(begun.begins, history),
      await momentBound(parts, views),
      actorBound(parts, all),
      boundOf('events', ['audit verify'], await reachOf(log, 'events')),
      rememberBound(parts),
    ]
    const answer: HorizonAnswer = { bounds }
    const doubts = new Set([...views.map((view) => view.partial()), begun.partial])
    const partial = [...doubts].filter((text) => text !== '').join('; ')
    return documentOf('Horizon', { answer, partial, asOf: [...asOf.values()] })
  })
}

function boundOf(source: Source, questions: readonly string[], reach: readonly Reach[]): Bound {
  const partitions = reach.map((each) => {
    return { partition: each.partition, first: Number(each.first), ...horizonOf([each]) }
  })
  return { source, questions, ...horizonOf(reach), partitions }
}

/** Where histories of a partition begin: as the process says that has it. */
interface Begin {
  readonly partition: number
  readonly first: number
  /** Null: all is there. */
  readonly at: number | null
}

function beginsOf(index: HistoryIndex, views: readonly View[]): readonly Begin[] {
  const partitions = new Set(views.map(({ partition }) => partition.partition))
  return [...partitions].flatMap((partition) => {
    const begin = index.begin(partition)
    return begin === undefined ? [] : { partition, first: Number(begin.offset), at: begin.at }
  })
}

async function begunOf(
  { forwarding, index }: HorizonParts,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: readonly KnownCluster[],
): Promise<{ readonly begins: readonly Begin[]; readonly partial: string }> {
  const { all, partial } = await forwarding.gathered(request, reply, {
    asked,
    own: async (views) => beginsOf(index, views),
    read: async (answer) => (await readJson(answer)) as readonly Begin[],
  })
  return { begins: all.flatMap(({ answer }) => answer), partial }
}

/** What it has of an object, it has from its creation on, unless that was before it begins. */
function indexBound(begins: readonly Begin[], history: readonly Reach[]): Bound {
  const byPartition = new Map(begins.map((each) => [each.partition, each]))
  const partitions = history.map(({ partition }): PartitionBound => {
    const begin = byPartition.get(partition)
    if (begin === undefined) {
      return { partition, first: 0, earliest: null, because: 'nothing is indexed yet' }
    }
    const { first } = begin
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

/** Of each partition that this process has. */
async function momentBound(parts: LogParts, views: readonly View[]): Promise<Bound> {
  const byPartition = new Map(views.map((view) => [view.partition.partition, view]))
  const partitions: PartitionBound[] = []
  for (const [partition, view] of [...byPartition].sort(([a], [b]) => a - b)) {
    const reach = formerReachOf(view.now, view.codec)
    const first = reach?.begin ?? 0
    const at = await timeAt(parts.log, partition, first)
    const because = reach === undefined ? NONE : first === 0 ? BEGINS : FORGOTTEN
    partitions.push({ partition, first, earliest: timeOf(at), because })
  }
  const least = partitions.reduce<PartitionBound | undefined>((a, b) => {
    return a !== undefined && (a.earliest ?? '') >= (b.earliest ?? '') ? a : b
  }, undefined)
  const { earliest, because } = least ?? { earliest: null, because: 'no cluster was ever seen' }
  return { source: 'moments', questions: MOMENTS, earliest, because, partitions }
}

/** Append time of an event; null where it is not there yet, or not any more. */
async function timeAt(log: Log, partition: number, position: number): Promise<number | null> {
  const { start } = await log.bounds('events', partition)
  const from = start > BigInt(position) ? start : BigInt(position)
  const { entries } = await log.read('events', partition, from, { limit: 1, waitMs: 0 })
  return entries[0]?.timestamp ?? null
}

const MOMENTS = ['get --at', 'tree --at', 'why --at', 'lineage export --at', 'diff'] as const
const NONE = 'what there was before a change is not remembered yet'
const BEGINS = 'the record begins then: what there was before a cluster was watched is unknown'
const FORGOTTEN =
  'what there was before is forgotten with its events ("keep" and "keepEvents"), or this store was built anew then'

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

/**
 * Where an audit log ends names are missing, and nothing else says so: the longest silent first.
 */
function actorBound({ actors }: HorizonParts, all: readonly KnownCluster[]): Bound {
  const bound = { source: 'actors', questions: ['who'], partitions: [] } as const
  const heard = all
    .flatMap(({ id, name }) => ({ name, at: actors?.newest(id) ?? 0 }))
    .filter(({ at }) => at > 0)
    .toSorted((a, b) => a.at - b.at)
  if (heard.length === 0) return { ...bound, earliest: null, because: 'no audit log has come' }
  const named = heard.slice(0, MOST_NAMED).map(({ name, at }) => `${name} ${timeText(at)}`)
  const more = heard.length > named.length ? ` and ${heard.length - named.length} more` : ''
  const since = actors?.keptSince() ?? 0
  return {
    ...bound,
    earliest: since === 0 ? null : timeOf(since),
    because: `the newest request of each cluster's audit log: ${named.join(', ')}${more}`,
  }
}

const NAMES = ['names of deleted objects', 'get --gone', 'tree', 'why'] as const
