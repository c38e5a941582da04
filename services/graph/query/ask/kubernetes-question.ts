/**
 * `/apis/kinfold.dev/v1`: objects as an API server would list them, for `kubectl` and simple tools;
 * below `/clusters/NAME` those of one cluster.
 *
 * What must stay true: the same objects and the same rights as `/v1/objects` (a list takes the
 * right to see the whole graph) and `/v1/why` (one object takes the right to get it). A list that
 * is not whole has a `continue`; what else may be missing is in the header Warning, which kubectl
 * prints.
 *
 * Not here: shapes (api/kubernetes-document.ts, kubernetes-table.ts), routes
 * (api/kubernetes-route.ts).
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Node } from '../../../../core/model/node.ts'
import { nodePhase } from '../../../../core/model/node.ts'
import type { ClusterId } from '../../../../core/model/object.ts'
import { failureOf, Problem } from '../../../../runtime/http/problem.ts'
import { clusterRefs } from '../../api/document.ts'
import {
  API_GROUP,
  API_GROUP_LIST,
  API_RESOURCE_LIST,
  API_VERSION,
  API_VERSIONS,
  nameIn,
  ownedName,
  ownedObject,
  statusOf,
  warningOf,
} from '../../api/kubernetes-document.ts'
import { CLUSTERS_PREFIX, KUBERNETES_ROUTES } from '../../api/kubernetes-route.ts'
import type { OwnedObject, OwnedObjectList, Table } from '../../api/kubernetes-schema.ts'
import { isTableAsked, tableOf } from '../../api/kubernetes-table.ts'
import { patternOf } from '../../api/operation.ts'
import { labelOf } from '../../api/word.ts'
import type { ListAsked } from '../answer/object-list.ts'
import { judgedOf } from '../answer/tree.ts'
import { cursorIn, cursorText, type PagedQuestion } from '../index/cursor.ts'
import { markOf } from '../view/forward-call.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { namedClusters } from './not-found.ts'
import type { QuestionParts } from './question.ts'

const LISTED_MOST = 2_000
/** Where no limit is asked for: a client that sets none does not read `continue`, either. */
const UNLIMITED_MOST = 10_000

const DISCOVERY: Readonly<Record<string, object>> = {
  '/api': API_VERSIONS,
  '/apis': API_GROUP_LIST,
  '/apis/kinfold.dev': API_GROUP,
  '/apis/kinfold.dev/v1': API_RESOURCE_LIST,
}

export function addKubernetes(server: FastifyInstance, parts: QuestionParts): void {
  const errorHandler = async (
    error: unknown,
    _request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply> => {
    const { status, detail } = failureOf(error)
    const body = JSON.stringify(statusOf(status, detail))
    return reply.code(status).type('application/json').send(body)
  }
  for (const route of KUBERNETES_ROUTES) {
    const path = route.path.replace(CLUSTERS_PREFIX, '')
    const document = DISCOVERY[path]
    server.get(patternOf(route), { errorHandler }, async (request, reply) => {
      if (document !== undefined) return document
      return path.endsWith('{name}')
        ? await one(parts, request, reply)
        : await listOf(parts, request, reply)
    })
  }
}

interface Segments {
  readonly cluster?: string
  readonly namespace?: string
  readonly name?: string
}

function segmentsOf({ params }: FastifyRequest): Segments {
  return params as Segments
}

/** Of the path, or the only one. */
async function clusterOf({ clusters }: QuestionParts, request: FastifyRequest): Promise<ClusterId> {
  const asked = markOf(request)?.cluster ?? segmentsOf(request).cluster
  const all = await clusters.all(asked)
  const [only, second] = namedClusters(all, asked)
  if (only === undefined) throw new Problem(404, 'no cluster was ever seen')
  if (second === undefined) return only.id
  const refOf = clusterRefs(all)
  const names = all.map(({ id }) => labelOf(refOf(id))).toSorted()
  throw new Problem(
    400,
    `several clusters are known (${names.join(', ')}): ask below /clusters/NAME, as with kubectl --server URL/clusters/NAME`,
  )
}

/** Where the next page begins, and how many were left then; null where that is not known. */
interface Cursor {
  readonly after: string
  readonly left: number | null
}

async function listOf(
  parts: QuestionParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OwnedObject | OwnedObjectList | Table | FastifyReply> {
  await parts.access.graph(request)
  const words = askedOf(request)
  const cluster = await clusterOf(parts, request)
  const { namespace } = segmentsOf(request)
  const isNamespaced = request.routeOptions.url?.endsWith('/ownedobjects') === true
  const limit = Math.min(Number(words['limit'] ?? 0), LISTED_MOST)
  const asked: ListAsked = {
    ...{ kind: words['kind'] ?? '', name: undefined, namespace },
    scope: isNamespaced ? 'Namespaced' : 'Cluster',
    ...{ isGone: false, isCounted: false, limit: limit || LISTED_MOST },
  }
  const question = questionOf(request, cluster)
  const cursor = cursorOf(question)
  return await parts.forwarding.answered(request, reply, cluster, async (view) => {
    const told = await pages(parts, view, asked, cursor, limit || UNLIMITED_MOST)
    const isCut = limit === 0 && told.next !== null
    const cut = `only the first ${told.items.length} are listed: ask with limit and continue`
    warn(reply, [told.partial, isCut ? cut : ''])
    const left = await leftOf(parts, view, asked, cursor, told)
    const next = told.next === null ? {} : { continue: cursorText(question, [told.next, left]) }
    const metadata = { ...next, ...(left !== null && { remainingItemCount: left }) }
    return shaped(parts, request, {
      apiVersion: API_VERSION,
      kind: isNamespaced ? 'OwnedObjectList' : 'ClusterOwnedObjectList',
      metadata,
      items: told.items,
    })
  })
}

/** As a table where that is asked for. */
function shaped(
  { clock }: QuestionParts,
  request: FastifyRequest,
  answer: OwnedObject | OwnedObjectList,
): OwnedObject | OwnedObjectList | Table {
  if (!isTableAsked(request.headers.accept)) return answer
  return tableOf(answer, askedOf(request)['includeObject'], clock.now())
}

interface Pages {
  readonly items: readonly OwnedObject[]
  /** Null: there are no more. */
  readonly next: string | null
  readonly partial: string
}

/** As many of the pages as it takes: one may hold less than was asked for. */
async function pages(
  { objectList, clusters }: QuestionParts,
  view: View,
  asked: ListAsked,
  { after }: Cursor,
  most: number,
): Promise<Pages> {
  const ref = clusterRefs(await clusters.all())(view.cluster)
  const items: OwnedObject[] = []
  const doubts = new Set<string>()
  let next: string | null = after
  do {
    const limit = Math.min(asked.limit, most - items.length)
    const page = await objectList.page(view, ref, { ...asked, limit }, next)
    for (const { uid } of page.answer.objects) {
      const node = view.node(uid)
      if (node !== undefined) items.push(itemOf(node))
    }
    if (page.partial !== '') doubts.add(page.partial)
    next = page.answer.next
  } while (next !== null && items.length < most && most === UNLIMITED_MOST)
  return { items, next, partial: [...doubts].join('; ') }
}

/** Counted once, before the second page: from then on it is an estimate, as with an API server. */
async function leftOf(
  { objectList, clusters }: QuestionParts,
  view: View,
  asked: ListAsked,
  { after, left }: Cursor,
  { items, next }: Pages,
): Promise<number | null> {
  if (next === null) return null
  if (after !== '') return left === null ? null : Math.max(0, left - items.length)
  const ref = clusterRefs(await clusters.all())(view.cluster)
  const { answer } = await objectList.page(view, ref, { ...asked, isCounted: true }, next)
  return answer.next === null ? answer.count : null
}

async function one(
  parts: QuestionParts,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<OwnedObject | OwnedObjectList | Table | FastifyReply> {
  const { access, forwarding } = parts
  let mayGet = false
  try {
    const cluster = await clusterOf(parts, request)
    return await forwarding.answered(request, reply, cluster, async (view) => {
      const node = await found(parts, view, segmentsOf(request))
      await access.object(request, { ...node.object, cluster })
      mayGet = true
      warn(reply, [view.partial()])
      return shaped(parts, request, itemOf(node))
    })
  } catch (error) {
    // Who may neither get it nor see the graph learns nothing of what is there, or not.
    if (!mayGet) await access.graph(request)
    throw error
  }
}

async function found(
  { query }: QuestionParts,
  view: View,
  { namespace = '', name = '' }: Segments,
): Promise<Node> {
  const meant = nameIn(name)
  if (meant === undefined) {
    throw new Problem(404, `${name} is no name of an object here: RESOURCE.GROUP:NAME is`)
  }
  let isKnown = true
  const there = async (): Promise<Node | undefined> => {
    const selector = { kind: '', name: meant, namespace, cluster: view.cluster, uid: undefined }
    const { matches, lacks } = await query.findIn([view], selector)
    isKnown = lacks !== 'any'
    const nodes = matches.map(({ object }) => view.node(object.uid))
    return nodes.find((node) => {
      return node?.object.namespace === namespace && ownedName(node.object) === name
    })
  }
  let node = await there()
  let behind = ''
  if (node === undefined) {
    // What was seen just now is in the index in a moment.
    behind = await query.caughtUp()
    node = await there()
  }
  if (node !== undefined) return node
  const unread = view.partial() || behind
  if (unread !== '') throw new Problem(503, `whether it exists is unknown: ${unread}`)
  if (!isKnown) throw new Problem(503, `whether it exists is unknown: too many are called ${meant}`)
  const where = namespace === '' ? '' : ` in namespace ${namespace}`
  throw new Problem(404, `no object "${name}" exists${where}`)
}

function itemOf(node: Node): OwnedObject {
  return ownedObject(node.object, { phase: nodePhase(node), ...judgedOf(node) })
}

function warn(reply: FastifyReply, doubts: readonly string[]): void {
  const text = doubts.filter((each) => each !== '').join('; ')
  if (text !== '') reply.header('warning', warningOf(text))
}

/** Of one cluster and namespace, whichever path leads there. */
function questionOf(request: FastifyRequest, cluster: ClusterId): PagedQuestion {
  const { namespace } = segmentsOf(request)
  const isNamespaced = request.routeOptions.url?.endsWith('/ownedobjects') === true
  const route = isNamespaced ? '/ownedobjects' : '/clusterownedobjects'
  return { route, words: { ...askedOf(request), cluster, namespace } }
}

function cursorOf(question: PagedQuestion): Cursor {
  const places = cursorIn(question.words['continue'], question)
  if (places === undefined) return { after: '', left: null }
  const [after, left] = places
  const isCount = left === null || (Number.isSafeInteger(left) && Number(left) >= 0)
  if (typeof after === 'string' && isCount) return { after, left: left as number | null }
  throw new Problem(400, 'continue is not from an answer to this list; begin without it')
}
