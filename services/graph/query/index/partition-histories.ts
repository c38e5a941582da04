/**
 * Histories of the objects of one partition, in a store of their own.
 *
 * What must stay true: what a GET said of an owner is history of whom the reference names, by uid
 * and coordinates, and never of another object that has the uid. A store that was closed throws,
 * and is never read as empty.
 *
 * Not here: reading the log (follower/history-follower.ts), which partitions are here
 * (history-index.ts).
 */
import type { Identity } from '../../../../core/graph/identity.ts'
import { isSamePlace } from '../../../../core/model/object.ts'
import type { History } from '../../../../core/model/record.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { HistoryRecord, KnownObject } from '../../../../ports/record/lineage.ts'
import { type KeyRange, prefixRange, type Store } from '../../../../ports/store.ts'
import { answersPrefix, entriesPrefix, historyIn, offsetPart } from './history-key.ts'
import type { NameIndex } from './name-index.ts'

/** Entries of one object, in order. */
export interface Newest<T> {
  readonly entries: readonly T[]
  /** It has older ones. */
  readonly isCut: boolean
}

type Row = readonly [offset: bigint, value: Uint8Array]
export type Placed = readonly [offset: bigint, entry: History]

export class PartitionHistories {
  readonly #codec: Codec
  readonly #store: Pick<Store, 'get' | 'page'>
  readonly #names: Pick<NameIndex, 'lastOf'>

  constructor(codec: Codec, store: Pick<Store, 'get' | 'page'>, names: Pick<NameIndex, 'lastOf'>) {
    this.#codec = codec
    this.#store = store
    this.#names = names
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
    const last = this.#names.lastOf(of.cluster, of.uid)
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
