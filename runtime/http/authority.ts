/**
 * Who may ask what, as clusters say: whom a token belongs to, and what that user may do.
 *
 * What must stay true: an answer that lets in counts for 60 s, one that refuses for 30 s, and for
 * what changes anything none counts but a fresh one. A user who cannot be reviewed is not let in.
 * No user's questions make others wait: reviews of a cluster are shared by user (client.ts), and no
 * cluster is waited for but the one that is asked about.
 *
 * Not here: the reviews themselves (ports/review.ts), tokens (token-reviews.ts), what a question
 * needs (services/graph/query/ask/access.ts).
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'
import { type Access, type Review, ReviewError, type User } from '../../ports/review.ts'
import { Cuts } from '../shares/cuts.ts'
import { FairQueue } from '../shares/fair-queue.ts'
import { SharedMemory } from '../shares/shared-memory.ts'
import { holderOf, USERS } from './client.ts'
import { Problem } from './problem.ts'
import { REVIEW_MS, ReviewPlaces } from './review-places.ts'
import { type Shown, TokenReviews } from './token-reviews.ts'

/** Whom our tokens have to be for. */
export const AUDIENCE = 'kinfold'
const ALLOWED_MS = 60_000
const DENIED_MS = 30_000
/** Rights that were reviewed, by user; of service accounts by namespace. */
const REMEMBERED = { name: 'remembered rights', total: 10_000, floor: 100 }
/** Of one cluster, by the same. */
const WAITING = { name: 'access reviews', total: 1_000, floor: 16, groupFloor: 16 }
const AT_ONCE = 32
const OF_ONE = 16

export interface Authority {
  /** Undefined: no user has the token. Throws `Problem` when no cluster can say. */
  identify(shown: Shown, isFresh: boolean): Promise<User | undefined>
  /** `cluster` null: the one that says whose a token is. False where no cluster can say. */
  may(user: User, cluster: string | null, access: Access, isFresh: boolean): Promise<boolean>
}

export interface AuthorityParts {
  /** The first says whose a token is; each says what may be done in it. */
  readonly reviews: readonly [Review, ...Review[]]
  readonly clock: Clock
  readonly cuts?: Cuts
}

export function createAuthority(parts: AuthorityParts): Authority {
  const { reviews, clock, cuts = new Cuts(clock) } = parts
  const rights = new SharedMemory<boolean>({ cap: REMEMBERED, clock, cuts })
  const places = new ReviewPlaces(reviews, clock)
  // A cluster that is silent holds up what is asked of it, and nothing else.
  const queues = new Map(
    reviews.map((review) => {
      return [review, new FairQueue({ cap: WAITING, atOnce: AT_ONCE, ofOne: OF_ONE, cuts })]
    }),
  )
  const tokens = new TokenReviews({
    ...{ clock, cuts },
    ask: async (token) =>
      (await askedOf(reviews[0].authenticate(token, AUDIENCE, limit()))) ?? undefined,
  })
  /** Of those that do not have to be fresh: one review for all who ask for it meanwhile. */
  const underWay = new Map<string, Promise<boolean>>()

  async function reviewed(
    user: User,
    cluster: string | null,
    access: Access,
    key: string,
  ): Promise<boolean> {
    const review = cluster === null ? reviews[0] : await places.of(cluster)
    const queue = review && queues.get(review)
    if (review === undefined || queue === undefined) return false
    const client = { group: USERS, name: holderOf(user) }
    const isAllowed = await queue.run(
      client,
      async () => await askedOf(review.mayDo(user, access, limit())),
    )
    rights.set(client.name, key, isAllowed, isAllowed ? ALLOWED_MS : DENIED_MS)
    return isAllowed
  }

  return {
    identify: async (shown, isFresh) => await tokens.userOf(shown, isFresh),
    async may(user, cluster, access, isFresh) {
      const key = keyOf(user, cluster, access)
      if (isFresh) return await reviewed(user, cluster, access, key)
      const known = rights.get(key)
      if (known !== undefined) return known
      const shared = underWay.get(key)
      if (shared !== undefined) return await shared
      const answer = reviewed(user, cluster, access, key)
      underWay.set(key, answer)
      try {
        return await answer
      } finally {
        underWay.delete(key)
      }
    },
  }
}

/** Of one length, however many groups a user is in. */
function keyOf(user: User, cluster: string | null, access: Access): string {
  const { verb, group, resource, namespace, name } = access
  const who = [user.name, user.uid, user.groups, user.extra]
  const all = JSON.stringify([who, cluster, verb, group, resource, namespace, name])
  return createHash('sha256').update(all).digest('base64')
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
