/**
 * Removes from the histories of a partition that of an object that was deleted for longer than is
 * remembered, a page at a time. Where the next page begins is kept in the store until none is left.
 *
 * What must stay true: the mark is written with the position of the record that said to forget, so
 * a crash leaves nothing in the index for good. Changes after the object was forgotten, or in a
 * life after it, are not over and stay: history may have been read beyond that record.
 *
 * Not here: its names (name-follower.ts), which objects are forgotten, and when (core/observe,
 * history-follower.ts).
 */
import type { ClusterId, Coordinates, Uid } from '../../../../../core/model/object.ts'
import type { Codec } from '../../../../../ports/record/codec.ts'
import type { HistoryRecord } from '../../../../../ports/record/lineage.ts'
import { prefixRange, type Store, type StoreChange } from '../../../../../ports/store.ts'
import type { Turns } from '../../../turns.ts'
import { answersPrefix, entriesPrefix } from '../history-key.ts'
import { part } from '../index-key.ts'

/** Keys that are removed at once, and entries that are read for them at once. */
const FORGOTTEN_AT_ONCE = 2_000
const PAGE_LIMIT = 500
const MARKS = 'forgetting/'

export interface Forgotten {
  readonly cluster: ClusterId
  readonly uid: Uid
  /**
   * Append time at which it was forgotten, in milliseconds: what was appended later is not over.
   */
  readonly at: number
}

interface LastLife {
  readonly again: number | null
  readonly place?: Coordinates | undefined
}

/** A page that is to be removed. */
interface Mark {
  /** Of the keys that are removed. */
  readonly prefix: string
  readonly at: number
  /** Position from which the object is there again with the same uid; null: it is not. */
  readonly again: number | null
  /** Where the page begins; empty: with the first key. */
  readonly from: string
}

export class Forgetting {
  readonly #store: Pick<Store, 'page'>
  readonly #codec: Codec
  readonly #turns: Turns

  constructor(store: Pick<Store, 'page'>, codec: Codec, turns: Turns) {
    this.#store = store
    this.#codec = codec
    this.#turns = turns
  }

  /** `last`: where its last record has it, if there was one. */
  async begin(of: Forgotten, last: Coordinates | undefined): Promise<StoreChange[]> {
    const { again, place = last } = await this.#lastLife(of)
    const { cluster, uid } = of
    const changes: StoreChange[] = []
    const prefixes = [entriesPrefix(of)]
    if (place !== undefined) {
      const { group, kind, namespace, name } = place
      prefixes.push(answersPrefix({ cluster, uid, group, kind, namespace, name }))
    }
    for (const prefix of prefixes) {
      changes.push(...(await this.#page({ prefix, at: of.at, again, from: '' })))
    }
    return changes
  }

  /** Continues with one that is marked; undefined where none is. */
  async goOn(): Promise<StoreChange[] | undefined> {
    // Whether there are others is asked by the next call.
    const [mark] = (await this.#store.page(prefixRange(MARKS, 1))).rows
    if (mark === undefined) return undefined
    return await this.#page(JSON.parse(Buffer.from(mark[1]).toString()) as Mark)
  }

  /** Removes a page of what is over; what is left is marked. */
  async #page(mark: Mark): Promise<StoreChange[]> {
    const { prefix, at, again, from } = mark
    const range = prefixRange(prefix, FORGOTTEN_AT_ONCE)
    const { rows, isCut } = await this.#store.page(from === '' ? range : { ...range, gte: from })
    const over = rows.filter(([, value]) => {
      const entry = this.#codec.decode(value) as HistoryRecord
      return entry.at <= at && (again === null || entry.position < BigInt(again))
    })
    const last = rows.at(-1)?.[0]
    const next = isCut && last !== undefined ? { ...mark, from: `${last}\0` } : null
    const left = next && Buffer.from(JSON.stringify(next))
    return [...over.map(([key]): StoreChange => [key, null]), [MARKS + part(prefix), left]]
  }

  /**
   * `again`: the position from which it is there once more, with the same uid; null where it is
   * not. What is forgotten was deleted long before: at that very time it is another life. `place`:
   * where it was in the life that is over.
   */
  async #lastLife({ cluster, uid, at }: Forgotten): Promise<LastLife> {
    const range = prefixRange(entriesPrefix({ cluster, uid }), PAGE_LIMIT)
    let again: number | null = null
    let place: Coordinates | undefined
    for (let { lt } = range; ; ) {
      const { rows, isCut } = await this.#store.page({ ...range, lt, take: 'last' })
      for (const [, value] of rows.toReversed()) {
        await this.#turns.take()
        const record = this.#codec.decode(value) as HistoryRecord
        place ??= record
        const isOut = record.change === 'gone' || record.object?.phase === null
        if (isOut && record.at < at) return { again, place: record }
        if (!isOut && record.object !== null) again = Number(record.position)
      }
      const [first] = rows
      if (!isCut || first === undefined) return { again: null, place }
      lt = first[0]
    }
  }
}
