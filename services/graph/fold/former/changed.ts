/**
 * Which keys of the state events changed, in the order of events.
 *
 * What must stay true: a cursor names one change of one key, so that a reader goes on behind it.
 *
 * Not here: what the keys held (store-at.ts).
 */
import type { Codec } from '../../../../ports/record/codec.ts'
import type {
  FormerReach,
  FormerValues,
  PackedFormers,
} from '../../../../ports/record/former-value.ts'
import { entriesIn, prefixRange, type StorePage } from '../../../../ports/store.ts'
import { lastPositionOf, numbersBack } from './former-chain.ts'
import { changedFrom, keyOfLast, lastKey, positionOfChanged } from './former-key.ts'
import { valuesIn } from './former-record.ts'
import { openedRecord, reachOf } from './former-rows.ts'
import { recentIn } from './row.ts'
import type { RowReader } from './row-store.ts'
import type { StoreReader } from './store-at.ts'

/** Commits of which what they changed is read at once, and keys that changed. */
const PAGE_COMMITS = 8
const PAGE_KEYS = 500

/** Of events from a position on, up to another one. */
export interface Span {
  readonly from: number
  readonly to: number
}

export interface Change {
  readonly key: string
  /** Of the event, and its append time. */
  readonly position: number
  readonly at: number
  readonly cursor: string
}

/** Behind a cursor; empty: all of the span. */
export async function* changedBetween(
  store: StoreReader,
  codec: Codec,
  { from, to }: Span,
  after: string,
): AsyncGenerator<Change> {
  const [position = from, index = -1] = after === '' ? [] : after.split('.').map(Number)
  const range = { ...changedFrom(position), limit: PAGE_COMMITS }
  for await (const [, bytes] of entriesIn(store, range)) {
    const { keys, positions, times } = valuesIn(codec, codec.decode(bytes) as PackedFormers)
    for (const [at, key] of keys.entries()) {
      const of = positions[at] ?? 0
      if (of >= to) return
      const isBehind = of > position || (of === position && at > index)
      if (of < from || !isBehind) continue
      yield { key, position: of, at: times[at] ?? 0, cursor: `${of}.${at}` }
    }
  }
}

/**
 * Keys that begin so and changed before a position, whether they hold anything now or not, in their
 * order. What holds something now is read first: what goes meanwhile is found there.
 */
export async function* keysChanged(
  store: RowReader,
  codec: Codec,
  prefix: string,
  before: number,
): AsyncGenerator<string> {
  const { lt, limit } = prefixRange(prefix, PAGE_KEYS)
  for (let from = prefix; from < lt; ) {
    const now = await store.rows({ gte: from, lt, limit })
    const end = endOf(now, lt)
    const older = await store.page({ gte: lastKey(from), lt: lastKey(end), limit })
    const upTo = keyOfLast(endOf(older, lastKey(end)))
    const keys = new Set(older.rows.map(([row]) => keyOfLast(row)))
    for (const [key, row] of now.rows) if (key < upTo && recentIn(row) !== undefined) keys.add(key)
    for (const key of [...keys].sort())
      if (lastChangeBefore(store, codec, key, before) !== undefined) yield key
    from = upTo
  }
}

/** Of what a page of a range has, exclusive. */
function endOf({ rows, isCut }: StorePage, lt: string): string {
  const last = rows.at(-1)
  return isCut && last !== undefined ? `${last[0]}\0` : lt
}

/**
 * Changes of one key before a position, the newest first, with what it held before each; empty:
 * nothing. As far back as none is missing.
 */
export function* changesBack(
  store: Pick<RowReader, 'get' | 'row'>,
  codec: Codec,
  key: string,
  before: number,
): Generator<{ readonly position: number; readonly value: Uint8Array }> {
  const begin = reachOf(store, codec)?.begin ?? Number.POSITIVE_INFINITY
  for (const { number } of numbersBack(store, codec, key, before)) {
    const record = number < begin ? undefined : openedRecord(store, codec, number)
    if (record === undefined) return
    for (const { position, value = NO_BYTES } of record.changesOf(key).toReversed())
      if (position < before) yield { position, value }
  }
}

const NO_BYTES = new Uint8Array()

/**
 * The position of the first change behind `begin` that was appended after a time; undefined where
 * there is none. `hasEarlier`: there is one by then, too.
 */
export async function changeAfter(
  store: StoreReader,
  codec: Codec,
  { begin, end }: Pick<FormerReach, 'begin' | 'end'>,
  time: number,
): Promise<{ readonly position: number | undefined; readonly hasEarlier: boolean }> {
  let [low, high] = [begin, end]
  let found: FormerValues | undefined
  while (low < high) {
    const middle = Math.floor((low + high) / 2)
    const [row] = (await store.page({ ...changedFrom(middle), limit: 1 })).rows
    const values = row && valuesIn(codec, codec.decode(row[1]) as PackedFormers)
    const isLater = values === undefined || (values.times.at(-1) ?? 0) > time
    if (isLater) high = middle
    else low = positionOfChanged(row?.[0] ?? '') + 1
    if (isLater && values !== undefined) found = values
  }
  const index = found?.times.findIndex((at) => at > time) ?? -1
  return { position: found?.positions[index], hasEarlier: low > begin || index > 0 }
}

/** Append time of an event that changed something that is remembered; undefined for any other. */
export async function timeOfChange(
  store: StoreReader,
  codec: Codec,
  position: number,
): Promise<number | undefined> {
  const { rows } = await store.page({ ...changedFrom(position), limit: 1 })
  const bytes = rows[0]?.[1]
  if (bytes === undefined) return undefined
  const { positions, times } = valuesIn(codec, codec.decode(bytes) as PackedFormers)
  return times[positions.indexOf(position)]
}

/** Keys that one event changed, as far as that is remembered. */
export async function keysChangedBy(
  store: StoreReader,
  codec: Codec,
  position: number,
): Promise<readonly string[]> {
  const { rows } = await store.page({ ...changedFrom(position), limit: 1 })
  const bytes = rows[0]?.[1]
  if (bytes === undefined) return []
  const { keys, positions } = valuesIn(codec, codec.decode(bytes) as PackedFormers)
  return keys.filter((_, at) => positions[at] === position)
}

/** Append time of the first change that is remembered; undefined where none is. */
export async function firstTimeOf(
  store: StoreReader,
  codec: Codec,
  { begin }: Pick<FormerReach, 'begin'>,
): Promise<number | undefined> {
  const span = { from: begin, to: Number.POSITIVE_INFINITY }
  for await (const { at } of changedBetween(store, codec, span, '')) return at
  return undefined
}

/**
 * The position of the last event before a position that changed a key; undefined: none is
 * remembered.
 */
export function lastChangeBefore(
  store: Pick<RowReader, 'get' | 'row'>,
  codec: Codec,
  key: string,
  position: number,
): number | undefined {
  const last = lastPositionOf(store, codec, key)
  if (last === undefined || last < position) return last
  for (const { position: at } of changesBack(store, codec, key, position)) return at
  return undefined
}
