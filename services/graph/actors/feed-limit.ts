/**
 * How fast audit logs are read: a number of requests at once for each cluster, and a share of the
 * time of this process.
 *
 * What must stay true: no request is refused for its size, which any client of an API server
 * chooses, and which would cost all events beside its own: a request that takes long is read more
 * slowly. A request is refused before its body is read, with the time after which to send it again,
 * which an API server does. No cluster takes the share of another.
 *
 * Not here: which events are kept (audit-feed.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'

/** Of a cluster: how long reading may take in a burst, and of each second. */
export const BURST_MS = 2_000
export const PART = 0.25
/**
 * Requests of a cluster under way at once: each holds a piece of its body, and what is kept of it.
 */
export const MOST_AT_ONCE = 8

interface Feed {
  /** Milliseconds that it may take at once, as of `at`. Less than nothing: it has to wait. */
  left: number
  at: number
  open: number
}

export interface Taken extends Disposable {
  /** Seconds to wait; zero: it may come. */
  readonly waitSeconds: number
}

export class FeedLimit {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #feeds = new Map<ClusterId, Feed>()

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  /**
   * To be disposed of when the request is over. `cluster`: one that is known, so there are not
   * many.
   */
  take(cluster: ClusterId): Taken {
    const feed = this.#feedOf(cluster)
    if (feed.open >= MOST_AT_ONCE) return { waitSeconds: 1, [Symbol.dispose]: () => undefined }
    feed.open += 1
    return {
      waitSeconds: 0,
      [Symbol.dispose]: () => {
        feed.open -= 1
      },
    }
  }

  /** Milliseconds to wait before more is read, after reading has taken so many. */
  pauseAfter(cluster: ClusterId, spentMs: number): number {
    const feed = this.#feedOf(cluster)
    const now = this.#clock.monotonicMs()
    feed.left = Math.min(BURST_MS, feed.left + (now - feed.at) * PART) - spentMs
    feed.at = now
    return feed.left >= 0 ? 0 : Math.ceil(-feed.left / PART)
  }

  #feedOf(cluster: ClusterId): Feed {
    const known = this.#feeds.get(cluster)
    if (known !== undefined) return known
    const fresh = { left: BURST_MS, at: this.#clock.monotonicMs(), open: 0 }
    this.#feeds.set(cluster, fresh)
    return fresh
  }
}
