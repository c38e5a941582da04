/**
 * Whom a token belongs to, as a cluster says: asked once for all who show it at that time, and
 * remembered for a while.
 *
 * What must stay true: of one token one review is under way at a time. A token that the cluster
 * knew within the last hour waits for no unknown one; how many unknown ones are reviewed, at once
 * and a second, is shared by source address, so a client that makes up tokens is refused, and no
 * other one. What is remembered of refused ones pushes out no known one. For what changes anything
 * no review counts that began before it was asked for. Tokens are remembered by their digests only.
 *
 * Not here: what a user may do (authority.ts).
 */
import { createHash } from 'node:crypto'
import type { Clock } from '../../ports/clock.ts'
import type { User } from '../../ports/review.ts'
import type { Cuts } from '../shares/cuts.ts'
import { FairQueue } from '../shares/fair-queue.ts'
import type { Holder } from '../shares/grouped-shares.ts'
import { Rates } from '../shares/rates.ts'
import { SharedMemory } from '../shares/shared-memory.ts'
import { holderOf } from './client.ts'
import { Problem } from './problem.ts'

const ALLOWED_MS = 60_000
const DENIED_MS = 30_000
/** After its last good review a token is no unknown one. */
const KNOWN_MS = 3_600_000
/** Longer tokens fit into no header. */
const LONGEST = 8_192
const KNOWN = { name: 'known tokens', total: 10_000, floor: 16 }
const REFUSED = { name: 'refused tokens', total: 10_000, floor: 16 }
const UNKNOWN = 'unknown'
/** `known` ones and `unknown` ones are the groups. */
const WAITING = { name: 'token reviews', total: 256, floor: 4, groupFloor: 64 }
const AT_ONCE = 16
/** So that a known one never waits for a cluster that unknown ones keep busy. */
const OF_UNKNOWN = 12
const OF_ONE = 4
/** Unknown tokens from one source. */
const A_SECOND = 10
const RATE = 'token reviews a second'

export interface Shown {
  /** The value of the header. */
  readonly authorization: string | undefined
  /** Where the request comes from (client.ts `sourceOf`). */
  readonly source: string
}

interface Known {
  readonly user: User
  /** Monotonic. */
  readonly at: number
}

interface UnderWay {
  readonly began: number
  readonly answer: Promise<User | undefined>
}

export interface TokenReviewsParts {
  readonly ask: (token: string) => Promise<User | undefined>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly cuts: Cuts
}

export class TokenReviews {
  readonly #parts: TokenReviewsParts
  readonly #known: SharedMemory<Known>
  readonly #refused: SharedMemory<true>
  readonly #queue: FairQueue
  readonly #rates: Rates
  readonly #underWay = new Map<string, UnderWay>()
  /** Of requests and reviews, in the order in which they begin. */
  #last = 0

  constructor(parts: TokenReviewsParts) {
    const { clock, cuts } = parts
    this.#parts = parts
    this.#known = new SharedMemory({ cap: KNOWN, clock, cuts })
    this.#refused = new SharedMemory({ cap: REFUSED, clock, cuts })
    this.#queue = new FairQueue({
      ...{ cap: WAITING, atOnce: AT_ONCE, ofOne: OF_ONE, cuts },
      ofGroup: new Map([[UNKNOWN, OF_UNKNOWN]]),
    })
    this.#rates = new Rates(clock, A_SECOND)
    cuts.know(RATE)
  }

  /** Undefined: no user has the token. Throws `Problem` when no cluster can say, or not now. */
  async userOf({ authorization = '', source }: Shown, isFresh: boolean): Promise<User | undefined> {
    const token = /^Bearer +([!-~]+)$/i.exec(authorization)?.[1] ?? ''
    if (token === '' || token.length > LONGEST) return undefined
    const key = createHash('sha256').update(token).digest('hex')
    const now = this.#parts.clock.monotonicMs()
    const known = this.#known.get(key)
    if (!isFresh && known !== undefined && now < known.at + ALLOWED_MS) return known.user
    // The token of an order is reviewed anew, as unknown, even if it was refused a moment ago.
    if (!isFresh && this.#refused.get(key) === true) return undefined
    const asked = ++this.#last
    for (let one = this.#underWay.get(key); one !== undefined; one = this.#underWay.get(key)) {
      if (!isFresh || one.began > asked) return await one.answer
      await one.answer.catch(() => undefined)
    }
    const began = ++this.#last
    const answer = this.#reviewed(token, key, source)
    this.#underWay.set(key, { began, answer })
    try {
      return await answer
    } finally {
      if (this.#underWay.get(key)?.began === began) this.#underWay.delete(key)
    }
  }

  async #reviewed(token: string, key: string, source: string): Promise<User | undefined> {
    const { ask, clock } = this.#parts
    const user = await this.#queue.run(this.#holderOf(key, source), async () => await ask(token))
    if (user !== undefined) {
      this.#refused.delete(key)
      this.#known.set(holderOf(user), key, { user, at: clock.monotonicMs() }, KNOWN_MS)
    } else {
      this.#known.delete(key)
      this.#refused.set(source, key, true, DENIED_MS)
    }
    return user
  }

  /** Throws where an unknown token may not be asked about now. */
  #holderOf(key: string, source: string): Holder {
    const known = this.#known.get(key)
    if (known !== undefined) return { group: 'known', name: holderOf(known.user) }
    if (this.#rates.take(source)) return { group: UNKNOWN, name: source }
    this.#parts.cuts.note(RATE, source)
    throw new Problem(
      429,
      `more than ${A_SECOND} unknown tokens a second come from your address; ask again in a second`,
    )
  }
}
