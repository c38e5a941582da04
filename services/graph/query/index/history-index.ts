/**
 * Finds objects by name, their history and what clusters are called, in a store of its own that
 * follows `lineage` and `history`.
 *
 * What must stay true: nothing else rests on it; it may lag or be rebuilt, and answers say how far
 * it has come. What a GET said of an owner is history of whom the reference names, by uid and
 * coordinates, and never of another object that has the uid.
 *
 * Not here: reading the log (follower/history-follower.ts), what objects were at a moment
 * (fold/former).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Clock } from '../../../../ports/clock.ts'
import type { Log } from '../../../../ports/log.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { HistoryRecord, KnownObject } from '../../../../ports/record/lineage.ts'
import { type KeyRange, prefixRange, type Store } from '../../../../ports/store.ts'
import { HistoryFollower } from './follower/history-follower.ts'
import { answersPrefix, entriesPrefix, historyIn, offsetPart } from './history-key.ts'
import { NameIndex } from './name-index.ts'

/** History entries of one object that an answer holds at most, the newest. */
export const HISTORY_LIMIT = 10_000

export type { Indexed, Named } from './name-key.ts'

/** Entries of one object, in order. */
export interface Newest<T> {
  readonly entries: readonly T[]
  /** It has older ones. */
  readonly isCut: boolean
}

type Row = readonly [offset: bigint, value: Uint8Array]
type Placed = readonly [offset: bigint, entry: History]

export class HistoryIndex {
  readonly #codec: Codec
  readonly #store: Store
  readonly #follower: HistoryFollower
  readonly #names: NameIndex

  constructor(log: Log, codec: Codec, clock: Clock, store: Store) {
    this.#codec = codec
    this.#store = store
    this.#follower = new HistoryFollower(log, codec, clock, store)
    this.#names = new NameIndex(store)
  }

  readonly run: HistoryFollower['run'] = (signal) => this.#follower.run(signal)
  readonly begin: HistoryFollower['begin'] = (partition) => this.#follower.begin(partition)
  readonly lagEntries: HistoryFollower['lagEntries'] = () => this.#follower.lagEntries()
  readonly caughtUp: HistoryFollower['caughtUp'] = () => this.#follower.caughtUp()

  readonly named: NameIndex['named'] = (asked) => this.#names.named(asked)
  readonly at: NameIndex['at'] = (cluster, place) => this.#names.at(cluster, place)
  readonly near: NameIndex['near'] = (namespace, name) => this.#names.near(namespace, name)
  readonly anywhere: NameIndex['anywhere'] = (name) => this.#names.anywhere(name)
  readonly within: NameIndex['within'] = (...asked) => this.#names.within(...asked)
  readonly unresolved: NameIndex['unresolved'] = (...asked) => this.#names.unresolved(...asked)
  readonly listed: NameIndex['listed'] = (asked, after) => this.#names.listed(asked, after)
  readonly withUid: NameIndex['withUid'] = (uid) => this.#names.withUid(uid)
  readonly all: NameIndex['all'] = (after) => this.#names.all(after)
  readonly lastOf: NameIndex['lastOf'] = (cluster, uid) => this.#names.lastOf(cluster, uid)
  readonly clusterName: NameIndex['clusterName'] = (cluster) => this.#names.clusterName(cluster)

  /** How far it has read this partition of `history`. */
  position(partition: number): bigint {
    return this.#follower.position('history', partition)
  }

  /** The newest of it, `HISTORY_LIMIT` at most. */
  async history(of: Identity): Promise<Newest<History>> {
    const { entries, isCut } = await this.newest(of, HISTORY_LIMIT)
    return { entries: entries.map(([, entry]) => entry), isCut }
  }

  /** The newest before an offset (undefined: of all); each with its own. */
  async newest(of: Identity, limit: number, before?: bigint): Promise<Newest<Placed>> {
    const { rows, isCut } = await this.#rowsOf(of, (prefix) => {
      const all = prefixRange(prefix, limit)
      const lt = before === undefined ? all.lt : prefix + offsetPart(before)
      return { ...all, lt, take: 'last' }
    })
    const kept = rows.slice(Math.max(0, rows.length - limit))
    return { entries: this.#decoded(kept, of), isCut: isCut || kept.length < rows.length }
  }

  /**
   * A page of the same, from an offset on; each with its own. Where it is full there may be more.
   */
  async entries(of: Identity, from: bigint, limit: number): Promise<readonly Placed[]> {
    // Of each key as many as are asked for: where these are cut, so is the whole, which is as long.
    const { rows } = await this.#rowsOf(of, (prefix) => {
      return { ...prefixRange(prefix, limit), gte: prefix + offsetPart(from) }
    })
    return this.#decoded(rows.slice(0, limit), of)
  }

  /** What the object was after the entry with that offset; null where the entry does not say it. */
  objectAfter(of: Identity, offset: bigint): KnownObject | null {
    const bytes = this.#store.get(entriesPrefix(of) + offsetPart(offset))
    return bytes === undefined ? null : (this.#codec.decode(bytes) as HistoryRecord).object
  }

  /** Of the object itself, where it is the one that has the uid, and of references that name it. */
  async #rowsOf(
    of: Identity,
    rangeOf: (prefix: string) => KeyRange,
  ): Promise<{ readonly rows: readonly Row[]; readonly isCut: boolean }> {
    const last = this.lastOf(of.cluster, of.uid)
    const isIt = last !== undefined && isSamePlace(last, of)
    const prefixes = isIt ? [answersPrefix(of), entriesPrefix(of)] : [answersPrefix(of)]
    const all: Row[] = []
    let isCut = false
    for (const prefix of prefixes) {
      const { rows, isCut: isPartCut } = await this.#store.page(rangeOf(prefix))
      isCut ||= isPartCut
      for (const [key, value] of rows) all.push([BigInt(key.slice(prefix.length)), value])
    }
    all.sort(([a], [b]) => (a < b ? -1 : 1))
    return { rows: all, isCut }
  }

  #decoded(rows: readonly Row[], of: Identity): readonly Placed[] {
    return rows.map(([offset, value]) => [offset, historyIn(this.#codec, value, of)])
  }
}
