/**
 * `GET /v1/across`: what tools' marks name as managed by an object, in all clusters, and what names
 * it as its owner by `kinfold.io/owner`.
 *
 * What must stay true: who may not see the whole graph gets what they may list, in whatever
 * cluster, and of the rest neither a number nor the name of a cluster. So nothing is refused there
 * that differs from an empty answer.
 *
 * Not here: what one process finds (across/across-part.ts), all of it (across/across-answer.ts).
 */
import type { FastifyInstance } from 'fastify'
import type { ClusterId } from '../../../../core/model/object.ts'
import { type MarkSettings, TOOLS } from '../../../../ports/record/manager-mark.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { type AsOf, clusterRefs, documentOf } from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { ALONG_MOST } from '../../api/word.ts'
import { type AcrossAnswer, joined } from '../across/across-answer.ts'
import type { AcrossAsked, GoneAsked } from '../across/across-object.ts'
import { type AcrossPart, acrossIn } from '../across/across-part.ts'
import { onePerPartition } from '../answer/held.ts'
import { leftOut, ownThen } from '../answer/held-then.ts'
import { type Asked, askedIn, momentIn } from '../index/moment.ts'
import type { KnownCluster } from '../view/clusters.ts'
import { type Answer, readJson } from '../view/forward-call.ts'
import { LEFT_OUT } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { meantIn } from './list-question.ts'
import { namedClusters } from './not-found.ts'
import { json, type QuestionParts } from './question.ts'

/** Objects that an answer lists, unless it is asked for another number, and at most. */
const LISTED = 500
const LISTED_MOST = 10_000

const OFF = `no marks are read: the setting across.marks names none of ${TOOLS.join(', ')}`
const OF_ONE =
  'a position is of one partition, and clusters of others are left out: ask with a time'
/** Without what could not be asked, and why: that may name a cluster. */
const UNASKED = 'not all could be asked'
const THEN_LEFT_OUT = 'clusters of which that moment is not known are left out'

export function addAcross(
  server: FastifyInstance,
  parts: QuestionParts & { readonly marks: MarkSettings },
): void {
  const { access, clusters, forwarding, marks, oneAtATime, open } = parts
  server.get('/v1/across', async (request, reply) => {
    const isWhole = await access.mayAll(request)
    const words = askedOf(request)
    const { kind = '', name = '', namespace, uid, limit: most } = words
    const at = momentIn(words)
    if (kind === '' || name === '') throw new Problem(400, 'ask with kind and name')
    const limit = Math.min(Number(most ?? LISTED), LISTED_MOST)
    const word = await clusters.kindWords.of(kind)
    const all = await clusters.all(words['cluster'])
    const within = withinOf(all, words['cluster'], isWhole)
    const gone = goneAsked(words, within, parts.clock.now())
    const along = alongAsked(words)
    const asked = { kind, word, namespace, name, uid, limit, gone, ...along }
    const sight = async (cluster: string) => await access.sight(request, cluster, 'list')
    const inTurn = async (views: readonly View[]): Promise<AcrossPart> =>
      await oneAtATime(request, async () => {
        return await acrossIn(views, asked, { settings: marks, sight })
      })
    const own = async (views: readonly View[]): Promise<AcrossPart> =>
      at === undefined ? await inTurn(views) : await ownThen(views, at, { open, own: inTurn })
    const mine = await forwarding.ownOf(request, reply)
    if (mine !== undefined) return json(await own(mine))
    const refOf = clusterRefs(all)
    const every = all.map((each) => ({ ...each, ...refOf(each.id) }))
    const meant = isWhole ? meantIn(every, at) : every.filter((each) => mayHave(each, at))
    const read = async (answer: Answer): Promise<AcrossPart> =>
      (await readJson(answer)) as AcrossPart
    const { all: gathered, partial } = await forwarding.gathered(request, reply, {
      ...{ asked: meant, own, read },
    })
    const answers = gathered.map(({ answer }) => answer)
    const left = at === undefined || !isWhole ? '' : leftOut(answers, meant, partial)
    const answer = joined(answers, {
      ...{ asked: { kind, namespace, name }, within, refOf, isWhole, limit },
    })
    // Where nothing was answered, nothing is known of what is read there.
    const isRead = marks.tools.length > 0 || answers.length === 0 || answers.some(isReading)
    const doubts = new Set([
      ...(isWhole ? [partial, left] : [LEFT_OUT, partial === '' ? '' : UNASKED]),
      // To who may not see all it says the same, whatever partitions there are and hold.
      ...(isWhole || at === undefined ? [] : [THEN_LEFT_OUT]),
      ...(at?.type === 'position' && (!isWhole || meant.length < every.length) ? [OF_ONE] : []),
      ...answers.map((each) => each.partial),
    ])
    const lacks = isRead ? [...doubts].filter((each) => each !== '').join('; ') : ''
    if (at !== undefined && isRead && lacks === '') markImmutable(reply)
    const asOf = onePerPartition(answers.flatMap((each) => each.asOf))
    const shown = isWhole ? asOf : asOf.filter(isOf(answer, all))
    const shownAnswer = isRead ? answer : { ...answer, text: OFF }
    return documentOf('Across', { answer: shownAnswer, partial: lacks, asOf: shown })
  })
}

/** Undefined: it is not asked for. `within`: clusters of the owner. */
function goneAsked(
  { goneSince, uid }: Record<string, string | undefined>,
  within: ReadonlySet<ClusterId> | undefined,
  now: number,
): GoneAsked | undefined {
  if (goneSince === undefined) return undefined
  const since = askedIn(goneSince, 'goneSince')
  if (since.type !== 'time') throw new Problem(400, 'goneSince takes a time')
  if (uid === undefined || within === undefined) {
    throw new Problem(400, 'goneSince takes uid and cluster, of the owner')
  }
  return { uid, clusters: [...within], since: since.at, now }
}

/** Empty: it is not asked for. */
function alongAsked({
  along,
  cluster,
}: Record<string, string | undefined>): Pick<AcrossAsked, 'along'> {
  if (along === undefined) return {}
  if (cluster === undefined) throw new Problem(400, 'along takes cluster, of these objects')
  const uids = new Set(along.split(',').filter((uid) => uid !== ''))
  if (uids.size > ALONG_MOST) throw new Problem(400, `along takes ${ALONG_MOST} uids at most`)
  return { along: uids }
}

/** Clusters of the manager; undefined: any. Throws where one is unknown to who may see all. */
function withinOf(
  all: readonly KnownCluster[],
  asked: string | undefined,
  isWhole: boolean,
): ReadonlySet<ClusterId> | undefined {
  if (asked === undefined) return undefined
  // To others an unknown cluster is as one of which they may list nothing.
  if (!isWhole && !all.some(({ id, name }) => id === asked || name === asked)) return new Set()
  return new Set(namedClusters(all, asked).map(({ id }) => id))
}

function isReading({ isRead }: AcrossPart): boolean {
  return isRead
}

/** Whether a moment may be one of this cluster. */
function mayHave({ partition }: KnownCluster, at: Asked | undefined): boolean {
  return at?.type !== 'position' || at.partition === partition
}

/** Of a partition with a cluster that the answer names. */
function isOf(
  { parts, along, managers }: AcrossAnswer,
  all: readonly KnownCluster[],
): (each: AsOf) => boolean {
  const named = new Set([...parts, ...along, ...managers].map(({ cluster }) => cluster.id))
  const own = new Set(all.filter(({ id }) => named.has(id)).map(({ partition }) => partition))
  return ({ partition }) => own.has(partition)
}
