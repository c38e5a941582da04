/**
 * Which of the reviewing clusters is the one that is asked about.
 *
 * What must stay true: who asks about a cluster waits for that one alone: all are asked side by
 * side who they are, the answer counts as soon as one is it, and one that once gave no answer is
 * asked again in the background. What a cluster said of itself is asked again now and then, since
 * behind an address there may be another one later.
 *
 * Not here: the reviews (authority.ts).
 */
import type { Clock } from '../../ports/clock.ts'
import type { Review } from '../../ports/review.ts'

/** A cluster that takes longer is not waited for. */
export const REVIEW_MS = 5_000
const ASK_AGAIN_MS = 60_000
const RETRY_MS = 10_000

interface Place {
  readonly review: Review
  id: string | undefined
  /** Monotonic: when it is asked again. */
  dueAt: number
  asking: Promise<void> | undefined
  /** It has been asked to the end at least once. */
  wasAsked: boolean
}

export class ReviewPlaces {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #places: readonly Place[]

  constructor(reviews: readonly Review[], clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
    this.#places = reviews.map((review) => ({
      ...{ review, id: undefined, dueAt: Number.NEGATIVE_INFINITY },
      ...{ asking: undefined, wasAsked: false },
    }))
  }

  /** Undefined: none of them has said that it is this one. */
  async of(cluster: string): Promise<Review | undefined> {
    for (const place of this.#places) this.#ask(place)
    const known = this.#known(cluster)
    if (known !== undefined) return known
    const first = this.#places.filter(({ wasAsked }) => !wasAsked)
    const isFound = Promise.withResolvers<void>()
    const answered = first.map(async ({ asking }) => {
      await asking
      if (this.#known(cluster) !== undefined) isFound.resolve()
    })
    await Promise.race([isFound.promise, Promise.all(answered)])
    return this.#known(cluster)
  }

  #known(cluster: string): Review | undefined {
    return this.#places.find(({ id }) => id === cluster)?.review
  }

  #ask(place: Place): void {
    if (place.asking !== undefined || this.#clock.monotonicMs() < place.dueAt) return
    place.asking = this.#identified(place)
  }

  async #identified(place: Place): Promise<void> {
    let waitMs = RETRY_MS
    try {
      place.id = await place.review.identify(AbortSignal.timeout(REVIEW_MS))
      waitMs = ASK_AGAIN_MS
    } catch {
      // It is who it was, as far as is known; until it says something, it is asked again.
    }
    place.dueAt = this.#clock.monotonicMs() + waitMs
    place.asking = undefined
    place.wasAsked = true
  }
}
