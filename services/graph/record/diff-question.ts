/**
 * `GET /v1/diff`: which objects were added, deleted or changed between two moments, in clusters, a
 * page at a time; of deleted ones also by whom, as far as Kinfold knows.
 *
 * What must stay true: a page is about one cluster, answered by the process that has it, and all
 * pages of a cluster are about the same two moments. A moment before the earliest known one is
 * refused for all clusters, with the earliest one. An answer may be cached only where no later
 * record can change it.
 *
 * Not here: what differs (query/answer/diff.ts), who deleted it (life.ts), who may ask: only who
 * may see the whole graph (http.ts).
 */
import type { FastifyInstance } from 'fastify'
import { type Node, nodePhase } from '../../../core/model/node.ts'
import type { ClusterId } from '../../../core/model/object.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { Diff } from '../api/answer-schema.ts'
import type { AnswerOf, Row } from '../api/document.ts'
import { type ClusterRef, clusterRefs, documentOf, timeOf } from '../api/document.ts'
import { markImmutable } from '../api/etag.ts'
import type { Deletion } from '../query/answer/deletion-cause.ts'
import type { Differ, Difference, TwoViews } from '../query/answer/diff.ts'
import { askedOf } from '../query/ask/choice.ts'
import { meantIn } from '../query/ask/list-question.ts'
import { namedClusters, refuseUnknownKind } from '../query/ask/not-found.ts'
import type { ActorIndex } from '../query/index/actor-index.ts'
import { cursorIn, cursorText, strange } from '../query/index/cursor.ts'
import { type Asked, askedIn } from '../query/index/moment.ts'
import { markOf } from '../query/view/forward-call.ts'
import { type OpenView, readThen } from '../query/view/open-view.ts'
import type { View } from '../query/view/view.ts'
import { type Attributors, attributionOf } from './attribution.ts'
import { Deleters } from './deleter.ts'
import { Lives } from './life.ts'
import type { LogParts } from './log-page.ts'

const LISTED = 500
const LISTED_MOST = 2_000
/**
 * Entries of histories of deleted objects that one page reads, but for the object with which it
 * reaches that.
 */
const MOST_ENTRIES = 20_000

export interface DiffParts extends LogParts {
  readonly open: OpenView
  readonly differ: Differ
  readonly actors: ActorIndex | undefined
}

/** What an object was at one of the moments. */
type StateThen = NonNullable<DiffRow['from']>

export type DiffRow = Row<DiffPage['differences']>

export type DiffPage = AnswerOf<Diff>

type Words = Readonly<Record<string, string | undefined>>

/** Where a page begins. */
interface Cursor {
  readonly cluster: ClusterId
  /** The later moment, where the question does not say it. Empty: to be chosen. */
  readonly to: string
  /** Empty: with the first of the cluster. */
  readonly after: string
}

export function addDiff(server: FastifyInstance, parts: DiffParts): void {
  const { clusters, forwarding } = parts
  server.get('/v1/diff', async (request, reply) => {
    const words = askedOf(request)
    const asked = momentsIn(words)
    const cursor = cursorOf(words)
    const all = await clusters.all(words['cluster'])
    const named = namedClusters(all, words['cluster'])
    const ids = [asked.from, asked.to].reduce<readonly ClusterId[]>(
      (left, each) => left.filter((id) => meantIn(named, each).some((one) => one.id === id)),
      named.map(({ id }) => id),
    )
    const left = ids.filter((id) => id >= (markOf(request)?.cluster ?? cursor.cluster)).toSorted()
    const [cluster, following] = left
    if (cluster === undefined) return documentOf('Diff', { ...EMPTY, partial: '', asOf: [] })
    const rest = following === undefined ? null : textOf(words, { ...START, cluster: following })
    const own = cluster === cursor.cluster ? cursor : { ...START, cluster }
    try {
      return await forwarding.answered(request, reply, cluster, async (view) => {
        const views = await viewsOf(parts, view, asked, own.to)
        const ref = clusterRefs(all)(cluster)
        const page = await readThen(views.from, async () => {
          return await pageOf(parts, views, { words, ref, after: own.after })
        })
        const isFinal = words['to'] !== undefined && page.isFinal && page.partial === ''
        if (isFinal) markImmutable(reply)
        const [from, to] = [views.from.asOf(), views.to.asOf()]
        const same = { cluster, to: textOfMoment(views.to, words), after: page.next ?? '' }
        const next = page.next === null ? rest : textOf(words, same)
        const { rows: differences, kinds } = page
        const { kind = '' } = words
        const isKnown = kind === '' || kinds.length > 0 || differences.length > 0
        if (!isKnown) await refuseUnknownKind(clusters, kind, named)
        const answer: DiffPage = { from, to, differences, kinds, continue: next }
        return documentOf('Diff', { answer, partial: page.partial, asOf: [to] })
      })
    } catch (error) {
      const isAway = error instanceof Problem && error.status === 503
      if (!isAway || markOf(request)?.cluster !== undefined || ids.length === 1) throw error
      const answer: DiffPage = { ...EMPTY.answer, continue: rest }
      return documentOf('Diff', { answer, partial: error.message, asOf: [] })
    }
  })
}

const START: Cursor = { cluster: '', to: '', after: '' }
const EMPTY = {
  answer: { from: null, to: null, differences: [], kinds: [], continue: null } satisfies DiffPage,
}

interface AskedMoments {
  readonly from: Asked
  /** Undefined: what is folded by the first page. */
  readonly to: Asked | undefined
}

function momentsIn({ from, to }: Words): AskedMoments {
  if (from === undefined) throw new Problem(400, 'ask with from, a moment of the past')
  const [earlier, later] = [askedIn(from, 'from'), to === undefined ? undefined : askedIn(to, 'to')]
  const isApart = (other: number): boolean => {
    return earlier.type === 'position' && earlier.partition !== other
  }
  if (later?.type === 'position' && isApart(later.partition)) {
    throw new Problem(400, `from ${from} and to ${to} are of two partitions: no cluster is in both`)
  }
  return { from: earlier, to: later }
}

async function viewsOf(
  { open }: DiffParts,
  view: View,
  asked: AskedMoments,
  chosen: string,
): Promise<TwoViews> {
  const { partition } = view.partition
  const { position } = view.partition.status()
  const now: Asked = { type: 'position', partition, position }
  const later = asked.to ?? (chosen === '' ? now : askedIn(chosen, 'to'))
  const [to, from] = [await open(view, later), await open(view, asked.from)]
  if ((from.moment?.position ?? 0) > (to.moment?.position ?? 0)) {
    throw new Problem(400, `from is later than to in cluster ${view.name}: change them over`)
  }
  return { from, to }
}

interface PageAsked {
  readonly words: Words
  readonly ref: ClusterRef
  readonly after: string
}

interface Page {
  readonly rows: readonly DiffRow[]
  readonly next: string | null
  readonly kinds: readonly string[]
  readonly partial: string
  /**
   * The client of each deletion is known, and no audit log is read: no later record can change
   * that.
   */
  readonly isFinal: boolean
}

async function pageOf(
  parts: DiffParts,
  views: TwoViews,
  { words, ref, after }: PageAsked,
): Promise<Page> {
  const { to: view } = views
  const { kind = '', namespace, limit = `${LISTED}` } = words
  const asked = { kind, namespace, limit: Math.min(Number(limit), LISTED_MOST) }
  const { answer, partial } = await parts.differ(views, asked, after)
  const lives = new Lives({ ...parts, turns: view.turns })
  const deleters = new Deleters({ ...parts, turns: view.turns })
  const unnamed = await deleters.caughtUp()
  const rows: DiffRow[] = []
  let { next } = answer
  for (const difference of answer.differences) {
    rows.push(rowOf(ref, difference, await deletedIn({ lives, deleters }, view, difference)))
    const mayRead = lives.read < MOST_ENTRIES && deleters.read < MOST_ENTRIES
    if (mayRead || difference === answer.differences.at(-1)) continue
    next = difference.key
    break
  }
  const isKnown = rows.every(({ deletion }) => deletion?.by !== 'unknown')
  // An audit log may still say who it was.
  const isFinal = isKnown && (parts.actors === undefined || rows.every((row) => !row.deletion))
  const doubts = [partial, unnamed, deleters.doubt(), lives.doubt()].filter((text) => text !== '')
  return { rows, next, kinds: answer.kinds, partial: doubts.join('; '), isFinal }
}

async function deletedIn(
  parts: Attributors,
  view: View,
  { change, object, position }: Difference,
): Promise<Deletion | null> {
  if (change !== 'deleted') return null
  const of = view.identityOf(object)
  const life = await parts.lives.endedAt(of, BigInt(position))
  return (await attributionOf(parts, of, life)).deletion
}

function rowOf(
  cluster: ClusterRef,
  { change, object, at, before, after }: Difference,
  deletion: Deletion | null,
): DiffRow {
  const { group, kind, namespace, name, uid } = object
  const createdAt = (after ?? before)?.object.createdAt ?? null
  return {
    ...{ cluster, group, kind, namespace, name, uid, change, at },
    createdAt: timeOf(createdAt),
    from: before === undefined ? null : stateOf(before),
    to: after === undefined ? null : stateOf(after),
    deletion,
  }
}

function stateOf(node: Node): StateThen {
  const { deletedAt, ownerReferences } = node.object
  return { phase: nodePhase(node), deletionTimestamp: timeOf(deletedAt), owners: ownerReferences }
}

/** All pages of a cluster are about what was folded by the first one. */
function textOfMoment({ partition, moment }: View, words: Words): string {
  if (words['to'] !== undefined || moment === null) return ''
  return `pos:${partition.partition}-${moment.position}`
}

function textOf(words: Words, { cluster, to, after }: Cursor): string {
  return cursorText({ route: '/v1/diff', words }, [cluster, to, after])
}

function cursorOf(words: Words): Cursor {
  const [cluster, to, after, more] = cursorIn(words['continue'], { route: '/v1/diff', words }) ?? [
    '',
    '',
    '',
  ]
  const isCursor = [cluster, to, after].every((each) => typeof each === 'string')
  if (!isCursor || more !== undefined || !/^(pos:\d{1,9}-\d{1,15})?$/.test(String(to))) {
    throw strange()
  }
  return { cluster: String(cluster), to: String(to), after: String(after) }
}
