/**
 * Who asked API servers for deletions, by what was asked for: in a store of its own that follows `actors`, and trims it.
 *
 * What must stay true: nothing else rests on it, and no verdict; it may lag or be rebuilt, and answers say how far it has come. The same event told twice is one.
 * What is older than `keepMs` is removed from the log and from here: it names people. It has a number of records beyond which the oldest are removed, too.
 *
 * Not here: which request a deletion was (actor.ts), which events are kept at all (actors/audit-event.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'
import { type Codec, CodecError } from '../../../ports/codec.ts'
import type { Entry, Log } from '../../../ports/log.ts'
import type { Actor } from '../../../ports/service-record.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { prefixRange } from '../../../ports/store.ts'
import { isAway, isOutdated } from './history-index.ts'
import { part } from './index-key.ts'

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
const MOST_KEPT = 5_000_000n
/** Requests that an answer looks at: of one name, or of one collection within minutes, there are few. */
const MOST_FOUND = 1_000

const AT_KEY = 'at/actors'
const NO_CHECKPOINT = { changelog: 0n, position: 0n }

export interface ActorIndex {
  run(signal: AbortSignal): Promise<void>
  /** Deletions of whatever had this name, answered since then, the first ones first. */
  ofName(place: Place & { readonly name: string }, since: number): Promise<readonly Actor[]>
  /** Deletions of collections in this namespace. */
  ofCollection(place: Place, since: number): Promise<readonly Actor[]>
  /** Waits a moment for all that the log holds now; answers with how many entries of that it has not read yet. */
  caughtUp(): Promise<bigint>
}

interface Place {
  readonly cluster: ClusterId
  readonly namespace: string
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

  function position(): bigint {
    const bytes = store.get(AT_KEY)
    return bytes === undefined ? 0n : BigInt(Buffer.from(bytes).toString())
  }

  /** False when there was nothing new. A log that is older than this topic has nothing of it, and cannot be read. */
  async function follow(): Promise<boolean> {
    const { start, end } = await log.bounds('actors', 0)
    const known = position()
    await forgetBefore(start)
    if (known === end) return false
    const from = known < start ? start : known
    const page = await log.read('actors', 0, from, { limit: PAGE_LIMIT, waitMs: 0 })
    const changes = page.entries.flatMap((entry) => changesOf(entry, codec))
    changes.push([AT_KEY, Buffer.from(page.next.toString())])
    await store.write(changes, NO_CHECKPOINT)
    return true
  }

  async function forgetBefore(start: bigint): Promise<void> {
    const all = { gte: 'age/', lt: ageKey(start), limit: PAGE_LIMIT }
    for (let isMore = true; isMore; ) {
      const { rows, isCut } = await store.page(all)
      isMore = isCut
      const former = rows.map(([, key]) => Buffer.from(key).toString())
      const keys = [...former, ...rows.map(([key]) => key)]
      await store.write(
        keys.map((key) => [key, null]),
        NO_CHECKPOINT,
      )
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

  async function found(prefix: string, since: number): Promise<readonly Actor[]> {
    const range = prefixRange(prefix, MOST_FOUND)
    const { rows } = await store.page({ ...range, gte: `${prefix}${timePart(Math.max(0, since))}` })
    return rows.map(([, value]) => codec.decode(value) as Actor)
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
          // It has read more than the log holds, or is damaged: it is only an index, so it begins again.
          if (isOutdated(error)) await store.wipe()
          else if (!isAway(error)) throw error
        }
        wake = new AbortController()
        const isIdle = pauseMs > PAUSE_MS
        await clock.sleep(pauseMs, isIdle ? AbortSignal.any([signal, wake.signal]) : signal)
      }
    },
    ofName: async ({ cluster, namespace, name }, since) =>
      await found(`one/${part(cluster)}/${part(namespace)}/${part(name)}/`, since),
    ofCollection: async ({ cluster, namespace }, since) =>
      await found(`all/${part(cluster)}/${part(namespace)}/`, since),
    async caughtUp() {
      const { end } = await log.bounds('actors', 0)
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

function changesOf({ offset, value }: Entry, codec: Codec): StoreChange[] {
  const actor = value === null ? undefined : actorIn(value, codec)
  if (value === null || actor === undefined) return []
  const key = keyOf(actor)
  return [
    [key, value],
    [ageKey(offset), Buffer.from(key)],
  ]
}

/** Undefined for what a newer version wrote: nobody is named, and nothing ends for that. */
function actorIn(value: Uint8Array, codec: Codec): Actor | undefined {
  try {
    return codec.decode(value) as Actor
  } catch (error) {
    if (error instanceof CodecError) return undefined
    throw error
  }
}

/** A client may choose the Audit-ID, and one for many requests: what was asked for, and when, is in the key, too. */
function keyOf({ cluster, namespace, name, group, resource, at, auditId }: Actor): string {
  const where =
    name === ''
      ? `all/${part(cluster)}/${part(namespace)}`
      : `one/${part(cluster)}/${part(namespace)}/${part(name)}`
  return `${where}/${timePart(at)}/${part(resource)}.${part(group)}/${part(auditId)}`
}

function timePart(ms: number): string {
  return String(Math.trunc(ms)).padStart(13, '0')
}

function ageKey(offset: bigint): string {
  return `age/${offset.toString().padStart(19, '0')}`
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
