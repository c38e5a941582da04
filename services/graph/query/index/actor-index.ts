/**
 * Who asked API servers for deletions, by what was asked for: in a store of its own that follows
 * `actors`, and trims it.
 *
 * What must stay true: nothing else rests on it, and no verdict; it may lag or be rebuilt, and
 * answers say how far it has come, and what they did not read. The same event sent twice is one.
 * What is older than `keepMs` is removed from the log and from here: it names people. Beyond a
 * number of records the oldest are removed, too; what one user adds to them has its bound where it
 * is written (actors/audit-feed.ts).
 *
 * Not here: which request a deletion was (actor.ts), which events are kept at all
 * (actors/audit-event.ts).
 */
import type { ClusterId } from '../../../../core/model/object.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Entry, Log } from '../../../../ports/log.ts'
import { type Codec, CodecError } from '../../../../ports/record/codec.ts'
import type { Actor, ActorGap } from '../../../../ports/record/service-record.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { firstSince } from '../../fold/retention.ts'
import { type About, actorKey, ageKey, gapKey, newestKey, type Span } from './actor-key.ts'
import { type Found, gapsIn, offsetIn, requestsIn, withOffset } from './actor-search.ts'
import { NO_CHECKPOINT, Rounds } from './follower/rounds.ts'
import { textAt } from './index-key.ts'

/** Entries read at once, and the pause after each time. */
const PAGE_LIMIT = 500
const PAUSE_MS = 100
/** How often entries that are too old are removed. */
const TRIM_EVERY_MS = 60_000
/** Of all clusters together, whatever their age. */
export const MOST_KEPT = 5_000_000n
const AT_KEY = 'at/actors'

export interface ActorIndexParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly store: Store
  /** By append time. */
  readonly keepMs: number
}

export class ActorIndex {
  readonly #parts: ActorIndexParts
  readonly #rounds: Rounds
  #known: { readonly start: bigint; readonly since: number } = { start: 0n, since: 0 }

  constructor(parts: ActorIndexParts) {
    this.#parts = parts
    this.#rounds = new Rounds({ ...parts, pauseMs: PAUSE_MS })
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#parts
    let trimmedAt = Number.NEGATIVE_INFINITY
    await this.#rounds.run(async () => {
      if (clock.monotonicMs() - trimmedAt >= TRIM_EVERY_MS) {
        trimmedAt = clock.monotonicMs()
        await this.#trim()
      }
      return await this.#follow()
    }, signal)
  }

  /** Requests about it, of each user the newest. */
  async requests(about: About, span: Span): Promise<Found<Actor>> {
    const { store, codec } = this.#parts
    return await requestsIn(store, codec, about, span)
  }

  /** Times of that span, of this namespace or of all, of which not all requests are kept. */
  async gaps(of: Pick<About, 'cluster' | 'namespace'>, span: Span): Promise<Found<ActorGap>> {
    const { store, codec } = this.#parts
    return await gapsIn(store, codec, of, span)
  }

  /** What was answered before is not kept any more; zero: nothing was forgotten. */
  keptSince(): number {
    return this.#known.since
  }

  /** When the newest request that is known of a cluster was answered; undefined: none ever was. */
  newest(cluster: ClusterId): number | undefined {
    const text = textAt(this.#parts.store, newestKey(cluster))
    return text === undefined ? undefined : Number(text)
  }

  /**
   * Waits a moment for all that the log holds now; answers with how many entries of that it has not
   * read yet.
   */
  async caughtUp(): Promise<bigint> {
    const end = await this.#parts.log.end('actors', 0)
    return await this.#rounds.waitFor(() => {
      const at = this.#position()
      return end > at ? end - at : 0n
    })
  }

  #position(): bigint {
    return BigInt(textAt(this.#parts.store, AT_KEY) ?? '0')
  }

  /**
   * False when there was nothing new. A log that is older than this topic has nothing of it, and
   * cannot be read.
   */
  async #follow(): Promise<boolean> {
    const { log, codec, store } = this.#parts
    const { start, end } = await log.bounds('actors', 0)
    const next = this.#position()
    await this.#forgetBefore(start)
    if (start !== this.#known.start) this.#known = { start, since: await this.#timeOf(start) }
    if (next === end) return false
    const from = next < start ? start : next
    const page = await log.read('actors', 0, from, { limit: PAGE_LIMIT, waitMs: 0 })
    const records = page.entries.flatMap((entry) => recordsOf(entry, codec))
    const changes = records.flatMap(changesOf)
    changes.push(...this.#newestIn(records), [AT_KEY, Buffer.from(page.next.toString())])
    await store.write(changes, NO_CHECKPOINT)
    return true
  }

  /** Of each cluster one that is newer than what is known. */
  #newestIn(records: readonly Recorded[]): StoreChange[] {
    const times = new Map<ClusterId, number>()
    for (const { record } of records) {
      const { cluster } = record
      const known = times.get(cluster) ?? this.newest(cluster) ?? 0
      if (record.type === 'Actor' && record.at > known) times.set(cluster, record.at)
    }
    return [...times].map(([cluster, at]) => [newestKey(cluster), Buffer.from(`${at}`)])
  }

  /** Append time of the first that is kept. */
  async #timeOf(start: bigint): Promise<number> {
    const { log, clock, keepMs } = this.#parts
    const { entries } = await log.read('actors', 0, start, { limit: 1, waitMs: 0 })
    return entries[0]?.timestamp ?? clock.now() - keepMs
  }

  async #forgetBefore(start: bigint): Promise<void> {
    const { store } = this.#parts
    const all = { gte: 'age/', lt: ageKey(start), limit: PAGE_LIMIT }
    for (let isMore = true; isMore; ) {
      const { rows, isCut } = await store.page(all)
      isMore = isCut
      if (rows.length === 0) return
      const changes: StoreChange[] = []
      for (const [age, bytes] of rows) {
        changes.push([age, null])
        const key = Buffer.from(bytes).toString()
        // It may have come again, and be kept for longer by that.
        const value = store.get(key)
        if (value === undefined || ageKey(offsetIn(value)) <= age) changes.push([key, null])
      }
      await store.write(changes, NO_CHECKPOINT)
    }
  }

  /** Each process that has this index does: once is as good as twice. */
  async #trim(): Promise<void> {
    const { log, clock, keepMs } = this.#parts
    const byAge = await firstSince(log, 'actors', 0, clock.now() - keepMs)
    const { start, end } = await log.bounds('actors', 0)
    const byCount = end - MOST_KEPT
    const before = byAge > byCount ? byAge : byCount
    if (before > start) await log.trim('actors', 0, before)
  }
}

interface Recorded {
  readonly offset: bigint
  readonly value: Uint8Array
  readonly record: Actor | ActorGap
}

function recordsOf({ offset, value }: Entry, codec: Codec): readonly Recorded[] {
  const record = value === null ? undefined : recordIn(value, codec)
  return value === null || record === undefined ? [] : [{ offset, value, record }]
}

function changesOf({ offset, value, record }: Recorded): StoreChange[] {
  const key = record.type === 'Actor' ? actorKey(record) : gapKey(record)
  return [
    [key, withOffset(value, offset)],
    [ageKey(offset), Buffer.from(key)],
  ]
}

/** Undefined for a record of a newer version: no user is named, and nothing fails. */
function recordIn(value: Uint8Array, codec: Codec): Actor | ActorGap | undefined {
  try {
    return codec.decode(value) as Actor | ActorGap
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}
