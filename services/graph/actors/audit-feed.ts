/**
 * Appends what audit logs say about deletions to the log, from each request that carries it.
 *
 * What must stay true: no event costs another one: an event that exceeds the share of its user, or
 * that cannot be read, is left out alone, counted, and its moment is on the log as a gap before the
 * request is answered. A request that attributes no deletion (refused, or a dry run that says so)
 * counts against no share. What was read of a body is kept, also if the rest of it never arrives.
 *
 * Not here: who may send for which cluster (audit-http.ts), what is kept of an event
 * (audit-event.ts), how long (query/index/actor-index.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { ActorGap } from '../../../ports/record/service-record.ts'
import { holderOf } from '../../../runtime/http/client.ts'
import { Problem } from '../../../runtime/http/problem.ts'
import type { Cuts } from '../../../runtime/shares/cuts.ts'
import { RateShares } from '../../../runtime/shares/rate-shares.ts'
import { Turns } from '../turns.ts'
import { AuditDecoder, type Unreadable } from './audit-decoder.ts'
import type { Asked } from './audit-event.ts'
import { AuditGaps, GAP_MS, type LeftOut } from './audit-gap.ts'
import { FeedLimit, type Taken } from './feed-limit.ts'
import { JsonError } from './json-projection.ts'

/** Records of one append: what a request holds of them. */
const APPENDED_AT_ONCE = 1_000
/**
 * Of all clusters together. Ten days of it are kept (`MOST_KEPT`), so no user can evict the names
 * of the last week, however many requests he sends.
 */
export const KEPT_A_DAY = 500_000
const REQUESTS = 'audit requests'
const UNREADABLE = 'unreadable audit events'

export interface AuditFeedParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  readonly cuts: Cuts
  readonly keptADay?: number | undefined
}

/** What became of events. */
export interface Received {
  readonly received: number
  /** Those that attribute a deletion: all others are forgotten. */
  readonly kept: number
  /** Those that attribute one, and are above the share of their user. */
  readonly overShare: number
  readonly unreadable: number
}

export class AuditFeed {
  readonly #parts: AuditFeedParts
  readonly #limit: FeedLimit
  readonly #shares: RateShares
  readonly #gaps: AuditGaps
  /** Of all requests together: however many arrive, other work waits for at most one turn. */
  readonly #turns: Turns
  /** Of clusters of which the log did not take something: gaps that it has to have, too. */
  readonly #owed = new Map<ClusterId, Map<number, LeftOut>>()

  constructor(parts: AuditFeedParts) {
    const { clock, cuts, keptADay = KEPT_A_DAY } = parts
    this.#parts = parts
    this.#limit = new FeedLimit(clock)
    this.#shares = new RateShares({ name: REQUESTS, total: keptADay }, clock, cuts)
    this.#gaps = new AuditGaps(clock)
    this.#turns = new Turns(clock)
  }

  now(): number {
    return this.#parts.clock.now()
  }

  /** Before a request is read. */
  admit(cluster: ClusterId): Taken {
    return this.#limit.take(cluster)
  }

  /**
   * `source`: the one cluster that is meant, as its cloud names it. Throws `Problem` for what holds
   * no audit events, and `LogError`.
   */
  async keep(
    cluster: ClusterId,
    body: AsyncIterable<Uint8Array>,
    source?: string,
  ): Promise<Received> {
    const { clock, cuts } = this.#parts
    const batch = new Batch(cluster, this.#shares)
    const decoder = new AuditDecoder((found) => batch.take(found, clock.now()), { source })
    try {
      for await (const bytes of body) await this.#read(cluster, decoder.read(bytes), batch)
      decoder.end()
      if (decoder.documents === 0) throw new JsonError('a document is expected')
    } catch (error) {
      // The rest may be sent again, or not: which events it had is unknown.
      if (!(error instanceof Problem)) {
        batch.leaveOut(anybodysAt(clock.now()))
        cuts.note(UNREADABLE, cluster)
      }
      throw error instanceof JsonError ? new Problem(400, 'the body is not valid JSON') : error
    } finally {
      await this.#write(cluster, batch)
    }
    const counts = batch.counts(decoder.received)
    if (counts.unreadable > 0) cuts.note(UNREADABLE, cluster, counts.unreadable)
    return counts
  }

  /** Between two steps others have their turns. */
  async #read(cluster: ClusterId, steps: AsyncIterator<void, void>, batch: Batch): Promise<void> {
    const { clock } = this.#parts
    for (;;) {
      const before = clock.monotonicMs()
      const { done } = await steps.next()
      const pauseMs = this.#limit.pauseAfter(cluster, clock.monotonicMs() - before)
      if (batch.length >= APPENDED_AT_ONCE) await this.#write(cluster, batch)
      await this.#turns.take()
      if (pauseMs > 0) await clock.sleep(pauseMs)
      if (done === true) return
    }
  }

  async #write(cluster: ClusterId, batch: Batch): Promise<void> {
    const { log, codec, clock } = this.#parts
    const { asked, leftOut } = batch.taken()
    const gaps = new Map<string, ActorGap>()
    const owed = this.#owedOf(cluster)
    // Other requests are under way meanwhile: what becomes owed by them is theirs.
    const paid = [...owed]
    for (const each of [...leftOut, ...paid.map(([, left]) => left)]) {
      const gap = this.#gaps.missing(cluster, each)
      if (gap !== undefined) gaps.set(JSON.stringify(gap), gap)
    }
    const records = [...gaps.values(), ...asked.map((each) => ({ ...each, cluster }))]
    try {
      for (let from = 0; from < records.length; from += APPENDED_AT_ONCE) {
        const some = records.slice(from, from + APPENDED_AT_ONCE)
        const encoded = some.map((record) => ({ key: cluster, value: codec.encode(record) }))
        await log.append('actors', 0, encoded)
      }
    } catch (error) {
      for (const each of anybodysAt(clock.now())) owed.set(Math.floor(each.at / GAP_MS), each)
      throw error
    }
    for (const [key, left] of paid) if (owed.get(key) === left) owed.delete(key)
    for (const gap of gaps.values()) this.#gaps.wrote(gap)
  }

  /** There are as many as clusters. */
  #owedOf(cluster: ClusterId): Map<number, LeftOut> {
    const known = this.#owed.get(cluster)
    if (known !== undefined) return known
    const owed = new Map<number, LeftOut>()
    this.#owed.set(cluster, owed)
    return owed
  }
}

/** Of one request, and what of it is not on the log yet. */
class Batch {
  readonly #cluster: ClusterId
  readonly #shares: RateShares
  #asked: Asked[] = []
  #leftOut: LeftOut[] = []
  #kept = 0
  #overShare = 0
  #unreadable = 0
  #hasUnknown = false

  constructor(cluster: ClusterId, shares: RateShares) {
    this.#cluster = cluster
    this.#shares = shares
  }

  get length(): number {
    return this.#asked.length + this.#leftOut.length
  }

  take(found: Asked | Unreadable | null, now: number): void {
    if (found === null) return
    if (found.type === 'Unreadable') {
      this.#unreadable += 1
      return found.at === undefined ? this.#unknown(now) : this.#add(anybodyAt(found.at))
    }
    const { namespace, user, at } = found
    const holder = holderOf({ name: user })
    if (this.#shares.take([this.#cluster, namespace, holder, user])) {
      this.#kept += 1
      this.#asked.push(found)
      return
    }
    this.#overShare += 1
    this.#add({ namespace, user, cause: 'share', at })
  }

  /** One after the other they are about the same: one gap is enough. */
  #add(left: LeftOut): void {
    const last = this.#leftOut.at(-1)
    const { namespace, user, cause, at } = left
    const isSame = last?.user === user && last.namespace === namespace && last.cause === cause
    if (isSame && Math.floor(last.at / GAP_MS) === Math.floor(at / GAP_MS)) return
    this.#leftOut.push(left)
  }

  /** Each of them is of about now: they need no more than one gap. */
  #unknown(now: number): void {
    if (!this.#hasUnknown) this.leaveOut(anybodysAt(now))
    this.#hasUnknown = true
  }

  leaveOut(some: readonly LeftOut[]): void {
    this.#leftOut.push(...some)
  }

  /** To be written; it holds them no longer. */
  taken(): { readonly asked: readonly Asked[]; readonly leftOut: readonly LeftOut[] } {
    const taken = { asked: this.#asked, leftOut: this.#leftOut }
    this.#asked = []
    this.#leftOut = []
    return taken
  }

  counts(received: number): Received {
    const [kept, overShare, unreadable] = [this.#kept, this.#overShare, this.#unreadable]
    return { received, kept, overShare, unreadable }
  }
}

/** Any user may have lost an event. It may be minutes old: an API server retries for as long. */
function anybodysAt(now: number): readonly LeftOut[] {
  return [anybodyAt(now - GAP_MS), anybodyAt(now)]
}

function anybodyAt(at: number): LeftOut {
  return { namespace: null, user: null, cause: 'unreadable', at }
}
