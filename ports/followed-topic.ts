/**
 * The latest entries of a compacted topic, read on from where they were read last: `latest` reads
 * all of it each time.
 *
 * What must stay true: an answer has all that was committed before it was asked for. A null value
 * is kept for a day or so and then removed, so who has read nothing for long begins anew.
 */
import type { Clock } from './clock.ts'
import { type Entry, type Log, LogError, type Topic } from './log.ts'

const PAGE = 10_000
/** Far less than any log keeps null values for. */
const LONGEST_PAUSE_MS = 3_600_000
/** Where the start of the topic moves while it is looked up. */
const ATTEMPTS = 5

export interface FollowedTopicParts {
  readonly log: Log
  readonly clock: Clock
  readonly topic: Topic
  /** Of the keys that are kept. */
  readonly prefixes: readonly string[]
}

export class FollowedTopic {
  readonly #parts: FollowedTopicParts
  readonly #latest = new Map<string, Entry>()
  #next = 0n
  #readAt = Number.NEGATIVE_INFINITY
  /** Of those who ask before it begins. */
  #joined: Promise<readonly Entry[]> | undefined
  #reading: Promise<unknown> = Promise.resolve()

  constructor(parts: FollowedTopicParts) {
    this.#parts = parts
  }

  /** The last entry of each key that has a value, in offset order. */
  async latest(): Promise<readonly Entry[]> {
    this.#joined ??= this.#begun()
    return await this.#joined
  }

  async #begun(): Promise<readonly Entry[]> {
    await this.#reading
    // Who asks from now on has to get what is committed from now on.
    this.#joined = undefined
    const reading = this.#read()
    this.#reading = reading.catch(() => undefined)
    return await reading
  }

  async #read(): Promise<readonly Entry[]> {
    const { log, clock, topic } = this.#parts
    const now = clock.monotonicMs()
    if (now - this.#readAt > LONGEST_PAUSE_MS) this.#restart(0n)
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#readOn()
        this.#readAt = now
        return [...this.#latest.values()]
      } catch (error) {
        const isOutside = error instanceof LogError && error.code === 'OUT_OF_RANGE'
        if (!isOutside || attempt >= ATTEMPTS) throw error
        this.#restart((await log.bounds(topic, 0)).start)
      }
    }
  }

  #restart(from: bigint): void {
    this.#latest.clear()
    this.#next = from
  }

  async #readOn(): Promise<void> {
    const { log, topic, prefixes } = this.#parts
    for (;;) {
      const from = this.#next
      const page = await log.read(topic, 0, from, { limit: PAGE, waitMs: 0 })
      for (const entry of page.entries) {
        if (!prefixes.some((each) => entry.key.startsWith(each))) continue
        this.#latest.delete(entry.key)
        if (entry.value !== null) this.#latest.set(entry.key, entry)
      }
      this.#next = page.next
      if (page.next === from) return
    }
  }
}
