/**
 * `GET /v1/across`: what tools' marks name as managed by an object, in all clusters.
 *
 * What must stay true: who may not see the whole graph gets what they may list, in whatever
 * cluster, and of the rest neither a number nor the name of a cluster. So nothing is refused there
 * that differs from an empty answer.
 *
 * Not here: what one process finds (across/across-part.ts), all of it (across/across-answer.ts).
 */
import type { FastifyInstance } from 'fastify'
import { type MarkSettings, TOOLS } from '../../../../ports/record/manager-mark.ts'
import { Problem } from '../../../../runtime/http/problem.ts'
import { documentOf } from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { joined } from '../across/across-answer.ts'
import { type AcrossPart, acrossIn } from '../across/across-part.ts'
import { onePerPartition } from '../answer/held.ts'
import { leftOut, ownThen } from '../answer/held-then.ts'
import { askedIn } from '../index/moment.ts'
import { clusterRefs } from '../view/cluster-label.ts'
import { type Answer, readJson } from '../view/forward-call.ts'
import { LEFT_OUT } from '../view/sight.ts'
import type { View } from '../view/view.ts'
import { askedOf } from './choice.ts'
import { meantIn } from './list-question.ts'
import { json, type QuestionParts, scopedClusters } from './question.ts'

/** Objects that an answer lists, unless it is asked for another number, and at most. */
const LISTED = 500
const LISTED_MOST = 10_000

const OFF = `no marks are read: the setting across.marks names none of ${TOOLS.join(', ')}`

export function addAcross(
  server: FastifyInstance,
  parts: QuestionParts & { readonly marks: MarkSettings },
): void {
  const { access, clusters, forwarding, marks, oneAtATime, open } = parts
  server.get('/v1/across', async (request, reply) => {
    const isWhole = await access.mayAll(request)
    const { kind = '', name = '', namespace, at: text, limit: most } = askedOf(request)
    const at = text === undefined ? undefined : askedIn(text)
    if (kind === '' || name === '') throw new Problem(400, 'ask with kind and name')
    const limit = Math.min(Number(most ?? LISTED), LISTED_MOST)
    const word = await clusters.kindWord(kind)
    const asked = { kind, word, namespace, name, limit }
    const sight = async (cluster: string) => await access.sight(request, cluster, 'list')
    const inTurn = async (views: readonly View[]): Promise<AcrossPart> =>
      await oneAtATime(request, async () => {
        return await acrossIn(views, asked, { settings: marks, sight })
      })
    const own = async (views: readonly View[]): Promise<AcrossPart> =>
      at === undefined ? await inTurn(views) : await ownThen(views, at, { open, own: inTurn })
    const mine = await forwarding.ownOf(request, reply)
    if (mine !== undefined) return json(await own(mine))
    const all = await clusters.all()
    const named = await scopedClusters(parts, request, { isWhole })
    const refOf = clusterRefs(all)
    const meant = meantIn(
      all.map((each) => ({ ...each, ...refOf(each.id) })),
      at,
    )
    const read = async (answer: Answer): Promise<AcrossPart> =>
      (await readJson(answer)) as AcrossPart
    const { all: gathered, partial } = await forwarding.gathered(request, reply, {
      ...{ asked: meant, own, read },
    })
    const answers = gathered.map(({ answer }) => answer)
    const left = at === undefined || !isWhole ? '' : leftOut(answers, meant, partial)
    const isNamed = askedOf(request)['cluster'] !== undefined
    const within = isNamed ? new Set(named.map(({ id }) => id)) : undefined
    const answer = joined(answers, { asked: { kind, namespace, name }, within, refOf, limit })
    const doubts = new Set([
      ...(marks.tools.length === 0 ? [OFF] : []),
      ...(isWhole ? [] : [LEFT_OUT]),
      ...[partial, left, ...answers.map((each) => each.partial)],
    ])
    const lacks = [...doubts].filter((each) => each !== '').join('; ')
    if (at !== undefined && lacks === '') markImmutable(reply)
    const asOf = onePerPartition(answers.flatMap((each) => each.asOf))
    return documentOf('Across', { answer, partial: lacks, asOf })
  })
}
