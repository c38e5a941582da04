/**
 * Reads what the log has of another cluster, in whose objects owners are named here: its lineage,
 * and whether that says how the cluster is now.
 *
 * What must stay true: it is followed only if, read in this order, its fold has a position, a
 * heartbeat that lies before it is younger than a minute, and its lineage was read to its end after
 * that. Whatever of these is missing, or cannot be read, cuts it off, with a reason that stays the
 * same for as long as it is the same. How old a heartbeat is follows from when this process found
 * it missing, so no clock of another machine counts. Reads are bounded: what is left is read the
 * next time.
 *
 * Not here: what follows for owners (owner-bridge.ts), when it is asked (bridging.ts).
 */
import { POSITION_KEY } from '../../core/graph/key.ts'
import type { ClusterId, Uid } from '../../core/model/object.ts'
import type { Position } from '../../core/model/state.ts'
import type { Clock } from '../../ports/clock.ts'
import { type Entry, type Log, LogError, type Topic } from '../../ports/log.ts'
import { type Codec, CodecError } from '../../ports/record/codec.ts'
import type { Lineage } from '../../ports/record/lineage.ts'

export interface OtherClusterParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly cluster: ClusterId
  /** Null: the record was removed. */
  readonly noteLineage: (uid: Uid, lineage: Lineage | null) => void
}

/** What `control` says of it. */
export interface OtherControl {
  /** Undefined: no watcher publishes it in this log. */
  readonly partition: number | undefined
  /** Why its watcher does not have contact; empty where it has. */
  readonly unconnectedBecause: string
}

/**
 * - `outdated`: what was read may be wrong by now: all is to be read anew, with another reader.
 * - `read`: empty where it is followed. `isMore`: there is more to read at once.
 */
export type OtherLook =
  | { readonly type: 'outdated' }
  | ({ readonly type: 'read'; readonly cutOffBecause: string } & Reached)

interface Reached {
  readonly isMore: boolean
  /** Up to where its events were folded before its lineage was read; 0 where that is not known. */
  readonly folded: bigint
}

interface Beat {
  readonly offset: bigint
  /** Monotonic: it was not there before. */
  readonly afterMs: number
}

const FRESH_MS = 60_000
const PAGE = 1_000
/** Of lineage, at once. */
const MOST_PAGES = 20
/** Of `events`, the last ones, in which a heartbeat is looked for: of two looks 5,000 a second. */
const MOST_EVENTS = 50_000n
/** Of the changelog, the last ones, in which a position is looked for: a commit ends with one. */
const FEW_ENTRIES = 64n
const MOST_ENTRIES = 4_096n
const MOST_UNREADABLE = 1_000
/** Far less than a log keeps the values that are null. */
const LONGEST_PAUSE_MS = 3_600_000

export class OtherCluster {
  readonly #parts: OtherClusterParts
  #partition: number | undefined
  #askedMs: number | undefined
  /** The first look. */
  #sinceMs: number | undefined
  /** The end of `events`, and when it was there at the earliest. */
  #heard: { readonly end: bigint; readonly atMs: number } | undefined
  #beats: readonly Beat[] = []
  /** Of heartbeats: of a watcher that was succeeded since none counts. */
  #epoch = 0
  /** Of lineage, to be read next. */
  #next: bigint | undefined
  /** Records of these cannot be read, and why not. */
  readonly #unreadable = new Map<Uid, string>()

  constructor(parts: OtherClusterParts) {
    this.#parts = parts
  }

  async look(control: OtherControl, signal: AbortSignal): Promise<OtherLook> {
    const nowMs = this.#parts.clock.monotonicMs()
    const { partition } = control
    if (partition === undefined) return cutOff('no watcher publishes it in this log')
    const isMoved = this.#partition !== undefined && this.#partition !== partition
    const isLate = this.#askedMs !== undefined && nowMs - this.#askedMs > LONGEST_PAUSE_MS
    if (isMoved || isLate) return { type: 'outdated' }
    this.#partition = partition
    this.#sinceMs ??= nowMs
    await this.#listen(partition, signal)
    const folded = await this.#folded(partition, signal)
    const isWhole = await this.#readLineage(partition, signal)
    if (isWhole === undefined) return { type: 'outdated' }
    this.#askedMs = nowMs
    const because = control.unconnectedBecause || this.#unsureBecause(folded, isWhole)
    return { type: 'read', cutOffBecause: because, isMore: !isWhole, folded: folded ?? 0n }
  }

  #unsureBecause(folded: bigint | null, isWhole: boolean): string {
    if (folded === null) return 'nothing of it is folded'
    const { clock } = this.#parts
    const fresh = this.#beats.filter(({ afterMs }) => clock.monotonicMs() - afterMs <= FRESH_MS)
    if (fresh.length === 0) return this.#silentBecause()
    if (fresh.every(({ offset }) => offset >= folded)) return 'its graph is behind its watcher'
    const [unreadable] = this.#unreadable.values()
    if (unreadable !== undefined) return `its lineage cannot be read: ${unreadable}`
    return isWhole ? '' : 'its lineage is being read'
  }

  #silentBecause(): string {
    const heardMs = this.#parts.clock.monotonicMs() - (this.#sinceMs ?? 0)
    const isLong = heardMs > FRESH_MS
    return isLong
      ? 'no heartbeat of it was published for a minute'
      : 'its next heartbeat is awaited'
  }

  /** Heartbeats between the end of the last time and the end now. */
  async #listen(partition: number, signal: AbortSignal): Promise<void> {
    const { log, clock } = this.#parts
    const atMs = clock.monotonicMs()
    const { start, end } = await log.bounds('events', partition)
    const former = this.#heard
    if (former !== undefined) {
      const from = largest(former.end, start, end - MOST_EVENTS)
      const beats: Beat[] = []
      for await (const entry of this.#entries('events', partition, { from, end }, signal)) {
        const isBeat = entry.key === this.#parts.cluster && this.#isHeartbeat(entry)
        if (isBeat) beats.push({ offset: entry.offset, afterMs: former.atMs })
      }
      this.#beats = [...this.#beats, ...beats].filter(({ afterMs }) => atMs - afterMs <= FRESH_MS)
    }
    this.#heard = { end, atMs }
  }

  #isHeartbeat({ value }: Entry): boolean {
    const event = this.#decoded(value)
    if (event?.type !== 'Heartbeat' || event.cluster !== this.#parts.cluster) return false
    const isOfAnother = event.epoch < this.#epoch
    this.#epoch = Math.max(this.#epoch, event.epoch)
    return !isOfAnother
  }

  /** Up to where its events are folded; null where that is not known. */
  async #folded(partition: number, signal: AbortSignal): Promise<bigint | null> {
    const { start, end } = await this.#parts.log.bounds('changelog', partition)
    // Each start of a graph leaves an entry of its own.
    for (let count = FEW_ENTRIES; count <= MOST_ENTRIES; count *= 8n) {
      const from = largest(start, end - count)
      let last: Entry | undefined
      for await (const entry of this.#entries('changelog', partition, { from, end }, signal)) {
        if (entry.key === POSITION_KEY) last = entry
      }
      const record = last && this.#decoded(last.value)
      if (record !== undefined) return (record as Position).position
      if (from === start) return null
    }
    return null
  }

  /** Whether that was all; undefined where the log does not have what is next. */
  async #readLineage(partition: number, signal: AbortSignal): Promise<boolean | undefined> {
    const { log, clock } = this.#parts
    const end = await log.end('lineage', partition)
    this.#next ??= (await log.bounds('lineage', partition)).start
    for (let pages = 0; this.#next < end; pages++) {
      if (pages === MOST_PAGES) return false
      try {
        const options = { limit: PAGE, waitMs: 0 }
        const page = await log.read('lineage', partition, this.#next, options, signal)
        for (const entry of page.entries) this.#take(entry)
        if (page.next === this.#next) return false
        this.#next = page.next
      } catch (error) {
        if (error instanceof LogError && error.code === 'OUT_OF_RANGE') return undefined
        throw error
      }
      await clock.sleep(0, signal)
    }
    return this.#next > end ? undefined : true
  }

  #take({ key, value }: Entry): void {
    const { cluster, codec, noteLineage } = this.#parts
    const prefix = `${cluster}/`
    if (!key.startsWith(prefix)) return
    const uid = key.slice(prefix.length)
    try {
      const record = value === null ? null : codec.decode(value)
      // Of more than are remembered none is forgotten.
      if (this.#unreadable.size < MOST_UNREADABLE) this.#unreadable.delete(uid)
      if (record === null) noteLineage(uid, null)
      else if (record.type === 'Lineage' && record.cluster === cluster) noteLineage(uid, record)
    } catch (error) {
      if (!(error instanceof CodecError)) throw error
      if (this.#unreadable.size < MOST_UNREADABLE) this.#unreadable.set(uid, error.message)
    }
  }

  async *#entries(
    topic: Topic,
    partition: number,
    { from, end }: { readonly from: bigint; readonly end: bigint },
    signal: AbortSignal,
  ): AsyncGenerator<Entry> {
    const { log, clock } = this.#parts
    for (let next = from; next < end; ) {
      const page = await log.read(topic, partition, next, { limit: PAGE, waitMs: 0 }, signal)
      for (const entry of page.entries) if (entry.offset < end) yield entry
      // A leader that took over a moment ago may not show all of it yet.
      if (page.next === next) throw new LogError('UNAVAILABLE', `${topic} does not show its end`)
      next = page.next
      await clock.sleep(0, signal)
    }
  }

  /** Undefined for what cannot be read: it says nothing. */
  #decoded(value: Entry['value']): ReturnType<Codec['decode']> | undefined {
    try {
      return value === null ? undefined : this.#parts.codec.decode(value)
    } catch (error) {
      if (error instanceof CodecError) return undefined
      throw error
    }
  }
}

function cutOff(cutOffBecause: string): OtherLook {
  return { type: 'read', cutOffBecause, isMore: false, folded: 0n }
}

function largest(...offsets: readonly bigint[]): bigint {
  return offsets.reduce((most, each) => (each > most ? each : most), 0n)
}
