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
import { type About, actorKey, ageKey, gapKey, newestKey, type Span } from './actor-key.ts'
import { type Found, gapsIn, offsetIn, requestsIn, withOffset } from './actor-search.ts'
import { isAway, isOutdated } from './history-index.ts'

/** Entries taken at once, and the pause behind each time; longer each time that nothing came. */
const PAGE_LIMIT = 500
const PAUSE_MS = 100
const IDLE_PAUSE_MS = 1_000
/** How long a question waits for what the log holds already, and how often it looks. */
const CATCH_UP_MS = 1_000
const CATCH_UP_LOOK_MS = 10
/** How often it is looked for what is too old. */
const TRIM_EVERY_MS = 60_000
/** Of all clusters together, whatever their age. */
export const MOST_KEPT = 5_000_000n
const AT_KEY = 'at/actors'
const NO_CHECKPOINT = { changelog: 0n, position: 0n }

export interface ActorIndex {
  run(signal: AbortSignal): Promise<void>
  /** Requests about it, of each user the newest. */
  requests(about: About, span: Span): Promise<Found<Actor>>
  /** Times of that span, of this namespace or of all, of which not all requests are kept. */
  gaps(of: Pick<About, 'cluster' | 'namespace'>, span: Span): Promise<Found<ActorGap>>
  /** What was answered before is not kept any more; zero: nothing was forgotten. */
  keptSince(): number
  /** When the newest request that is known of a cluster was answered; undefined: none ever was. */
  newest(cluster: ClusterId): number | undefined
  /**
   * Waits a moment for all that the log holds now; answers with how many entries of that it has not
   * read yet.
   */
  caughtUp(): Promise<bigint>
}

export interface ActorIndexParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly store: Store
  /** By append time. */
  readonly keepMs: number
}

export function createActorIndex({
  log,
  codec,
  clock,
  store,
  keepMs,
}: ActorIndexParts): ActorIndex {
  /** Ends a pause that is longer than others, because nothing had come. */
  let wake: AbortController | undefined

  let known: { readonly start: bigint; readonly since: number } = { start: 0n, since: 0 }

  function position(): bigint {
    const bytes = store.get(AT_KEY)
    return bytes === undefined ? 0n : BigInt(Buffer.from(bytes).toString())
  }

  /**
   * False when there was nothing new. A log that is older than this topic has nothing of it, and
   * cannot be read.
   */
  async function follow(): Promise<boolean> {
    const { start, end } = await log.bounds('actors', 0)
    const next = position()
    await forgetBefore(start)
    if (start !== known.start) known = { start, since: await timeOf(start) }
    if (next === end) return false
    const from = next < start ? start : next
    const page = await log.read('actors', 0, from, { limit: PAGE_LIMIT, waitMs: 0 })
    const records = page.entries.flatMap((entry) => recordsOf(entry, codec))
    const changes = records.flatMap(changesOf)
    changes.push(...newestIn(records), [AT_KEY, Buffer.from(page.next.toString())])
    await store.write(changes, NO_CHECKPOINT)
    return true
  }

  function newest(cluster: ClusterId): number | undefined {
    const bytes = store.get(newestKey(cluster))
    return bytes === undefined ? undefined : Number(Buffer.from(bytes).toString())
  }

  /** Of each cluster one that is newer than what is known. */
  function newestIn(records: readonly Recorded[]): StoreChange[] {
    const times = new Map<ClusterId, number>()
    for (const { record } of records) {
      const { cluster } = record
      const known = times.get(cluster) ?? newest(cluster) ?? 0
      if (record.type === 'Actor' && record.at > known) times.set(cluster, record.at)
    }
    return [...times].map(([cluster, at]) => [newestKey(cluster), Buffer.from(`${at}`)])
  }

  /** Append time of the first that is kept. */
  async function timeOf(start: bigint): Promise<number> {
    const { entries } = await log.read('actors', 0, start, { limit: 1, waitMs: 0 })
    return entries[0]?.timestamp ?? clock.now() - keepMs
  }

  async function forgetBefore(start: bigint): Promise<void> {
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
  async function trim(): Promise<void> {
    const byAge = await firstSince(log, clock.now() - keepMs)
    const { start, end } = await log.bounds('actors', 0)
    const byCount = end - MOST_KEPT
    const before = byAge > byCount ? byAge : byCount
    if (before > start) await log.trim('actors', 0, before)
  }

  return {
    async run(signal) {
      let pauseMs = PAUSE_MS
      let trimmedAt = Number.NEGATIVE_INFINITY
      while (!signal.aborted) {
        try {
          if (clock.monotonicMs() - trimmedAt >= TRIM_EVERY_MS) {
            trimmedAt = clock.monotonicMs()
            await trim()
          }
          const isNew = await follow()
          pauseMs = isNew ? PAUSE_MS : Math.min(2 * pauseMs, IDLE_PAUSE_MS)
        } catch (error) {
          // It has read more than the log holds, or is damaged: it is only an index, so it begins
          // again.
          if (isOutdated(error)) await store.wipe()
          else if (!isAway(error)) throw error
        }
        wake = new AbortController()
        const isIdle = pauseMs > PAUSE_MS
        await clock.sleep(pauseMs, isIdle ? AbortSignal.any([signal, wake.signal]) : signal)
      }
    },
    requests: async (about, span) => await requestsIn(store, codec, about, span),
    gaps: async (of, span) => await gapsIn(store, codec, of, span),
    keptSince: () => known.since,
    newest,
    async caughtUp() {
      const end = await log.end('actors', 0)
      const until = clock.monotonicMs() + CATCH_UP_MS
      const left = (): bigint => (end > position() ? end - position() : 0n)
      while (left() > 0n && clock.monotonicMs() < until) {
        wake?.abort()
        await clock.sleep(CATCH_UP_LOOK_MS)
      }
      return left()
    },
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

/** Undefined for what a newer version wrote: nobody is named, and nothing ends for that. */
function recordIn(value: Uint8Array, codec: Codec): Actor | ActorGap | undefined {
  try {
    return codec.decode(value) as Actor | ActorGap
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

/** Offset of the first entry appended at or after a time, by halving. */
async function firstSince(log: Log, time: number): Promise<bigint> {
  let { start: low, end: high } = await log.bounds('actors', 0)
  while (low < high) {
    const middle = (low + high) / 2n
    const page = await log.read('actors', 0, middle, { limit: 1, waitMs: 0 })
    const [entry] = page.entries
    if (entry === undefined || entry.timestamp >= time) high = middle
    else low = entry.offset + 1n
  }
  return low
}
