/**
 * One page of what the log's `history` holds, for users who may see it: the common part of
 * questions about namespaces and clusters, and about deletions.
 *
 * What must stay true: the first page fixes where each partition ends, so reading page by page
 * ends; a question that reaches further back than all partitions are whole is refused. Any process
 * answers; a user who may not see the whole graph is answered by the process that has the cluster,
 * since only that process knows what may be listed.
 *
 * Not here: what is read of a page (change-scan.ts), what becomes of it (change-question.ts,
 * deletion-question.ts).
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Log, LogError } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { AsOf, ClusterRef } from '../api/document.ts'
import { clusterRefs } from '../api/document.ts'
import { firstSince } from '../fold/retention.ts'
import type { Access } from '../query/ask/access.ts'
import { recordFilter } from '../query/ask/record-filter.ts'
import { cursorIn, cursorText, type PagedQuestion, strange } from '../query/index/cursor.ts'
import type { HistoryIndex } from '../query/index/history-index.ts'
import { reachOf } from '../query/index/log-reach.ts'
import type { Clusters, KnownCluster } from '../query/view/clusters.ts'
import type { Forwarding } from '../query/view/forward.ts'
import { readJson } from '../query/view/forward-call.ts'
import type { View } from '../query/view/view.ts'
import { positionsFrom, positionText } from '../stream-position.ts'
import { Turns } from '../turns.ts'
import { ChangeScan, type Place, SKEW_MS } from './change-scan.ts'
import { type Horizon, horizonOf, reached, trimmedMeanwhile } from './horizon.ts'
import type { AskedSpan } from './span.ts'

export interface LogParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly clusters: Clusters
  readonly access: Access
  readonly forwarding: Forwarding
  readonly index: HistoryIndex
}

type Words = Readonly<Record<string, string | undefined>>

export interface PageAsked {
  readonly words: Words
  readonly span: AskedSpan
  /** Where no word of the question says it. */
  readonly change?: 'gone'
}

/** How fresh an answer is, and why it may be incomplete. */
interface Fresh {
  readonly asOf: readonly AsOf[]
  readonly partial: string
}

export interface LogPage extends Fresh {
  readonly scan: ChangeScan
  readonly turns: Turns
  /** In milliseconds: where the first page begins. Null: nothing is recorded yet. */
  readonly since: number | null
  /** Null except on the first one: to read it takes requests to each partition. */
  readonly horizon: Horizon | null
  /** Positions of the stream `/v1/history` after all pages; null except on the first one. */
  readonly resume: string | null
  refOf(cluster: ClusterId): ClusterRef
  /** `continue`, once no more is taken from the scan. */
  next(): string | null
}

export async function onePage<T>(
  parts: LogParts,
  request: FastifyRequest,
  reply: FastifyReply,
  { words, span, change }: PageAsked,
  work: (page: LogPage) => Promise<T>,
): Promise<unknown> {
  const { access, forwarding, clusters } = parts
  const mine = await forwarding.ownOf(request, reply)
  if (mine !== undefined) {
    await access.graph(request)
    return ownFresh(mine)
  }
  const filter = await recordFilter(parts, request, change ?? words['change'])
  const all = await clusters.all()
  const asked = filter.clusters ?? all
  const question = { route: change === undefined ? '/v1/changes' : '/v1/deletions', words }
  const page = async (fresh: () => Promise<Fresh>): Promise<T> => {
    const begun = await beginOf(parts, question, span)
    const told = begun.isFirst ? await fresh() : { asOf: [], partial: '' }
    const turns = new Turns(parts.clock)
    const sources = new Set(asked.map(({ partition }) => partition))
    const within = { since: span.since ?? 0, until: span.until ?? Number.POSITIVE_INFINITY }
    const scan = new ChangeScan({ ...parts, turns, filter, sources, span: within }, begun.places)
    const next = (): string | null => {
      const left = scan.places()
      return left.length === 0 ? null : cursorText(question, [begun.since ?? -1, ...flat(left)])
    }
    const { since, horizon, resume } = begun
    const partial = [told.partial, begun.partial, filter.partial]
      .filter((text) => text !== '')
      .join('; ')
    const rest = { since, horizon, resume, asOf: told.asOf, partial, refOf: clusterRefs(all) }
    return await work({ scan, turns, ...rest, next })
  }
  const answer = async (fresh: () => Promise<Fresh>): Promise<T> =>
    await notTrimmed(async () => await page(fresh))
  if (filter.only === null) {
    return await answer(async () => await freshOf(parts, request, reply, asked))
  }
  return await forwarding.answered(request, reply, filter.only, async (view) => {
    await access.namespace(request, view, filter.namespace)
    return await answer(async () => ownFresh([view]))
  })
}

/** Of the processes that have the clusters: what they have not folded yet is not in the answer. */
async function freshOf(
  { forwarding }: LogParts,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: readonly KnownCluster[],
): Promise<Fresh> {
  const { all, partial } = await forwarding.gathered(request, reply, {
    asked,
    own: async (views) => ownFresh(views),
    read: async (answer) => (await readJson(answer)) as Fresh,
  })
  const doubts = new Set([partial, ...all.map(({ answer }) => answer.partial)])
  const byPartition = new Map(
    all.flatMap(({ answer }) => answer.asOf).map((each) => [each.partition, each]),
  )
  return {
    asOf: [...byPartition.values()].sort((a, b) => a.partition - b.partition),
    partial: [...doubts].filter((text) => text !== '').join('; '),
  }
}

function ownFresh(views: readonly View[]): Fresh {
  const doubts = new Set(views.map((view) => view.partial()).filter((text) => text !== ''))
  return { asOf: views.map((view) => view.asOf()), partial: [...doubts].join('; ') }
}

interface Begun {
  readonly isFirst: boolean
  readonly places: readonly Place[]
  readonly since: number | null
  readonly horizon: Horizon | null
  /** What of the span is not known. */
  readonly partial: string
  readonly resume: string | null
}

async function beginOf(
  { log }: LogParts,
  question: PagedQuestion,
  span: AskedSpan,
): Promise<Begun> {
  const cursor = cursorIn(question.words['continue'], question)
  const { from } = question.words
  if (cursor !== undefined) {
    const [since, ...places] = cursor
    if (typeof since !== 'number') throw strange()
    const read = placesIn(places, log.partitions('history'))
    const begun = since < 0 ? null : since
    return { isFirst: false, places: read, since: begun, horizon: null, partial: '', resume: null }
  }
  if (from !== undefined) return await resumedAt(log, from)
  const partitions = Array.from({ length: log.partitions('history') }, (_, each) => each)
  const places = await Promise.all(
    partitions.map(async (partition) => await firstPlace(log, partition, span.since)),
  )
  // After the places: of what is removed from now on reading says so.
  const reach = await reachOf(log, 'history')
  const horizon = horizonOf(reach)
  const { since, partial } = reached(horizon, span)
  const ends = new Map(places.map(({ partition, end }) => [partition, end]))
  return { isFirst: true, places, since, horizon, partial, resume: positionText(ends) }
}

/**
 * From the positions after a list that was read: nothing after them was removed, or `from` is
 * refused with 410.
 */
async function resumedAt(log: Log, from: string): Promise<Begun> {
  const places: Place[] = []
  for (const [partition, next] of await positionsFrom(log, 'history', from)) {
    const { end } = await log.bounds('history', partition)
    places.push({ partition, next, end })
  }
  const resume = positionText(new Map(places.map(({ partition, end }) => [partition, end])))
  return { isFirst: true, places, since: null, horizon: null, partial: '', resume }
}

async function firstPlace(log: Log, partition: number, since: number | null): Promise<Place> {
  const { start, end } = await log.bounds('history', partition)
  const isAll = since === null
  const next = isAll ? start : await firstSince(log, 'history', partition, since - SKEW_MS)
  return { partition, next: next < end ? next : end, end }
}

async function notTrimmed<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const isTrimmed = error instanceof LogError && error.code === 'OUT_OF_RANGE'
    throw isTrimmed ? trimmedMeanwhile() : error
  }
}

function flat(places: readonly Place[]): string[] {
  return places.map(({ partition, next, end }) => `${partition}-${next}-${end}`)
}

function placesIn(texts: readonly unknown[], partitions: number): readonly Place[] {
  return texts.map((text) => {
    const [, partition = '', next = '', end = ''] =
      /^(\d{1,9})-(\d{1,18})-(\d{1,18})$/.exec(String(text)) ?? []
    const isPlace = end !== '' && Number(partition) < partitions && BigInt(next) <= BigInt(end)
    if (!isPlace) throw strange()
    return { partition: Number(partition), next: BigInt(next), end: BigInt(end) }
  })
}
