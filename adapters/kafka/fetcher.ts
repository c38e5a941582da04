/**
 * Reads pages of partitions over a pool of connections: a broker answers one request after the
 * other on each, so a read that waits has one for itself.
 *
 * What must stay true: entries fetched beyond the requested limit are kept for the read that
 * continues there, and for no other; the connection of an abandoned read is unused until the broker
 * has answered. A caller that asks for one entry does not read on there: for that one batch is
 * fetched, and nothing kept, or a binary search for a time would leave a mebibyte at each offset.
 */
import type { Clock } from '../../ports/clock.ts'
import { type Entry, LogError, type Page } from '../../ports/log.ts'
import { BrokerError, CODE, codeOf, isPassing, logErrorOf } from './failure.ts'
import type { Link } from './inside.ts'
import type { Fetched, FetchedPlace } from './protocol/fetch.ts'
import { fetchPage, PAGE_BYTES } from './protocol/fetch.ts'

/** A broker waits this long at most, so that an abandoned read frees its connection. */
const POLL_MS = 5_000
/** How long a read is tried for while brokers cannot be reached or move leaders. */
const TRIES_MS = 10_000
const TRY_WAIT_MS = 50
/** Remainders kept; a reader that continues elsewhere leaves one behind. */
const MOST_RESTS = 64

export interface Asked {
  readonly topic: string
  readonly partition: number
  readonly from: bigint
  readonly limit: number
  readonly waitMs: number
}

/**
 * Batches that were fetched and not read: packed as they came, except the rest of a batch that a
 * page left.
 */
interface Rest {
  readonly entries: readonly Entry[]
  /** After `entries`. */
  readonly next: bigint
  readonly parts: Fetched['parts']
}

export class Fetcher {
  readonly #open: () => Promise<Link>
  readonly #clock: Clock
  readonly #free: Link[] = []
  readonly #links = new Set<Link>()
  readonly #rests = new Map<string, Rest>()
  readonly #closed = new AbortController()

  /** `open` gives a connected link. */
  constructor(open: () => Promise<Link>, clock: Clock) {
    this.#open = open
    this.#clock = clock
  }

  async read(asked: Asked, signal?: AbortSignal): Promise<Page> {
    const { topic, partition, limit, waitMs } = asked
    const maxBytes = limit === 1 ? 1 : PAGE_BYTES
    const deadline = this.#clock.monotonicMs() + waitMs
    const either = signal ? AbortSignal.any([signal, this.#closed.signal]) : this.#closed.signal
    let { from } = asked
    for (;;) {
      either.throwIfAborted()
      const kept = this.#takeRest(`${topic}/${partition}/${from}`)
      const leftMs = Math.max(deadline - this.#clock.monotonicMs(), 0)
      const place = { topic, partition, from, waitMs: Math.min(leftMs, POLL_MS), maxBytes }
      const rest = kept ?? (await abandonable(this.#fetched(place), either))
      const page = this.#cut(asked, rest)
      if (page.entries.length > 0) return page
      // A position that moved on over markers, or that was taken back, may find an entry after
      // them.
      if (leftMs === 0 && page.next === from) return page
      from = page.next
    }
  }

  async #fetched(place: FetchedPlace): Promise<Rest> {
    const { parts } = await this.#fetch(place)
    return { entries: [], next: place.from, parts }
  }

  #cut({ topic, partition, limit }: Asked, { entries: left, next, parts }: Rest): Page {
    const entries = [...left]
    let end = next
    let isWhole = false
    while (entries.length < limit && !isWhole) {
      const part = parts.next()
      if (part.done === true) isWhole = true
      else {
        for (const entry of part.value.entries) entries.push(entry)
        end = part.value.next
      }
    }
    if (isWhole) return { entries, next: end }
    const page = entries.slice(0, limit)
    const on = entries.length > limit ? page[page.length - 1]!.offset + 1n : end
    if (limit === 1) return { entries: page, next: on }
    this.#rests.set(`${topic}/${partition}/${on}`, {
      entries: entries.slice(limit),
      next: end,
      parts,
    })
    const [oldest] = this.#rests.keys()
    if (this.#rests.size > MOST_RESTS && oldest !== undefined) this.#rests.delete(oldest)
    return { entries: page, next: on }
  }

  #takeRest(place: string): Rest | undefined {
    const rest = this.#rests.get(place)
    this.#rests.delete(place)
    return rest
  }

  async #fetch(place: FetchedPlace): Promise<Fetched> {
    const deadline = this.#clock.monotonicMs() + TRIES_MS
    const doing = `reading partition ${place.partition} of ${place.topic}`
    let isToldTwice = false
    for (;;) {
      let link = this.#free.pop()
      try {
        link ??= await this.#openOne()
        return await this.#fetchOver(link, place)
      } catch (error) {
        // A broker that was suspended and does not know yet that others lead now reports all newer
        // offsets as out of range.
        const isOutside = codeOf(error) === CODE.offsetOutOfRange
        if (isOutside && isToldTwice) throw outOfRange(place)
        isToldTwice ||= isOutside
        if (
          !(isOutside || isPassing(error)) ||
          this.#clock.monotonicMs() >= deadline ||
          this.#closed.signal.aborted
        ) {
          throw logErrorOf(error, doing, 'UNAVAILABLE')
        }
        await this.#clock.sleep(TRY_WAIT_MS)
        await link?.refresh().catch(() => undefined)
      } finally {
        if (link !== undefined) this.#free.push(link)
      }
    }
  }

  async #fetchOver(link: Link, place: FetchedPlace): Promise<Fetched> {
    const leader = link.leaderOf(place.topic, place.partition)
    if (leader === undefined) {
      throw new BrokerError(CODE.leaderNotAvailable, `${place.topic} has no leader`)
    }
    return await fetchPage(link, await link.broker(leader), place)
  }

  async #openOne(): Promise<Link> {
    this.#closed.signal.throwIfAborted()
    const link = await this.#open()
    this.#links.add(link)
    return link
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new LogError('CLOSED', 'This log is closed: open it'))
    await Promise.all([...this.#links].map((link) => link[Symbol.asyncDispose]()))
  }
}

function outOfRange({
  topic,
  partition,
  from,
}: {
  topic: string
  partition: number
  from: bigint
}): LogError {
  const message = `Partition ${partition} of ${topic} does not hold offset ${from}: start from a snapshot or a relist`
  return new LogError('OUT_OF_RANGE', message)
}

/**
 * Rejects with the signal's reason as soon as it aborts; the work continues, and its result is
 * dropped.
 */
async function abandonable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
    work.catch(() => undefined)
  }
}
