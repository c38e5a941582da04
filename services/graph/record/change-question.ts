/**
 * `GET /v1/changes`: what happened to one object, or to all of a namespace or of clusters, the
 * oldest first, a page at a time.
 *
 * What must stay true: of an object the index has all that happened since it was created, or says
 * since when it has it; of more than one the log is read. Who may not see the whole graph asks
 * about one namespace of one cluster, or about an object that they may get.
 *
 * Not here: the same as an endless stream (record-stream.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { identityOf } from '../../../core/graph/identity.ts'
import type { History } from '../../../core/model/record.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { ChangeList } from '../api/answer-schema.ts'
import type { AnswerOf } from '../api/document.ts'
import { type ClusterRef, clusterRefs, documentOf, timeOf } from '../api/document.ts'
import { behindText, type Query, verdictsFirst } from '../query/answer/query.ts'
import { restoredOf, withOrigin } from '../query/answer/restored.ts'
import { askedOf, type Choosing, chooseNow, clusterOf, selector } from '../query/ask/choice.ts'
import { choosingOf, sentTo } from '../query/ask/question.ts'
import type { ActorIndex } from '../query/index/actor-index.ts'
import { cursorIn, cursorText, strange } from '../query/index/cursor.ts'
import type { Named } from '../query/index/history-index.ts'
import { markOf } from '../query/view/forward-call.ts'
import type { View } from '../query/view/view.ts'
import { positionText } from '../stream-position.ts'
import { inOwnOrder } from './change-scan.ts'
import { type Horizon, reached } from './horizon.ts'
import { type LogParts, onePage } from './log-page.ts'
import { type AskedSpan, spanOf } from './span.ts'

export interface ChangeParts extends LogParts {
  readonly query: Query
  readonly actors: ActorIndex | undefined
}

/** Entries of an object that one request reads at most. */
const MOST_READ = 5_000
const AT_ONCE = 500

type Words = Readonly<Record<string, string | undefined>>

export interface ListedChange extends Omit<History, 'cluster'> {
  readonly cluster: ClusterRef
}

export interface ChangePage extends Omit<AnswerOf<ChangeList>, 'changes'> {
  readonly changes: readonly ListedChange[]
}

const ROUTE = '/v1/changes'

export function addChanges(server: FastifyInstance, parts: ChangeParts): void {
  server.get(ROUTE, async (request, reply) => {
    const words = askedOf(request)
    const span = spanOf(words)
    const mark = markOf(request)
    // Another process asks how far this one has folded: in the words of a question about one
    // object, too.
    const isGathered = mark?.partitions !== undefined
    const isOfOne = words['uid'] !== undefined || words['name'] !== undefined
    return isOfOne && !isGathered
      ? await ofOne(parts, request, reply, words, span)
      : await ofMany(parts, request, reply, words, span)
  })
}

async function ofMany(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  words: Words,
  span: AskedSpan,
): Promise<unknown> {
  return await onePage(parts, request, reply, { words, span }, async (page) => {
    const changes: ListedChange[] = []
    while (changes.length < span.limit) {
      const change = await page.scan.next()
      if (change === undefined) break
      changes.push({ ...change.record, cluster: page.refOf(change.record.cluster) })
    }
    const { since, horizon, resume, asOf, partial } = page
    const rest = { object: null, since, until: span.until, horizon, hidden: 0, resume } as const
    const listed = { continue: page.next(), changes: verdictsFirst(inOwnOrder(changes)) }
    const answer: ChangePage = { ...rest, ...listed }
    return documentOf('ChangeList', { answer, partial, asOf })
  })
}

async function ofOne(
  parts: ChangeParts,
  request: FastifyRequest,
  reply: FastifyReply,
  words: Words,
  span: AskedSpan,
): Promise<unknown> {
  const { access, forwarding, clusters } = parts
  const asked = selector(words)
  let isShown = false
  try {
    const choosing = choosingOf(parts, request, reply)
    const cluster = sentTo(request) ?? (await clusterOf(choosing, asked))
    return await forwarding.answered(request, reply, cluster, async (view) => {
      const asOf = [view.asOf()]
      const meant = await objectOf(parts, choosing, words, view)
      await access.object(request, meant.object)
      isShown = true
      const ref = clusterRefs(await clusters.all())(view.cluster)
      const page = await pageOfOne(parts, words, span, { view, ...meant, ref })
      const doubts = [page.partial, cluster.doubt].filter((text) => text !== '')
      return documentOf('ChangeList', { ...page, partial: doubts.join('; '), asOf })
    })
  } catch (error) {
    // Who may not see the graph learns nothing of what is there, or not.
    if (!isShown) await access.graph(request)
    const isUnknown = error instanceof Problem && error.status === 404 && !isShown
    // Of one that was forgotten the log may have something all the same; what has no name has to be
    // read for.
    if (isUnknown && words['uid'] !== undefined) {
      return await ofMany(parts, request, reply, words, span)
    }
    throw error
  }
}

/** A name may mean another object by the next page: that one continues with the same. */
async function objectOf(
  { index }: ChangeParts,
  choosing: Choosing,
  words: Words,
  view: View,
): Promise<Pick<One, 'object' | 'from' | 'partial'>> {
  const cursor = cursorIn(words['continue'], { route: ROUTE, words })
  if (cursor === undefined) {
    const { object, partial } = await chooseNow(choosing, selector(words), view)
    return { object, from: undefined, partial }
  }
  const [uid, from] = cursor
  if (typeof uid !== 'string' || !/^\d{1,18}$/.test(String(from))) throw strange()
  const object = index.namesOf(view.cluster).lastOf(view.cluster, uid)
  if (object !== undefined) return { object, from: BigInt(String(from)), partial: '' }
  throw new Problem(410, 'the object was forgotten meanwhile ("remember")')
}

interface One {
  readonly view: View
  readonly object: Named
  /** Undefined: the first page. */
  readonly from: bigint | undefined
  /** Why another object may be meant. */
  readonly partial: string
  readonly ref: ClusterRef
}

async function pageOfOne(
  { log, index }: ChangeParts,
  words: Words,
  span: AskedSpan,
  { view, object, from, partial: unread, ref }: One,
): Promise<{ readonly answer: ChangePage; readonly partial: string }> {
  const { cluster, uid, group, kind, namespace, name } = object
  const of = identityOf(cluster, object)
  const ends = new Map<number, bigint>()
  for (let each = 0; each < log.partitions('history'); each++) {
    ends.set(each, (await log.bounds('history', each)).end)
  }
  const behind = from === undefined ? behindText(await index.caughtUp()) : ''
  const { partition } = view.partition
  // A client that continues with the stream gets the records that are not indexed yet from there.
  const end = index.position(partition)
  ends.set(partition, end)
  const horizon = await horizonOfOne(index, object, partition)
  const earliest = horizon.earliest === null ? null : Date.parse(horizon.earliest)
  const isWhole = from !== undefined || horizon.isWhole
  const { since, partial: missing } = isWhole
    ? { since: span.since ?? earliest, partial: '' }
    : reached(horizon, span)
  const isAsked = filterOf(words, span)
  const restored = restoredOf(view.node(uid))
  const changes: ListedChange[] = []
  let next = from ?? 0n
  let isOver = false
  for (let read = 0; !isOver && read < MOST_READ && changes.length < span.limit; ) {
    const page = await index.entries(of, next, AT_ONCE)
    isOver = page.length < AT_ONCE
    for (const [offset, entry] of page) {
      await view.turns.take()
      if (changes.length >= span.limit) {
        isOver = false
        break
      }
      if (offset >= end) {
        isOver = true
        break
      }
      read += 1
      next = offset + 1n
      if (isAsked(entry)) changes.push({ ...withOrigin(entry, restored), cluster: ref })
    }
  }
  const { isWhole: _, ...told } = horizon
  const more = isOver ? null : cursorText({ route: ROUTE, words }, [uid, next.toString()])
  const resume = from === undefined ? positionText(ends) : null
  const rest = {
    since,
    until: span.until,
    horizon: told,
    hidden: 0,
    continue: more,
    resume,
  } as const
  const asked = { cluster: ref, group, kind, namespace, name, uid }
  const partial = [view.partial(), behind, unread, missing].filter((text) => text !== '').join('; ')
  return { answer: { object: asked, ...rest, changes: verdictsFirst(changes) }, partial }
}

function filterOf({ change }: Words, { since, until }: AskedSpan): (entry: History) => boolean {
  const changes = change === undefined ? undefined : new Set(change.split(','))
  return (entry) => {
    if (entry.at < (since ?? 0) || entry.at >= (until ?? Number.POSITIVE_INFINITY)) return false
    return changes === undefined || changes.has(entry.change)
  }
}

/** Of one whose first record is there nothing is missing, however far back it is asked for. */
async function horizonOfOne(
  index: ChangeParts['index'],
  object: Named,
  partition: number,
): Promise<Horizon & { readonly isWhole: boolean }> {
  const [first] = await index.entries(identityOf(object.cluster, object), 0n, 1)
  const begin = index.begin(partition)
  if (first?.[1].change === 'created' || begin?.at === null) {
    const earliest = timeOf(first?.[1].at ?? null)
    return { earliest, because: 'that is its first record', isWhole: true }
  }
  const because =
    'the index of histories was built from then on: what was older had been removed from the log'
  return { earliest: timeOf(begin?.at ?? null), because, isWhole: false }
}
