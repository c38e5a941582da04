/**
 * Answers that go on for as long as they are read: how many an endpoint gives at a time, and which
 * one ends for another client's.
 *
 * What must stay true: a client that has few gets one; for it ends the oldest of the client that
 * has most, which gets the reason and may go on from where it was. A client that has the most
 * itself is refused another one.
 *
 * Not here: how long a reader may not read (connections.ts), how much is written at once (the
 * routes).
 */
import type { FastifyRequest } from 'fastify'
import { Problem } from '../http/problem.ts'
import type { Cuts } from './cuts.ts'
import { GroupedShares, type Holder, isSame } from './grouped-shares.ts'

/** Each holds a page of records, and what its reader has not read yet. */
export const MOST_STREAMS = 64
/** Of operators, which users cannot take; of users, which operators cannot. */
const OF_A_GROUP = 16

type End = (reason: Problem) => void

export class Streams {
  readonly #shares: GroupedShares
  /** By client; those of one in the order in which they began. */
  readonly #open = new Map<string, Set<End>>()

  constructor(cuts: Cuts) {
    const cap = { name: 'streams', total: MOST_STREAMS, floor: 1, groupFloor: OF_A_GROUP }
    this.#shares = new GroupedShares(cap, cuts)
  }

  get open(): number {
    return this.#shares.taken
  }

  /** Takes a place, to be given back; undefined when no other client has more of them. */
  take(client: Holder, end: End): Disposable | undefined {
    for (let giver = this.#shares.giver(client); giver; giver = this.#shares.giver(client)) {
      if (isSame(giver, client)) break
      this.#endOldest(giver)
    }
    if (!this.#shares.take(client)) return undefined
    const own = this.#open.get(keyOf(client)) ?? new Set<End>()
    this.#open.set(keyOf(client), own)
    own.add(end)
    return { [Symbol.dispose]: () => this.#giveBack(client, end) }
  }

  #endOldest(client: Holder): void {
    const [oldest] = this.#open.get(keyOf(client)) ?? []
    if (oldest === undefined) throw new Error(`${keyOf(client)} has streams, and none is open`)
    this.#giveBack(client, oldest)
    this.#shares.cut(client)
    oldest(
      new Problem(
        429,
        `all ${MOST_STREAMS} streams are open, you have more of them than others, and another client needs one: your oldest was ended; go on behind the last line that you read`,
      ),
    )
  }

  /** Once each, whichever comes first: its end for another one, or that it is read. */
  #giveBack(client: Holder, end: End): void {
    const own = this.#open.get(keyOf(client))
    if (own?.delete(end) !== true) return
    this.#shares.give(client)
    if (own.size === 0) this.#open.delete(keyOf(client))
  }
}

function keyOf({ group, name }: Holder): string {
  return `${group} ${name}`
}

const ends = new WeakMap<object, AbortController>()

/** For a route that streams: aborts with the `Problem` for which the stream has to end. */
export function streamEnd(request: FastifyRequest): AbortSignal {
  const known = ends.get(request.raw)
  if (known !== undefined) return known.signal
  const fresh = new AbortController()
  ends.set(request.raw, fresh)
  return fresh.signal
}

export function endStream(request: FastifyRequest, reason: Problem): void {
  streamEnd(request)
  ends.get(request.raw)?.abort(reason)
}
