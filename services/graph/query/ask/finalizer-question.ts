/**
 * `GET /v1/finalizers`: what finalizers hold for long, in all clusters or in one, a page at a time;
 * `GET /v1/plan/finalizer`: what removing one means.
 *
 * What must stay true: as of the list of objects (list-question.ts), a page is about one cluster,
 * and `continue` leads through all.
 *
 * Not here: what is on a page (answer/stuck-list.ts), removing one (orders/directive-http.ts).
 */
import type { FastifyInstance } from 'fastify'
import { Problem } from '../../../../runtime/http/problem.ts'
import { clusterRefs, documentOf } from '../../api/document.ts'
import { markImmutable } from '../../api/etag.ts'
import { OVERDUE_MS } from '../../config.ts'
import { type StuckAsked, stuckPage } from '../answer/stuck-list.ts'
import { cursorText } from '../index/cursor.ts'
import { askedIn } from '../index/moment.ts'
import { finalizerPlanOf } from '../plan/finalizer-plan.ts'
import { readThen } from '../view/open-view.ts'
import { askedOf } from './choice.ts'
import { meantIn, PASSED_OVER, turnOf } from './list-question.ts'
import { namedClusters } from './not-found.ts'
import { aboutOne, type QuestionParts } from './question.ts'

const LISTED = 100
const LISTED_MOST = 500

export function addFinalizers(server: FastifyInstance, parts: QuestionParts): void {
  const { clusters, forwarding, open, query } = parts
  server.get('/v1/finalizers', async (request, reply) => {
    const words = askedOf(request)
    const asked = stuckAsked(words)
    const question = { route: '/v1/finalizers', words }
    const all = await clusters.all()
    const named = namedClusters(all, words['cluster'])
    const turn = turnOf(request, question, meantIn(named, asked.at))
    const empty = { objects: [], continue: null }
    if (turn === undefined) {
      return documentOf('FinalizerList', { answer: empty, partial: '', asOf: [] })
    }
    const { cluster, after, next } = turn
    try {
      return await forwarding.answered(request, reply, cluster, async (here) => {
        const of = { cluster: clusterRefs(all)(cluster), query }
        const view = await open(here, asked.at)
        const asOf = [view.asOf()]
        const { answer, partial } = await readThen(view, () => stuckPage(view, of, asked, after))
        if (view.moment !== null && partial === '') markImmutable(reply)
        const { objects, next: key } = answer
        const rest = key === null ? next : cursorText(question, [cluster, key])
        return documentOf('FinalizerList', { answer: { objects, continue: rest }, partial, asOf })
      })
    } catch (error) {
      const isAway = error instanceof Problem && PASSED_OVER.has(error.status)
      if (!isAway || turn.isOnly) throw error
      const answer = { ...empty, continue: next }
      return documentOf('FinalizerList', { answer, partial: error.message, asOf: [] })
    }
  })
  const about = aboutOne(parts)
  server.get('/v1/plan/finalizer', async (request, reply) => {
    const { finalizer } = askedOf(request)
    if (!finalizer) throw new Problem(400, 'finalizer: say which one')
    return await about('FinalizerPlan', request, reply, async (view, { object }) => {
      const node = view.node(object.uid)
      if (node === undefined) {
        throw new Problem(409, `${object.kind}/${object.name} is deleted already`)
      }
      return { answer: finalizerPlanOf(view, node, finalizer), partial: '' }
    })
  })
}

function stuckAsked(words: Readonly<Record<string, string | undefined>>): StuckAsked {
  const { olderThan, namespace, finalizer, limit = `${LISTED}`, at } = words
  return {
    olderThanMs: olderThan === undefined ? OVERDUE_MS : Number(olderThan) * 1_000,
    ...{ namespace, finalizer },
    limit: Math.min(Number(limit), LISTED_MOST),
    at: at === undefined ? undefined : askedIn(at),
  }
}
