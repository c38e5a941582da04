/**
 * Gathers the offsets that are asked for in one turn of the event loop into one request to each
 * broker, or a question over all partitions would wait for as many answers, one after the other.
 *
 * What must stay true: an answer is of a request that was sent after it was asked for. A partition
 * that is refused fails alone.
 *
 * Not here: when to ask again (log.ts), the contents of a request (protocol/list-offsets.ts).
 */
import { BrokerError, CODE } from './failure.ts'
import type { Link } from './inside.ts'
import { listOffsets, type OffsetAsked, placeOf } from './protocol/list-offsets.ts'

interface Waiting extends OffsetAsked, PromiseWithResolvers<bigint | undefined> {}

export class OffsetRequests {
  readonly #link: Link
  #waiting = new Map<string, Waiting>()

  constructor(link: Link) {
    this.#link = link
  }

  /** Undefined where no record is that late. */
  async ask(asked: OffsetAsked): Promise<bigint | undefined> {
    const key = `${placeOf(asked)}/${asked.timestamp}`
    let waiting = this.#waiting.get(key)
    if (waiting === undefined) {
      waiting = { ...asked, ...Promise.withResolvers<bigint | undefined>() }
      if (this.#waiting.size === 0) setImmediate(() => void this.#send())
      this.#waiting.set(key, waiting)
    }
    return await waiting.promise
  }

  async #send(): Promise<void> {
    const due = [...this.#waiting.values()]
    this.#waiting = new Map()
    const leaders = Map.groupBy(due, (each) => this.#link.leaderOf(each.topic, each.partition))
    const requests = [...leaders].flatMap(([leader, all]) => {
      return inRequests(all).map(async (some) => await this.#sendTo(leader, some))
    })
    await Promise.all(requests)
  }

  async #sendTo(leader: number | undefined, all: readonly Waiting[]): Promise<void> {
    try {
      if (leader === undefined) {
        throw new BrokerError(CODE.leaderNotAvailable, `${all[0]?.topic} has no leader`)
      }
      const found = await listOffsets(this.#link, await this.#link.broker(leader), all)
      for (const { resolve, reject, ...asked } of all) {
        const { code, offset } = found.get(placeOf(asked)) ?? NOT_ANSWERED
        if (code === CODE.none) resolve(offset)
        else reject(new BrokerError(code, `asking for the offsets of ${asked.topic}`))
      }
    } catch (error) {
      for (const { reject } of all) reject(error)
    }
  }
}

const NOT_ANSWERED = { code: CODE.unknownTopicOrPartition, offset: undefined }

/** A partition that is asked about twice, as for both of its ends, is in two requests. */
function inRequests(all: readonly Waiting[]): readonly (readonly Waiting[])[] {
  const times = new Map<string, number>()
  const requests: Waiting[][] = []
  for (const each of all) {
    const place = placeOf(each)
    const time = times.get(place) ?? 0
    times.set(place, time + 1)
    requests[time] = [...(requests[time] ?? []), each]
  }
  return requests
}
