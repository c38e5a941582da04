/**
 * The right to see all of every cluster: to get `graphs` of our group, in the cluster that says
 * whose a token is.
 *
 * What must stay true: it is one question, wherever it is asked; a client that showed a token of
 * the file, or is local, has it; if it is unclear, no client has it.
 */
import type { FastifyRequest } from 'fastify'
import type { Access } from '../../ports/review.ts'
import type { Authority } from './authority.ts'
import { principalOf } from './principal.ts'

/** A resource that no cluster serves: roles may name it all the same. */
export const GROUP = 'kinfold.dev'

const WHOLE: Access = { verb: 'get', group: GROUP, resource: 'graphs', namespace: '', name: '' }

export interface ReadingRights {
  /** Undefined where no cluster says whose a token is. */
  readonly authority?: Authority | undefined
  /** Whether reading takes rights in the clusters, too. */
  readonly isReadingReviewed?: boolean | undefined
}

/** Rejects with a `Problem` where no cluster can say. */
export async function maySeeAll(
  request: FastifyRequest,
  { authority, isReadingReviewed = false }: ReadingRights,
): Promise<boolean> {
  const { user } = principalOf(request)
  if (user === null || !isReadingReviewed) return true
  return authority !== undefined && (await authority.may(user, null, WHOLE, false))
}
