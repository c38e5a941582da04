/**
 * How much audit logs may bring: of each cluster so many bytes at once, and so many as time goes on.
 *
 * What must stay true: what is refused is refused before its body is read; one cluster takes nothing from another; whoever is refused is told when to come again, and an
 * API server does.
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'

/** Of one request: its JSON is read in one go, without a turn for others. */
export const MOST_BYTES: number = 1024 * 1024
/** Of a cluster: what it may bring in a burst, and a second. */
const BURST_BYTES = 8 * MOST_BYTES
const BYTES_A_SECOND = 2 * MOST_BYTES
/** Requests of a cluster under way at once: each holds its body. */
const MOST_AT_ONCE = 8

interface Feed {
  /** Bytes that it may still bring, as of `at`. */
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

  /** To be disposed of when the request is over. `cluster`: one that is known, so there are not many. */
  take(cluster: ClusterId, bytes: number): Taken {
    const now = this.#clock.monotonicMs()
    const feed = this.#feeds.get(cluster) ?? { left: BURST_BYTES, at: now, open: 0 }
    this.#feeds.set(cluster, feed)
    feed.left = Math.min(BURST_BYTES, feed.left + ((now - feed.at) * BYTES_A_SECOND) / 1_000)
    feed.at = now
    if (feed.open >= MOST_AT_ONCE) return refused(1)
    if (bytes > feed.left) return refused(Math.ceil((bytes - feed.left) / BYTES_A_SECOND))
    feed.left -= bytes
    feed.open += 1
    return {
      waitSeconds: 0,
      [Symbol.dispose]: () => {
        feed.open -= 1
      },
    }
  }
}

function refused(waitSeconds: number): Taken {
  return { waitSeconds, [Symbol.dispose]: () => undefined }
}
