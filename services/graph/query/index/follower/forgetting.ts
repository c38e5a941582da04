/**
 * What is left of forgetting an object whose keys in an index are many: a page of them is removed
 * at a time, and where the next one begins is kept in the store until none is left.
 *
 * What must stay true: the mark is written with the position of the record that said to forget, so
 * nothing is left behind by a crash. What happened after the object was forgotten, or in a life
 * after it, is not over and stays.
 *
 * Not here: which objects are forgotten, and when (core/observe, history-follower.ts).
 */
import { prefixRange, type Store, type StoreChange } from '../../../../../ports/store.ts'
import { part } from '../index-key.ts'

/** Keys that are removed at once. */
const FORGOTTEN_AT_ONCE = 2_000

export interface Forgetting {
  /** Of the keys that are removed. */
  readonly prefix: string
  /**
   * Append time at which it was forgotten, in milliseconds: what was appended later is not over.
   */
  readonly at: number
  /** Position from which the object is there again with the same uid; null: it is not. */
  readonly again: number | null
  /** Where the next page begins; empty: with the first key. */
  readonly from: string
}

type IsOver = (value: Uint8Array, forgetting: Forgetting) => boolean

const MARKS = 'forgetting/'

/** Removes a page of what is over; what is left is marked for `forgetOn`. */
export async function forgetPage(
  store: Pick<Store, 'page'>,
  forgetting: Forgetting,
  isOver: IsOver,
): Promise<StoreChange[]> {
  const { prefix, from } = forgetting
  const range = prefixRange(prefix, FORGOTTEN_AT_ONCE)
  const { rows, isCut } = await store.page(from === '' ? range : { ...range, gte: from })
  const over = rows.filter(([, value]) => isOver(value, forgetting))
  const last = rows.at(-1)?.[0]
  const next = isCut && last !== undefined ? { ...forgetting, from: `${last}\0` } : null
  const mark = next && Buffer.from(JSON.stringify(next))
  return [...over.map(([key]): StoreChange => [key, null]), [MARKS + part(prefix), mark]]
}

/** Goes on with one that is marked; undefined where none is. */
export async function forgetOn(
  store: Pick<Store, 'page'>,
  isOver: IsOver,
): Promise<StoreChange[] | undefined> {
  // Whether there are others is asked by the next call.
  const [mark] = (await store.page(prefixRange(MARKS, 1))).rows
  if (mark === undefined) return undefined
  const forgetting = JSON.parse(Buffer.from(mark[1]).toString()) as Forgetting
  return await forgetPage(store, forgetting, isOver)
}
