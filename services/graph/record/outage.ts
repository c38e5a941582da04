/**
 * Times in which a cluster was not observed: its watcher was down, or could not reach it. A
 * deletion in that time is reported when the cluster is observed again, by a watch that resumes or
 * by a list.
 *
 * What must stay true: read from the log's own heartbeats, around the report; where they are no
 * longer kept, or are more than are read, the time is unknown and nothing is said. What is read for
 * one answer is bounded.
 *
 * Not here: which request fits such a time (query/answer/actor.ts), names that are missing
 * (query/index/actor-doubt.ts).
 */
import type { Event } from '../../../core/model/event.ts'
import type { History } from '../../../core/model/record.ts'
import { timeText } from '../../../core/model/text.ts'
import { type Entry, type Log, LogError } from '../../../ports/log.ts'
import { type Codec, CodecError } from '../../../ports/record/codec.ts'
import type { Turns } from '../turns.ts'

/** A watcher that sees its cluster says so every 5 s: two of these may be late. */
const SILENCE_MS = 12_000
/** After it a resumed watch, or a list, has reported what there was. */
const CATCH_UP_MS = 30_000
/** Entries that are read at once, before one report, and for one answer. */
const PAGE = 500n
const MOST_PAGES = 4
const MOST_PAGES_OF_ANSWER = 40
/** Sentences of one answer. */
const MOST_SAID = 3

/** When a watcher said that it sees its cluster. */
interface Sign {
  readonly cluster: string
  readonly offset: bigint
  readonly at: number
}

interface OutagesParts {
  readonly log: Log
  readonly codec: Codec
  readonly turns: Turns
}

/** For one answer: what was read once is not read again. */
export class Outages {
  readonly #parts: OutagesParts
  readonly #pages = new Map<string, readonly Sign[] | undefined>()
  readonly #found = new Set<string>()

  constructor(parts: OutagesParts) {
    this.#parts = parts
  }

  /**
   * Last sign of life before the time in which the end that is reported may have been; none of an
   * object that was created after that time. `createdAt`: by its API server, null where unknown.
   */
  async before(
    { cluster, partition, position, at }: History,
    createdAt: number | null,
  ): Promise<number | null> {
    let later = at
    const first = position / PAGE
    for (let page = first; page >= 0n && first - page < BigInt(MOST_PAGES); page--) {
      const signs = await this.#signs(partition, page)
      if (signs === undefined) return null
      const its = signs.filter((each) => each.cluster === cluster && each.offset < position)
      for (const sign of its.reverse()) {
        if (at - later > CATCH_UP_MS) return null
        if (later - sign.at > SILENCE_MS) {
          const isLater = createdAt !== null && createdAt > later
          return isLater ? null : this.#told(sign.at, later)
        }
        later = sign.at
      }
    }
    return null
  }

  doubt(): string {
    const more = this.#found.size - MOST_SAID
    const last = more > 0 ? [`${more} more of these`] : []
    return [...[...this.#found].slice(0, MOST_SAID), ...last].join('; ')
  }

  #told(from: number, to: number): number {
    this.#found.add(
      `nothing was seen between ${timeText(from)} and ${timeText(to)}: what was deleted then has no time of its own`,
    )
    return from
  }

  async #signs(partition: number, page: bigint): Promise<readonly Sign[] | undefined> {
    const key = `${partition}/${page}`
    if (!this.#pages.has(key)) {
      if (this.#pages.size >= MOST_PAGES_OF_ANSWER) return undefined
      await this.#parts.turns.take()
      this.#pages.set(key, await this.#read(partition, page * PAGE))
    }
    return this.#pages.get(key)
  }

  /** Undefined where some of it is not kept any more. */
  async #read(partition: number, from: bigint): Promise<readonly Sign[] | undefined> {
    const { log } = this.#parts
    try {
      const options = { limit: Number(PAGE), waitMs: 0 }
      const { entries } = await log.read('events', partition, from, options)
      return entries.filter(({ offset }) => offset < from + PAGE).flatMap((each) => this.#in(each))
    } catch (error) {
      if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return undefined
      throw error
    }
  }

  #in({ offset, timestamp, value }: Entry): readonly Sign[] {
    const event = value === null ? undefined : this.#decoded(value)
    const isSign = event?.type === 'Heartbeat' || event?.type === 'WatcherStarted'
    return isSign ? [{ cluster: event.cluster, offset, at: timestamp }] : []
  }

  #decoded(value: Uint8Array): Event | undefined {
    try {
      return this.#parts.codec.decode(value) as Event
    } catch (error) {
      if (error instanceof CodecError) return undefined
      throw error
    }
  }
}
