/**
 * Who may ask what, as clusters say: whom a token belongs to, and what that user may do.
 *
 * What must stay true: an answer that lets in counts for 60 s, one that refuses for 30 s, and for what changes anything none counts but a fresh one. Who
 * cannot be reviewed is not let in. Tokens are remembered by their digests only.
 *
 * Not here: the reviews themselves (ports/review.ts), what a question needs (services/graph/query/access.ts).
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../ports/clock.ts'
import { type Access, type Review, ReviewError, type User } from '../ports/review.ts'
import { Problem } from './problem.ts'

/** Whom our tokens have to be for. */
export const AUDIENCE = 'kinfold'
const ALLOWED_MS = 60_000
const DENIED_MS = 30_000
/** A cluster that takes longer counts as not to be asked. */
const REVIEW_MS = 5_000
/** Answers remembered; then the oldest are forgotten. */
const MOST_REMEMBERED = 10_000
/** Longer tokens fit into no header. */
const LONGEST = 8_192

export interface Authority {
  /** Undefined: nobody. Throws `Problem` when nobody can say. */
  identify(authorization: string | undefined, isFresh: boolean): Promise<User | undefined>
  /** `cluster` null: the one that says who somebody is. False where no cluster can say. */
  may(user: User, cluster: string | null, access: Access, isFresh: boolean): Promise<boolean>
}

export interface AuthorityParts {
  /** The first says who somebody is; each, what may be done in it. */
  readonly reviews: readonly [Review, ...Review[]]
  readonly clock: Pick<Clock, 'monotonicMs'>
}

interface Remembered<T> {
  readonly answer: T
  readonly until: number
}

export function createAuthority({ reviews, clock }: AuthorityParts): Authority {
  const users = new Map<string, Remembered<User | undefined>>()
  const rights = new Map<string, Remembered<boolean>>()
  const ids = new Map<Review, string>()

  async function remembered<T>(
    map: Map<string, Remembered<T>>,
    key: string,
    isFresh: boolean,
    isAllowing: (answer: T) => boolean,
    ask: () => Promise<T>,
  ): Promise<T> {
    const now = clock.monotonicMs()
    const known = map.get(key)
    if (!isFresh && known !== undefined && now < known.until) return known.answer
    const answer = await ask()
    const lifeMs = isAllowing(answer) ? ALLOWED_MS : DENIED_MS
    map.delete(key)
    map.set(key, { answer, until: now + lifeMs })
    const [oldest] = map.keys()
    if (map.size > MOST_REMEMBERED && oldest !== undefined) map.delete(oldest)
    return answer
  }

  async function reviewOf(cluster: string): Promise<Review | undefined> {
    for (const review of reviews) {
      const id = ids.get(review) ?? (await askedOf(review.identify(limit())).catch(() => undefined))
      if (id === undefined) continue
      ids.set(review, id)
      if (id === cluster) return review
    }
    return undefined
  }

  return {
    async identify(authorization = '', isFresh) {
      const token = /^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? ''
      if (token === '' || token.length > LONGEST) return undefined
      const key = createHash('sha256').update(token).digest('hex')
      const isKnown = (user: User | undefined): boolean => user !== undefined
      return await remembered(users, key, isFresh, isKnown, async () => {
        return (await askedOf(reviews[0].authenticate(token, AUDIENCE, limit()))) ?? undefined
      })
    },
    async may(user, cluster, access, isFresh) {
      const review = cluster === null ? reviews[0] : await reviewOf(cluster)
      if (review === undefined) return false
      const { verb, group, resource, namespace, name } = access
      const who = [user.name, user.uid, user.groups, user.extra]
      const key = JSON.stringify([who, cluster, verb, group, resource, namespace, name])
      return await remembered(
        rights,
        key,
        isFresh,
        (allowed) => allowed,
        async () => {
          return await askedOf(review.mayDo(user, access, limit()))
        },
      )
    },
  }
}

function limit(): AbortSignal {
  return AbortSignal.timeout(REVIEW_MS)
}

async function askedOf<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const isTimeout = error instanceof Error && error.name === 'TimeoutError'
    if (!isTimeout && !(error instanceof ReviewError)) throw error
    const why = isTimeout ? 'it took too long' : error.message
    throw new Problem(503, `no cluster can say just now who may ask here: ${why}`)
  }
}
