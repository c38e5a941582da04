/**
 * The questions people ask over HTTP: tree, why, cascade, plan, what is held, and the graph in DOT.
 *
 * What must stay true: they change nothing; what costs much is answered one at a time, each
 * client's in turn.
 *
 * Not here: health, streams of records, listening (http.ts), who has the cluster (forward.ts), the
 * answers themselves.
 */

import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { PropagationPolicy } from '../../../../core/model/object.ts'
import { shellWord } from '../../../../core/model/text.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import { clientOf } from '../../../../runtime/http/client.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { Cuts } from '../../../../runtime/shares/cuts.ts'
import { FairQueue } from '../../../../runtime/shares/fair-queue.ts'
import type { Why as WhyDocument } from '../../api/answer-schema.ts'
import {
  type Answered,
  type ClusterRef,
  clusterRefs,
  type DocumentKind,
  documentOf,
  type Made,
  timeOf,
} from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { labelOf } from '../../api/word.ts'
import type { DeletedBy } from '../answer/actor.ts'
import type { CascadeAnswer, Cascades } from '../answer/cascade.ts'
import { type Deletion, withoutOwner, withoutRoot } from '../answer/deletion-cause.ts'
import type { DependentList } from '../answer/dependent-list.ts'
import { formerTree } from '../answer/former-tree.ts'
import { type HeldScope, heldIn, heldOfAll, heldPlanOf, type OwnHeld } from '../answer/held.ts'
import { leftOut, leftOutText, openedAt, ownThen } from '../answer/held-then.ts'
import type { Match, Query, Why } from '../answer/query.ts'
import { treeOf } from '../answer/tree.ts'
import type { HistoryIndex, Named } from '../index/history-index.ts'
import { type Asked, momentIn } from '../index/moment.ts'
import type { Planner } from '../plan/plan.ts'
import { NOT_FOLLOWED, usesOf } from '../rule/use-list.ts'
import { closedOf, type MeantCluster } from '../view/forward.ts'
import { type Answer, markOf, readJson, readStream, strange } from '../view/forward-call.ts'
import { readThen } from '../view/open-view.ts'
import type { Sight } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import type { Access } from './access.ts'
import {
  askedOf,
  type Choosing,
  type Chosen,
  chooseIn,
  clusterOf,
  datedIn,
  othersOf,
  selector,
} from './choice.ts'
import { Finder } from './finder.ts'
import { DOT, type GraphDump, joinedDot } from './graph-dump.ts'
import { type ListParts, meantIn } from './list-question.ts'
import { namedClusters } from './not-found.ts'

export interface QuestionParts extends ListParts {
  readonly access: Access
  readonly query: Query
  readonly dependents: DependentList
  readonly planner: Planner
  readonly cascades: Cascades
  readonly dump: GraphDump
  readonly log: Log
  readonly index: HistoryIndex
  readonly cuts: Cuts
  readonly clock: Clock
  /**
   * What costs much. Only what is computed here waits for its turn: two processes that wait for
   * each other's would wait for ever.
   */
  readonly oneAtATime: InTurn
  /** What is to be said of the wall clock, empty for nothing. */
  readonly clockNote?: (() => string) | undefined
}

/**
 * What costs much is done one at a time: a plan holds an overlay meanwhile. These wait, by client.
 */
const WAITING = { total: 64, floor: 1, groupFloor: 16 }
/** Objects that a plan lists, unless it is asked for another number, and at most. */
const PLAN_LISTED = 500
const PLAN_LISTED_MOST = 20_000

/** What else has the name that was asked for, or had it, the latest first. */
export type Others = readonly {
  readonly cluster: ClusterRef
  readonly uid: string
  readonly isThere: boolean
  /** Append time of the last event about it, in milliseconds. */
  readonly at: number
}[]

/** Of a name that is given again and again, as those of a StatefulSet's pods are. */
const OTHERS_SHOWN = 5

function byTime({ object: a }: Match, { object: b }: Match): number {
  return b.at - a.at || (a.uid < b.uid ? -1 : 1)
}

/**
 * Answers about the one object that is meant, and that who asks may get, from the store that has
 * its cluster, and names that cluster. A reply that was sent is passed on.
 */
export type About = <K extends DocumentKind>(
  kind: K,
  request: FastifyRequest,
  reply: FastifyReply,
  answer: (
    view: View,
    chosen: Chosen,
    cluster: ClusterRef,
  ) => Promise<Answered<MadeOfOne<K>> | FastifyReply>,
) => Promise<unknown>

/** But for what is the same in all of them. */
type MadeOfOne<K extends DocumentKind> = Omit<Made<K>, 'cluster' | 'asOf'>

export function addQuestions(server: FastifyInstance, parts: QuestionParts): void {
  const { query, access, clusters } = parts
  const about = aboutOne(parts)
  /** The latest of those that who asks may get. */
  const shownOthers = async (found: readonly Match[]): Promise<Others> => {
    const latest = [...found].sort(byTime).slice(0, OTHERS_SHOWN)
    const refOf = clusterRefs(await clusters.all())
    return latest.map(({ object: { cluster, uid, at }, isThere }) => {
      return { cluster: refOf(cluster), uid, isThere, at }
    })
  }
  /** Without who deleted the objects that the user may not get. */
  const shownDeleters = async (
    request: FastifyRequest,
    { cluster }: View,
    all: readonly DeletedBy[],
  ): Promise<readonly DeletedBy[]> => {
    const may = await Promise.all(
      all.map(({ object }) => access.mayGet(request, { ...object, cluster })),
    )
    return all.filter((_, index) => may[index])
  }
  server.get('/v1/tree', async (request, reply) => {
    const words = askedOf(request)
    const isUp = words['owners'] === 'true'
    return await about('Tree', request, reply, async (view, { object }) => {
      const sight = await access.sight(request, view.cluster, 'get')
      // At once: each waits for the present end of the log, which is one request for both.
      const [{ answer, partial }, by] = await Promise.all([
        treeOf(view, parts.index, object, { isUp, sight }),
        deletionAsShown(parts, request, view, object),
      ])
      const { root: now } = answer
      const told =
        now.phase === 'gone'
          ? await formerTree(parts, view, now, isUp)
          : { answer: now, partial: '' }
      const root = await access.shown(request, object.cluster, told.answer)
      const isAsked = words['uses'] === 'true'
      const uses = isAsked ? await usesOf(view, object, sight) : null
      const unknown = isAsked && view.facts.using === undefined ? NOT_FOLLOWED : ''
      const doubts = [partial, told.partial, by.partial, unknown].filter((text) => text !== '')
      const deleted = { deletion: by.answer, deletedAt: by.answer && timeOf(by.at) }
      return { answer: { ...answer, root, ...deleted, uses }, partial: doubts.join('; ') }
    })
  })
  server.get('/v1/why', async (request, reply) => {
    return await about('Why', request, reply, async (view, chosen) => {
      const sight = await access.sight(request, view.cluster, 'get')
      const { answer, ...rest } = await query.why(
        view,
        await datedIn(parts.index, view, chosen.object),
        sight,
      )
      const deletedBy = await shownDeleters(request, view, answer.deletedBy)
      const deletion = await withRootShown(parts, request, view, answer.deletion)
      const orphaned = await withOwnerShown(parts, request, view, answer.orphaned)
      const found = await othersAt(choosingOf(parts, request, reply), request, view, chosen)
      const others = await shownOthers(found.others)
      const elsewhere = await elsewhereAsShown(parts, request, answer.elsewhere)
      const shown = { deletion, deletedBy, orphaned, others, elsewhere }
      const partial = [rest.partial, found.partial].filter((text) => text !== '').join('; ')
      return { ...rest, answer: { ...answer, ...shown }, partial }
    })
  })
  addCascade(server, parts, about)
  addPlans(server, parts, about)
}

/** Of the past nothing else of that name is listed. */
async function othersAt(
  choosing: Choosing,
  request: FastifyRequest,
  { moment }: View,
  chosen: Chosen,
): ReturnType<typeof othersOf> {
  if (moment !== null) return { others: [], partial: '' }
  return await othersOf(choosing, selector(askedOf(request)), chosen)
}

/** Of one request. */
export function choosingOf(
  parts: Omit<Choosing, 'finder'> & ConstructorParameters<typeof Finder>[0],
  request: FastifyRequest,
  reply: FastifyReply,
): Choosing {
  const { query, clusters, index } = parts
  return { query, clusters, index, finder: new Finder(parts, request, reply) }
}

/** Who may get an object may not know what other clusters are called. */
async function elsewhereAsShown(
  { access, clusters }: Pick<QuestionParts, 'access' | 'clusters'>,
  request: FastifyRequest,
  all: Why['elsewhere'],
): Promise<WhyDocument['elsewhere']> {
  if (all.length === 0) return []
  const refOf = clusterRefs((await access.mayAll(request)) ? await clusters.all() : [])
  return all.map(({ owner: { cluster, ...owner }, ...each }) => {
    return { ...each, owner: { cluster: refOf(cluster), ...owner } }
  })
}

/** Who deleted it, for the answers beside `why`. */
async function deletionAsShown(
  parts: QuestionParts,
  request: FastifyRequest,
  view: View,
  object: Named,
): Promise<Awaited<ReturnType<Query['deletion']>>> {
  const { answer, ...rest } = await parts.query.deletion(view, object)
  return { answer: await withRootShown(parts, request, view, answer), ...rest }
}

/** Who may get an object may not get its root. */
async function withRootShown(
  { access }: Pick<QuestionParts, 'access'>,
  request: FastifyRequest,
  { cluster }: View,
  deletion: Deletion | null,
): Promise<Deletion | null> {
  if (deletion?.root == null) return deletion
  const root = { ...deletion.root, cluster }
  return (await access.mayGet(request, root)) ? deletion : withoutRoot(deletion)
}

/** Who may get an object may not get the owner that orphaned it. */
async function withOwnerShown(
  parts: Pick<QuestionParts, 'access'>,
  request: FastifyRequest,
  view: View,
  orphaned: Why['orphaned'],
): Promise<Why['orphaned']> {
  if (orphaned === null) return null
  const owner = { ...orphaned.owner, cluster: view.cluster }
  if (!(await parts.access.mayGet(request, owner))) return withoutOwner(orphaned)
  return { ...orphaned, deletion: await withRootShown(parts, request, view, orphaned.deletion) }
}

export function aboutOne(parts: QuestionParts): About {
  const { access, clusters, forwarding, open } = parts
  return async (kind, request, reply, answer) => {
    const words = askedOf(request)
    const asked = selector(words)
    const at = momentIn(words)
    const choosing = choosingOf(parts, request, reply)
    let mayGet = false
    try {
      const cluster = sentTo(request) ?? (await clusterOf(choosing, asked, words['at']))
      return await forwarding.answered(request, reply, cluster, async (here) => {
        const view = await open(here, at)
        return await readThen(view, async () => {
          const asOf = [view.asOf()]
          const chosen = await chooseIn(choosing, asked, view)
          await access.object(request, chosen.object)
          mayGet = true
          const ref = clusterRefs(await clusters.all())(view.cluster)
          const told = await answer(view, chosen, ref)
          if (!('answer' in told)) return told
          // What has the name elsewhere may have been sought by the answer, too.
          const { partial: its } = told
          const doubts = [its, chosen.partial, its.includes(cluster.doubt) ? '' : cluster.doubt]
          const partial = doubts.filter((text) => text !== '').join('; ')
          // Of what was deleted by then an audit log may still say by whom.
          const isFinal = view.node(chosen.object.uid) !== undefined && partial === ''
          if (view.moment !== null && isFinal) markImmutable(reply)
          // The compiler cannot see that the rest is there: `kind` is any.
          const document = { ...told, partial, cluster: ref, asOf } as never
          return documentOf<DocumentKind, object, object>(kind, document)
        })
      })
    } catch (error) {
      // Who may neither get it nor see the graph learns nothing of what is there, or not.
      if (!mayGet) await access.graph(request)
      throw error
    }
  }
}

/** The cluster of which another process asks; undefined where a client does. */
export function sentTo(request: FastifyRequest): MeantCluster | undefined {
  const mark = markOf(request)
  if (mark === undefined) return undefined
  if (mark.cluster === undefined) throw strange()
  return { id: mark.cluster, doubt: mark.doubt ?? '' }
}

function addCascade(server: FastifyInstance, parts: QuestionParts, about: About): void {
  const { access, cascades } = parts
  // What another process seeks for one that is followed is a short answer.
  const isStream = (request: FastifyRequest): boolean =>
    askedOf(request)['follow'] === 'true' && markOf(request)?.partitions === undefined
  server.get('/v1/cascade', { config: { isStream } }, async (request, reply) => {
    const { follow: followed, at } = askedOf(request)
    const isFollowed = followed === 'true'
    if (isFollowed && at !== undefined) {
      throw new Problem(
        400,
        'follow is of now: what comes after a moment is no part of it, ask without at',
      )
    }
    return await about('Cascade', request, reply, async (view, { object: root }, cluster) => {
      // Of one that is followed for days, rights change.
      const sightOf = async (): Promise<Sight> => {
        await access.object(request, root)
        return await access.sight(request, view.cluster, 'get')
      }
      const withDeletion = async (told: CascadeAnswer): Promise<CascadeAnswer> => {
        const by = await deletionAsShown(parts, request, view, root)
        const partial = [told.partial, by.partial].filter((text) => text !== '').join('; ')
        const deleted = { deletion: by.answer, deletedAt: by.answer && timeOf(by.at) }
        return { ...told, answer: { ...told.answer, ...deleted }, partial }
      }
      if (isFollowed) {
        return await follow(reply, cascades, { view, root, cluster, sightOf, withDeletion })
      }
      const told = await cascades.cascade(view, root, await sightOf())
      return told === undefined ? notGoing(view, root, cluster) : await withDeletion(told)
    })
  })
}

function addPlans(server: FastifyInstance, parts: QuestionParts, about: About): void {
  const { access, clusters, forwarding, oneAtATime, open, planner, query } = parts
  server.get('/v1/held', async (request, reply) => {
    const scope = await heldScope(access, request)
    const at = momentIn(askedOf(request))
    const own = async (views: readonly View[]): Promise<OwnHeld> =>
      at === undefined
        ? await oneAtATime(request, () => heldIn(views, clusters.readers(), query, scope))
        : await ownThen(views, at, {
            open,
            own: async (then) => {
              const readers = then.map(({ reader }) => reader)
              return await oneAtATime(request, () => heldIn(then, readers, query, scope))
            },
          })
    const read = async (answer: Answer): Promise<OwnHeld> => (await readJson(answer)) as OwnHeld
    return await answeredIn(parts, { request, reply, scope }, at, {
      ...{ own, read },
      async joined({ answers, asked, partial }) {
        // Orders are known to every partition, also where there is no cluster yet.
        const here = at === undefined ? [await heldIn([], clusters.readers(), query, scope)] : []
        const held = heldOfAll([...here, ...answers], asked)
        const left = at === undefined ? '' : leftOut(answers, asked, partial)
        const doubts = [partial, held.partial, left].filter((each) => each !== '').join('; ')
        // Before any cluster was observed, a later answer may have one.
        if (at !== undefined && doubts === '' && asked.length > 0) markImmutable(reply)
        const clock = at === undefined ? (parts.clockNote?.() ?? '') : ''
        return documentOf('Held', { ...held, answer: { ...held.answer, clock }, partial: doubts })
      },
    })
  })
  server.get('/v1/plan/held', async (request, reply) => {
    const limit = limitOf(askedOf(request)['limit'])
    const only = onlyOf(namedClusters(await clusters.all(namedIn(request)), namedIn(request)))
    const cluster = clusterRefs(await clusters.all())(only.id)
    return await forwarding.answered(request, reply, only.id, async (view) => {
      return await oneAtATime(request, async () => {
        const asOf = [view.asOf()]
        const told = await heldPlanOf(view, limit, query)
        return documentOf('HeldPlan', { ...told, cluster, asOf })
      })
    })
  })
  server.get('/v1/plan', async (request, reply) => {
    const asked = askedOf(request)
    const cascade = cascadeOf(asked['cascade'])
    const limit = limitOf(asked['limit'])
    return await about('Plan', request, reply, async (view, { object }, cluster) => {
      const { uid, kind, name } = object
      const sight = await access.sight(request, view.cluster, 'get')
      const made = await oneAtATime(request, () => planner.plan(view, uid, cascade, limit, sight))
      if (made !== undefined) return made
      throw new Problem(
        409,
        `${kind}/${name} is deleted already; "kinfold cascade ${wordsFor(object, cluster)}" shows what remains of its dependents`,
      )
    })
  })
}

/** By another process, or by who asks. */
export function namedIn(request: FastifyRequest): string | undefined {
  return markOf(request)?.cluster ?? askedOf(request)['cluster']
}

/** Of a question about one cluster. */
export function onlyOf<T extends ClusterRef>([only, second, ...more]: readonly T[]): T {
  if (only === undefined) throw new Problem(404, 'no cluster was ever seen')
  if (second === undefined) return only
  const names = [only, second, ...more].map(labelOf)
  throw new Problem(
    400,
    `several clusters are known, add --cluster with one of them: ${names.toSorted().join(', ')}`,
  )
}

/** Who may not see the whole graph asks of one namespace, and sees what may be listed there. */
export async function heldScope(access: Access, request: FastifyRequest): Promise<HeldScope> {
  const { cluster, namespace } = askedOf(request)
  const isWhole = await access.mayAll(request)
  if (!isWhole && (cluster === undefined || !namespace)) await access.graph(request)
  return { isWhole, namespace, sight: async (id) => await access.sight(request, id, 'list') }
}

interface ScopedQuestion {
  readonly request: FastifyRequest
  readonly reply: FastifyReply
  readonly scope: HeldScope
}

interface ScopedAnswer<T> {
  /** Of the clusters of one process. */
  readonly own: (views: readonly View[]) => Promise<T>
  readonly read: (answer: Answer) => Promise<T>
  readonly joined: (gathered: {
    readonly answers: readonly T[]
    readonly asked: ReturnType<typeof namedClusters>
    readonly partial: string
  }) => Promise<unknown>
}

/**
 * Of all clusters that are asked about. Who may not see the whole graph is answered where the one
 * cluster is: only there it is known whether they may list anything of it, and who may not learns
 * neither that there is such a cluster nor which partition it is in.
 */
export async function answeredIn<T>(
  parts: Pick<QuestionParts, 'access' | 'clusters' | 'forwarding'>,
  { request, reply, scope }: ScopedQuestion,
  at: Asked | undefined,
  { own, read, joined }: ScopedAnswer<T>,
): Promise<unknown> {
  const { access, forwarding } = parts
  const mine = await forwarding.ownOf(request, reply)
  const named = await scopedClusters(parts, request, scope)
  if (!scope.isWhole) {
    return await forwarding.answered(request, reply, onlyOf(named).id, async (view) => {
      await access.namespace(request, view, scope.namespace ?? '')
      return await joined({ answers: [await own([view])], asked: meantIn(named, at), partial: '' })
    })
  }
  const asked = meantIn(named, at)
  // A partition may have others beside those that are asked about.
  const isAsked = ({ cluster }: View): boolean => asked.some(({ id }) => id === cluster)
  if (mine !== undefined) return json(await own(mine.filter(isAsked)))
  const { all, partial } = await forwarding.gathered(request, reply, { asked, own, read })
  return await joined({ answers: all.map(({ answer }) => answer), asked, partial })
}

/** The list of clusters is shown only to users who may see the whole graph. */
export async function scopedClusters(
  { access, clusters }: Pick<QuestionParts, 'access' | 'clusters'>,
  request: FastifyRequest,
  { isWhole }: Pick<HeldScope, 'isWhole'>,
): Promise<ReturnType<typeof namedClusters>> {
  try {
    const { cluster } = askedOf(request)
    return namedClusters(await clusters.all(cluster), cluster)
  } catch (error) {
    if (!isWhole) await access.graph(request)
    throw error
  }
}

type Parts = AsyncIterable<string | Uint8Array>

export function addGraphDump(
  server: FastifyInstance,
  { clusters, dump, forwarding, open }: QuestionParts,
): void {
  server.get('/debug/graph', { config: { isStream: () => true } }, async (request, reply) => {
    const { uid, at: text } = request.query as { uid?: string | string[]; at?: string }
    const uids = uid === undefined ? [] : [uid].flat()
    const at = momentIn({ at: text })
    const dot = async (): Promise<Parts> => {
      const refOf = clusterRefs(await clusters.all())
      const known = (await clusters.all()).map((each) => ({ ...each, ...refOf(each.id) }))
      const asked = meantIn(known, at)
      const own = async (views: readonly View[]): Promise<Parts> => {
        if (at === undefined) return dump.dot(views, uids)
        // A partition may have others beside those that are asked about.
        const meant = views.filter(({ cluster }) => asked.some(({ id }) => id === cluster))
        const { opened, refusals } = await openedAt(meant, at, open)
        const [first] = refusals
        const isAlone = refusals.length === asked.length
        if (first !== undefined && isAlone) throw new Problem(first.status, first.detail)
        return dump.dot(opened, uids, refusals.map(leftOutText))
      }
      const mine = await forwarding.ownOf(request, reply)
      if (mine !== undefined) return await own(mine)
      const read = async (answer: Answer) => readStream(answer)
      const { all, partial } = await forwarding.gathered(request, reply, { asked, own, read })
      const [first, ...others] = all.map(({ answer }) => answer)
      if (others.length === 0 && partial === '') return first ?? (await own([]))
      return joinedDot(
        all.map(({ answer }) => answer),
        partial,
      )
    }
    return reply
      .header('content-type', DOT)
      .header('x-content-type-options', 'nosniff')
      .send(Readable.from(await dot()))
  })
}

function notGoing({ moment }: View, object: Named, cluster: ClusterRef): never {
  const { kind, name } = object
  if (moment !== null) throw new Problem(409, `${kind}/${name} was not being deleted then`)
  throw new Problem(
    409,
    `${kind}/${name} is not being deleted; "kinfold plan delete ${wordsFor(object, cluster)}" shows what would be deleted with it`,
  )
}

/**
 * On a command line: this very object, whatever has its name by then. Two clusters may share uids.
 */
function wordsFor({ uid }: Named, { scope }: ClusterRef): string {
  return `${shellWord(`uid:${uid}`)} --cluster ${shellWord(scope)}`
}

interface Followed {
  readonly view: View
  readonly root: Named
  readonly cluster: ClusterRef
  /** Before each answer. */
  readonly sightOf: () => Promise<Sight>
  readonly withDeletion: (told: CascadeAnswer) => Promise<CascadeAnswer>
}

/** An answer a line, whenever it is another. Where the cluster moves meanwhile it breaks off. */
async function follow(
  reply: FastifyReply,
  cascades: Cascades,
  { view, root, cluster, sightOf, withDeletion }: Followed,
): Promise<FastifyReply> {
  const closed = closedOf(reply)
  if (!(await cascades.begins(view, root, closed))) notGoing(view, root, cluster)
  const lines = async function* (answers: AsyncIterable<CascadeAnswer>): AsyncIterable<string> {
    for await (const told of answers) {
      yield `${JSON.stringify(documentOf('Cascade', { ...(await withDeletion(told)), cluster }))}\n`
    }
  }
  const stream = Readable.from(lines(cascades.follow(view, root, closed, sightOf)))
  return reply.type('application/x-ndjson').send(stream)
}

function cascadeOf(text: string | undefined): PropagationPolicy {
  if (text === 'foreground') return 'Foreground'
  return text === 'orphan' ? 'Orphan' : 'Background'
}

function limitOf(text: string = `${PLAN_LISTED}`): number {
  return Math.min(Number(text), PLAN_LISTED_MOST)
}

export type InTurn = <T>(request: FastifyRequest, work: () => Promise<T>) => Promise<T>

/** Runs one after the other, each client's in turn. */
export function inTurn(name: string, cuts: Cuts): InTurn {
  const queue = new FairQueue({ cap: { name, ...WAITING }, atOnce: 1, ofOne: 1, cuts })
  return async (request, work) => await queue.run(clientOf(request), work)
}

/** Between graph processes. */
export function json(answer: unknown): unknown {
  return JSON.parse(JSON.stringify(answer, plain))
}

/** Offsets are numbers for every reader of JSON, exact up to 2^53. */
export function plain(_key: string, value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}
