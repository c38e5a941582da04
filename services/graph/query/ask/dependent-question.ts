/**
 * `GET /v1/dependents`: the direct dependents of one object, a page at a time.
 *
 * What must stay true: `continue` leads on below the same object, whatever has its name by then. It
 * holds the uid of that object, which who asks may get, and no name.
 *
 * Not here: what is on a page (dependent-list.ts), which object is meant and who may ask
 * (question.ts).
 */
import type { FastifyInstance } from 'fastify'
import { Problem } from '../../../../runtime/http/problem.ts'
import type { DependentList as DependentListDocument } from '../../api/answer-schema.ts'
import type { AnswerOf } from '../../api/document.ts'
import { type DependentsAsked, LISTED, LISTED_MOST } from '../answer/dependent-list.ts'
import { cursorIn, cursorText, strange } from '../index/cursor.ts'
import type { Named } from '../index/history-index.ts'
import { askedOf } from './choice.ts'
import { aboutOne, type QuestionParts } from './question.ts'

/** One page. */
export type DependentsAnswer = AnswerOf<DependentListDocument>

/** As they are in keys (history-index.ts). */
const KEY_PART = /^[\w.~%-]{0,4000}$/

export function addDependents(server: FastifyInstance, parts: QuestionParts): void {
  const about = aboutOne(parts)
  server.get('/v1/dependents', async (request, reply) => {
    return await about('DependentList', request, reply, async (view, { object }) => {
      const asked = dependentsAsked(askedOf(request), object)
      const sight = await parts.access.sight(request, view.cluster, 'get')
      const identity = view.identityOf(object)
      const { answer, partial } = await parts.dependents.page(view, identity, asked, sight)
      const { next, ...page } = answer
      const { group, kind, namespace, name, uid } = object
      const owner = { group, kind, namespace, name, uid }
      const told: DependentsAnswer = { owner, ...page, continue: next && cursorOf(object, next) }
      return { answer: told, partial }
    })
  })
}

function dependentsAsked(words: Record<string, string | undefined>, owner: Named): DependentsAsked {
  return {
    limit: Math.min(Number(words['limit'] ?? LISTED), LISTED_MOST),
    isCounted: words['count'] === 'true',
    from: fromIn(words['continue'], owner),
  }
}

/** An object may be asked for by name or by uid: the cursor names it. */
const QUESTION = { route: '/v1/dependents', words: {} }

function cursorOf({ cluster, uid }: Named, from: string): string {
  return cursorText(QUESTION, [cluster, uid, from])
}

function fromIn(text: string | undefined, { cluster, uid, kind, name }: Named): string {
  if (text === undefined || text === '') return ''
  const [of, owner, from, more] = cursorIn(text, QUESTION) ?? []
  const isCursor = typeof from === 'string' && KEY_PART.test(from) && more === undefined
  if (!isCursor || typeof owner !== 'string' || of !== cluster) throw strange()
  if (owner === uid) return from
  throw new Problem(400, `continue is of another object than ${kind}/${name} is now: ask with uid`)
}
