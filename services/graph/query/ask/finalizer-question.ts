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
import type { FinalizerList } from '../../api/answer-schema.ts'
import { type AnswerOf, documentOf } from '../../api/document.ts'
import { OVERDUE_MS } from '../../config.ts'
import { type StuckAsked, stuckPage } from '../answer/stuck-list.ts'
import { momentIn } from '../index/moment.ts'
import { finalizerPlanOf } from '../plan/finalizer-plan.ts'
import { askedOf } from './choice.ts'
import { pageIn } from './list-question.ts'
import { namedClusters } from './not-found.ts'
import { aboutOne, type QuestionParts } from './question.ts'

const LISTED = 100
const LISTED_MOST = 500

type StuckList = AnswerOf<FinalizerList>

export function addFinalizers(server: FastifyInstance, parts: QuestionParts): void {
  const { clusters, query } = parts
  server.get('/v1/finalizers', async (request, reply) => {
    const words = askedOf(request)
    const asked = stuckAsked(words)
    const named = namedClusters(await clusters.all(words['cluster']), words['cluster'])
    const listed = await pageIn(parts, request, reply, {
      ...{ question: { route: '/v1/finalizers', words }, named, at: asked.at },
      empty: (next): StuckList => ({ objects: [], continue: next }),
      page: async (view, cluster, after) => {
        const { answer, partial } = await stuckPage(view, { cluster, query }, asked, after)
        const { objects, next } = answer
        return { answer: (rest): StuckList => ({ objects, continue: rest }), next, partial }
      },
    })
    return 'answer' in listed ? documentOf('FinalizerList', listed) : listed
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
  const { olderThan, namespace, finalizer, limit = `${LISTED}` } = words
  return {
    olderThanMs: olderThan === undefined ? OVERDUE_MS : Number(olderThan) * 1_000,
    ...{ namespace, finalizer },
    limit: Math.min(Number(limit), LISTED_MOST),
    at: momentIn(words),
  }
}
