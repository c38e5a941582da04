/**
 * `GET /v1/objects`: the objects of all clusters or of one, a page at a time.
 *
 * What must stay true: a page is about one cluster, answered by the process that has it; `continue`
 * leads through all clusters, in the order of their ids. It holds a uid at most, and no name but
 * one that was asked for. A cluster that cannot be asked is passed over, and `partial` says so;
 * where only that one is asked for, it is refused.
 *
 * A moment of the past is the same in all clusters where it is a time; one by position is of one
 * partition, and clusters of others are left out.
 *
 * Not here: what is on a page (object-list.ts), who may ask: only who may see the whole graph
 * (http.ts), since a cursor and its pages are about all objects.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ClusterId } from '../../../../core/model/object.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { ObjectList as ObjectListDocument } from '../../api/answer-schema.ts'
import type { AnswerOf } from '../../api/document.ts'
import { type AsOf, type ClusterRef, documentOf } from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { labelOf } from '../../api/word.ts'
import type { ListAsked, ObjectList } from '../answer/object-list.ts'
import type { Answer } from '../answer/query.ts'
import { cursorIn, cursorText, type PagedQuestion, strange } from '../index/cursor.ts'
import { type Asked, momentIn } from '../index/moment.ts'
import type { Clusters, KnownCluster } from '../view/clusters.ts'
import type { Forwarding } from '../view/forward.ts'
import { markOf } from '../view/forward-call.ts'
import { type OpenView, readThen } from '../view/open-view.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { namedClusters, refuseUnknownKind } from './not-found.ts'

const LISTED = 500
const LISTED_MOST = 2_000

export interface ListParts {
  readonly clusters: Clusters
  readonly forwarding: Forwarding
  readonly objectList: ObjectList
  readonly open: OpenView
}

/** One page. */
export type ListAnswer = AnswerOf<ObjectListDocument>

/** Where the next page begins. */
interface Cursor {
  readonly cluster: ClusterId
  /** Empty: with the first of the cluster. */
  readonly after: string
}

/**
 * It cannot be asked, or not about that moment: the answer about the others does not wait for one
 * cluster that is silent, or of which something was forgotten.
 */
const PASSED_OVER: ReadonlySet<number> = new Set([503, 410, 425])

const START: Cursor = { cluster: '', after: '' }

export function addObjectList(server: FastifyInstance, parts: ListParts): void {
  const { clusters, objectList } = parts
  server.get('/v1/objects', async (request, reply) => {
    const words = askedOf(request)
    const asked = listAsked(words)
    const named = namedClusters(await clusters.all(words['cluster']), words['cluster'])
    const listed = await pageIn(parts, request, reply, {
      ...{ question: { route: '/v1/objects', words }, named, at: asked.at },
      empty: (next): ListAnswer => ({ objects: [], count: 0, continue: next, kinds: [] }),
      page: async (view, ref, after) => {
        const { answer, partial } = await objectList.page(view, ref, asked, after)
        const { next, ...page } = answer
        const isKnown = asked.kind === '' || page.kinds.length > 0 || page.count > 0
        if (!isKnown) await refuseUnknownKind(clusters, asked.kind, named)
        return { answer: (rest): ListAnswer => ({ ...page, continue: rest }), next, partial }
      },
    })
    return 'answer' in listed ? documentOf('ObjectList', listed) : listed
  })
}

interface Paged<P> {
  readonly question: PagedQuestion
  readonly named: ReturnType<typeof namedClusters>
  readonly at: Asked | undefined
  /** What is answered where a cluster is passed over, or none is left. */
  readonly empty: (next: string | null) => P
  /** `next`: the key with which another page of the cluster begins. */
  readonly page: (
    view: View,
    cluster: ClusterRef,
    after: string,
  ) => Promise<{
    readonly answer: (next: string | null) => P
    readonly next: string | null
    readonly partial: string
  }>
}

/** A page of the cluster that `continue` names, or of the first. */
export async function pageIn<P>(
  { forwarding, open }: Pick<ListParts, 'forwarding' | 'open'>,
  request: FastifyRequest,
  reply: FastifyReply,
  { question, named, at, empty, page }: Paged<P>,
): Promise<(Answer<P> & { readonly asOf: readonly AsOf[] }) | FastifyReply> {
  const meant = meantIn(named, at)
  const turn = turnOf(request, question, meant)
  if (turn === undefined) return { answer: empty(null), partial: '', asOf: [] }
  const { cluster, after, next } = turn
  try {
    return await forwarding.answered(request, reply, cluster.id, async (here) => {
      const { name, id, scope } = cluster
      const view = await open(here, at)
      const asOf = [view.asOf()]
      const listed = await readThen(view, () => page(view, { name, id, scope }, after))
      const { answer, partial, next: key } = listed
      if (view.moment !== null && partial === '') markImmutable(reply)
      return {
        answer: answer(key === null ? next : cursorText(question, [id, key])),
        partial,
        asOf,
      }
    })
  } catch (error) {
    const isAway = error instanceof Problem && PASSED_OVER.has(error.status)
    if (!isAway || meant.length === 1) throw error
    return { answer: empty(next), partial: error.message, asOf: [] }
  }
}

/** The cluster that a page is about. */
interface Turn {
  readonly cluster: KnownCluster & ClusterRef
  /** Empty: with the first of the cluster. */
  readonly after: string
  /** `continue` behind all of the cluster; null where it is the last. */
  readonly next: string | null
}

/** By `continue`, in the order of the clusters' ids; undefined where none is left. */
function turnOf(
  request: FastifyRequest,
  question: PagedQuestion,
  meant: Paged<unknown>['named'],
): Turn | undefined {
  const cursor = cursorOf(question)
  const first = markOf(request)?.cluster ?? cursor.cluster
  const left = meant.filter(({ id }) => id >= first)
  const [cluster, following] = left.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  if (cluster === undefined) return undefined
  const next = following === undefined ? null : cursorText(question, [following.id, ''])
  return { cluster, after: cluster.id === cursor.cluster ? cursor.after : '', next }
}

/** A position is of one partition. */
export function meantIn<T extends KnownCluster & ClusterRef>(
  named: readonly T[],
  at: Asked | undefined,
): readonly T[] {
  if (at?.type !== 'position') return named
  const { partition, position } = at
  const own = named.filter((each) => each.partition === partition)
  if (own.length > 0) return own
  const where = named.map((each) => `${labelOf(each)} in partition ${each.partition}`).join(', ')
  throw new Problem(
    400,
    `pos:${partition}-${position} is of partition ${partition}, which none of these clusters is in: ${where || 'none'}`,
  )
}

function listAsked(words: Record<string, string | undefined>): ListAsked {
  const { kind = '', name, namespace, limit = `${LISTED}` } = words
  if (name !== undefined && (kind === '' || namespace === undefined)) {
    throw new Problem(400, 'a name takes a kind and a namespace; without a name all are listed')
  }
  return {
    ...{ kind, name, namespace },
    isGone: words['gone'] === 'true',
    isCounted: words['count'] === 'true',
    hasReferences: words['references'] === 'true',
    limit: Math.min(Number(limit), LISTED_MOST),
    at: momentIn(words),
  }
}

function cursorOf(question: PagedQuestion): Cursor {
  const places = cursorIn(question.words['continue'], question)
  if (places === undefined) return START
  const [cluster, after, more] = places
  const isCursor = typeof cluster === 'string' && typeof after === 'string' && more === undefined
  if (isCursor) return { cluster, after }
  throw strange()
}
