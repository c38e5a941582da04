/**
 * Beside a collector that cannot be switched off, in mode observe: what it deleted and Kinfold
 * would not have, and the reverse.
 *
 * What must stay true: it reads public records and changes nothing; nothing else rests on it. Each
 * record counts once: what comes of it is written with its offset. What was compared in another
 * time of mode observe is no part of it.
 *
 * Not here: what one record says (shadow-case.ts), reading out what was counted (shadow-report.ts),
 * the index that answers `why` (history-index.ts).
 */
import type { ClusterId } from '../../../core/model/object.ts'
import type { Mode } from '../../../core/model/policy.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Entry, Log } from '../../../ports/log.ts'
import type { Codec } from '../../../ports/record/codec.ts'
import type { Lineage } from '../../../ports/record/lineage.ts'
import type { Store, StoreChange } from '../../../ports/store.ts'
import { Rounds } from '../query/index/follower/rounds.ts'
import { part } from '../query/index/index-key.ts'
import type { Would } from './shadow-case.ts'
import { departureOf, isLeaving, wouldTake } from './shadow-case.ts'
import { Doubts } from './shadow-doubt.ts'
import { lagBucket } from './shadow-lag.ts'
import type { Pending, ShadowCase, ShadowCount, ShadowReport, Tally } from './shadow-report.ts'
import { KEPT, NO_TALLY, PATIENCE_MS, readShadow } from './shadow-report.ts'

/** Lineage records read at once, and the pause after them. */
const PAGE_LIMIT = 500
const PAUSE_MS = 500
/** Pending objects are counted no more often: there may be as many as a whole cluster's garbage. */
const COUNT_EVERY_MS = 5_000

export interface ShadowParts {
  readonly log: Log
  readonly codec: Codec
  readonly clock: Clock
  /** Its own; wiped when it begins anew. */
  readonly store: Store
  /** As folded; undefined while no partition is here. */
  readonly mode: () => Mode | undefined
  /** Log time of a cluster, which stops while the cluster cannot be observed. */
  readonly now: (cluster: ClusterId) => number | undefined
}

export class Shadow {
  readonly #parts: ShadowParts
  readonly #doubts = new Doubts()
  /** Of the record under way: one may count twice, as what left and as the owner of what left. */
  readonly #tallies = new Map<ClusterId, Tally>()
  #counted: readonly ShadowCount[] = []

  constructor(parts: ShadowParts) {
    this.#parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    const { log, clock, store, now } = this.#parts
    let countAt = 0
    await new Rounds({ clock, store, pauseMs: PAUSE_MS }).run(async () => {
      if (await this.#isObserving()) {
        for (let p = 0; p < log.partitions('lineage'); p++) await this.#follow(p)
      }
      if (clock.monotonicMs() >= countAt) {
        this.#counted = (await readShadow(store, now)).clusters
        countAt = clock.monotonicMs() + COUNT_EVERY_MS
      }
      // Its pauses are all the same.
      return true
    }, signal)
  }

  async report(): Promise<ShadowReport> {
    const { store, mode, now } = this.#parts
    return {
      since: this.#value<number>('since') ?? null,
      mode: mode() ?? null,
      patienceMs: PATIENCE_MS,
      ...(await readShadow(store, now)),
    }
  }

  /** As of some seconds ago, for metrics. */
  counts(): readonly ShadowCount[] {
    return this.#counted
  }

  /** Whether there is anything to compare now. Another time of mode observe begins with nothing. */
  async #isObserving(): Promise<boolean> {
    const { clock, store, mode } = this.#parts
    const asked = mode()
    if (asked === undefined) return false
    const began = this.#value<number>('since')
    const ended = this.#value<number>('ended')
    if (asked !== 'observe') {
      if (began !== undefined && ended === undefined) await this.#write([put('ended', clock.now())])
      return false
    }
    if (began !== undefined && ended === undefined) return true
    await store.wipe()
    this.#doubts.clear()
    await this.#write([put('since', clock.now())])
    return true
  }

  async #follow(partition: number): Promise<void> {
    const { log } = this.#parts
    const { start } = await log.bounds('lineage', partition)
    const known = BigInt(this.#value<string>(`at/${partition}`) ?? '0')
    const from = known > start ? known : start
    const page = await log.read('lineage', partition, from, { limit: PAGE_LIMIT, waitMs: 0 })
    for (const entry of page.entries) {
      this.#tallies.clear()
      const changes = this.#changesOf(entry)
      for (const [cluster, tally] of this.#tallies)
        changes.push(put(`tally/${part(cluster)}`, tally))
      if (changes.length === 0) continue
      await this.#write([...changes, put(`at/${partition}`, String(entry.offset + 1n))])
    }
    if (page.next > known) await this.#write([put(`at/${partition}`, String(page.next))])
  }

  #changesOf({ key, value: bytes }: Entry): StoreChange[] {
    const id = key.split('/').map(part).join('/')
    if (bytes === null) return this.#forgetting(id)
    const lineage = this.#parts.codec.decode(bytes) as Lineage
    const changes = isLeaving(lineage) ? this.#left(id, lineage) : this.#stays(id, lineage)
    if (lineage.phase !== 'gone' && lineage.phase !== 'waiting') return changes
    return [...changes, ...this.#ownerWent(lineage)]
  }

  #forgetting(id: string): StoreChange[] {
    const both = [`would/${id}`, `left/${id}`]
    return both.filter((key) => this.#has(key)).map((key) => [key, null])
  }

  /** It is there. */
  #stays(id: string, lineage: Lineage): StoreChange[] {
    const before = this.#value<Pending>(`would/${id}`)
    const would = wouldTake(lineage)
    if (would !== undefined) {
      const at = before?.at ?? Math.max(lineage.at, this.#since())
      return [put(`would/${id}`, { ...caseOf('ours', lineage, would), at, isHeld: would.isHeld })]
    }
    if (before === undefined) return []
    const changes: StoreChange[] = [[`would/${id}`, null]]
    // The end of an object of an unwatched kind is not observed.
    if (before.isHeld || lineage.phase === 'suspect' || !this.#isNew(lineage)) return changes
    const { isHeld: _, ...told } = before
    const because = `${told.because}; kept after all: ${lineage.why || 'it has no owner'}`
    return [...changes, this.#counting(lineage, { ...told, because })]
  }

  /** It was deleted, or is being deleted: once for each object. */
  #left(id: string, lineage: Lineage): StoreChange[] {
    const isGone = lineage.phase === 'gone'
    const marker = `left/${id}`
    if (this.#has(marker)) return isGone ? [[marker, null]] : []
    const would = this.#value<Pending>(`would/${id}`)
    const changes: StoreChange[] = would === undefined ? [] : [[`would/${id}`, null]]
    if (!isGone) changes.push(put(marker, 0))
    const departure = this.#isNew(lineage) ? departureOf(lineage, would) : undefined
    if (departure === undefined) return changes
    const { agreement, because, living } = departure
    if (agreement === 'agreed') {
      this.#agree(lineage, would === undefined ? 0 : lineage.at - would.at)
      return changes
    }
    const evidence = would?.evidence ?? lineage.evidence
    const counted = this.#counting(lineage, caseOf(agreement, lineage, { because, evidence }))
    if (agreement === 'unclear') this.#doubts.add(lineage, living, counted[0])
    return [...changes, counted]
  }

  /**
   * Watches of two kinds report in no order: an object that was deleted beside this owner may have
   * been deleted because of it.
   */
  #ownerWent(owner: Lineage): StoreChange[] {
    return this.#doubts.settled(owner).map(({ slot }) => {
      const tally = this.#tallyOf(owner)
      this.#tallies.set(owner.cluster, { ...tally, unclear: tally.unclear - 1 })
      this.#agree(owner, 0)
      return [slot, null]
    })
  }

  #tallyOf({ cluster, clusterName }: Lineage): Tally {
    const stored = this.#tallies.get(cluster) ?? this.#value<Tally>(`tally/${part(cluster)}`)
    const known = stored ?? NO_TALLY
    return { ...known, clusterName: clusterName || known.clusterName }
  }

  #agree(lineage: Lineage, lagMs: number): void {
    const tally = this.#tallyOf(lineage)
    const bucket = lagBucket(lagMs)
    const lags = { ...tally.lags, [bucket]: (tally.lags[bucket] ?? 0) + 1 }
    this.#tallies.set(lineage.cluster, { ...tally, agreed: tally.agreed + 1, lags })
  }

  /** Counts it, and puts the case in the place of an old one of its sort. */
  #counting(lineage: Lineage, told: ShadowCase): StoreChange {
    const { cluster } = lineage
    const tally = this.#tallyOf(lineage)
    const cases = tally.cases + 1
    this.#tallies.set(cluster, { ...tally, cases, [told.agreement]: tally[told.agreement] + 1 })
    return put(`case/${part(cluster)}/${told.agreement}/${cases % KEPT}`, told)
  }

  #since(): number {
    return this.#value<number>('since') ?? 0
  }

  /** For an earlier time it is unknown which collector deleted. */
  #isNew(lineage: Lineage): boolean {
    return lineage.at >= this.#since()
  }

  #has(key: string): boolean {
    return this.#parts.store.get(key) !== undefined
  }

  #value<T>(key: string): T | undefined {
    const bytes = this.#parts.store.get(key)
    return bytes === undefined ? undefined : (JSON.parse(Buffer.from(bytes).toString()) as T)
  }

  async #write(changes: readonly StoreChange[]): Promise<void> {
    await this.#parts.store.write(changes, { changelog: 0n, position: 0n })
  }
}

function caseOf(
  agreement: ShadowCase['agreement'],
  lineage: Lineage,
  { because, evidence }: Pick<Would, 'because' | 'evidence'>,
): ShadowCase {
  const { cluster, clusterName, group, kind, namespace, name, uid, at } = lineage
  const object = { cluster, clusterName, group, kind, namespace, name, uid }
  return { agreement, ...object, because, evidence, at }
}

function put(key: string, value: unknown): StoreChange {
  return [key, Buffer.from(JSON.stringify(value))]
}
