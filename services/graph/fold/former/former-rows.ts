/**
 * What a store keeps of each change of a fact: what the key held before. So the state can be read as
 * it was before any event that is not older than the store remembers (store-at.ts).
 *
 * What must stay true: rows are in one write with the changes that they are of, so a store that has
 * folded a commit has them. A store that was brought up to the changelog, which has none, remembers
 * from there on: `FormerReach` says since when nothing is missing. The changes of a key are a chain
 * that begins with its `LastChange`, so that an old value is found by reads of whole keys.
 *
 * Not here: which facts are kept (core/graph/table.ts).
 */
import { invariant } from '../../../../core/model/invariant.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type {
  FormerReach,
  FormerValue,
  LastChange,
  PackedFormers,
} from '../../../../ports/record/former-value.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import {
  changedFrom,
  changedKey,
  END_OF_STATE,
  lastKey,
  positionOfChanged,
  REACH_KEY,
  wasKey,
} from './former-key.ts'
import { type Folded, type FormerChange, valuesIn } from './former-record.ts'

/** Changes between two marks: a search takes so many steps at most, and one for each mark. */
const MARK_EVERY = 64
/** Commits of which what they changed is forgotten at once. */
const FORGOTTEN_COMMITS = 2
/** Rows that are removed at once where nothing is remembered any more. */
const ROWS_LEFT = 2_000

const NO_BYTES = new Uint8Array()
const NOTHING = { previous: null, mark: null, value: NO_BYTES }

/** A commit: its changes in the order of events, and the records of the log that have them. */
export interface Formers {
  readonly changes: readonly FormerChange[]
  readonly records: readonly PackedFormers[]
  readonly folded: Folded
}

export function formerRows(
  store: Pick<Store, 'get'>,
  codec: Codec,
  { changes, records, folded }: Formers,
): StoreChange[] {
  const rows: StoreChange[] = []
  const lasts = new Map<string, LastChange>()
  const put = (key: string, at: number, row: Omit<FormerValue, 'type'>): void => {
    rows.push([wasKey(key, at), codec.encode({ type: 'FormerValue', ...row })])
  }
  for (const { key, position: offset, before } of changes) {
    const position = Number(offset)
    const last = lasts.get(key) ?? lastChangeOf(store, codec, key)
    if (last?.isNew) put(key, last.position, NOTHING)
    const [previous, mark] = [last?.position ?? null, last?.mark ?? null]
    const isNew = last === undefined && before === undefined
    if (!isNew) put(key, position, { previous, mark, value: before ?? NO_BYTES })
    const count = (last?.count ?? 0) + 1
    const isMark = count % MARK_EVERY === 0
    lasts.set(key, { type: 'LastChange', position, count, isNew, mark: isMark ? position : mark })
  }
  for (const [key, last] of lasts) rows.push([lastKey(key), codec.encode(last)])
  if (changes.length > 0) for (const record of records) rows.push(changedRow(codec, record))
  rows.push([REACH_KEY, codec.encode(reachAfter(reachOf(store, codec), folded))])
  return rows
}

export function changedRow(codec: Codec, record: PackedFormers): StoreChange {
  return [changedKey(record.to - 1), codec.encode(record)]
}

/** Behind a gap it begins anew: what lies below is filled from the log (filling.ts). */
function reachAfter(known: FormerReach | undefined, { from, to }: Folded): FormerReach {
  const end = Number(to)
  if (known?.end === Number(from)) return { ...known, end }
  const older = known === undefined ? null : { begin: known.begin, end: known.end }
  return { type: 'FormerReach', begin: Number(from), end, isFilled: from === 0n, older }
}

/** Undefined where nothing is remembered. */
export function reachOf(store: Pick<Store, 'get'>, codec: Codec): FormerReach | undefined {
  const bytes = store.get(REACH_KEY)
  if (bytes === undefined) return undefined
  const reach = codec.decode(bytes)
  invariant(reach.type === 'FormerReach', 'what a store remembers is said by its reach')
  return reach
}

export function lastChangeOf(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
): LastChange | undefined {
  const bytes = store.get(lastKey(key))
  if (bytes === undefined) return undefined
  const last = codec.decode(bytes)
  invariant(last.type === 'LastChange', 'a key of the state has a last change')
  return last
}

/**
 * Forgets what was changed by events before a position, some commits at a time; none where all is
 * forgotten already. To be written with `FormerReach` by who folds: a store has one writer.
 */
export async function forgottenRows(
  store: Store,
  codec: Codec,
  before: bigint,
): Promise<StoreChange[]> {
  const reach = reachOf(store, codec)
  if (reach === undefined || reach.begin >= Number(before)) return []
  const range = { ...changedFrom(0), limit: FORGOTTEN_COMMITS }
  const rows: StoreChange[] = []
  let begin = (reach.older ?? reach).begin
  const { rows: commits, isCut } = await store.page(range)
  let isDone = !isCut
  for (const [row, bytes] of commits) {
    const last = positionOfChanged(row)
    if (last >= Number(before)) {
      isDone = true
      break
    }
    const { keys, positions } = valuesIn(codec, codec.decode(bytes) as PackedFormers)
    for (const [index, key] of keys.entries())
      rows.push(...forgotten(store, codec, key, positions[index] ?? 0))
    rows.push([row, null])
    begin = last + 1
  }
  // Of a commit that the position cuts all is left, and none of it is asked any more.
  if (isDone) begin = Math.max(reach.begin, Math.min(Number(before), reach.end))
  if (rows.length === 0 && begin <= reach.begin) return []
  const { older } = reach
  const left = older !== null && older.end > begin ? { ...older, begin } : null
  // What lies below is forgotten: chains of changes end there, and nothing is filled any more.
  const isFilled = reach.isFilled || begin >= reach.begin
  const known = { ...reach, begin: Math.max(begin, reach.begin), isFilled, older: left }
  return [...rows, [REACH_KEY, codec.encode(known)]]
}

/**
 * Of a store that remembers nothing from now on, some that it still has: first of all how far that
 * reaches, so that no moment is asked between changes that are missing.
 */
export async function rowsLeft(store: Pick<Store, 'get' | 'page'>): Promise<StoreChange[]> {
  if (store.get(REACH_KEY) !== undefined) return [[REACH_KEY, null]]
  const { rows } = await store.page({ gte: END_OF_STATE, lt: '~', limit: ROWS_LEFT })
  return rows.map(([row]): StoreChange => [row, null])
}

/** With its newest change of a key that holds nothing any more, the key is forgotten. */
function forgotten(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  position: number,
): StoreChange[] {
  const isLast = lastChangeOf(store, codec, key)?.position === position
  const row: StoreChange = [wasKey(key, position), null]
  return isLast ? [row, [lastKey(key), null]] : [row]
}

/**
 * What a key held before the first change that is not before a position; undefined where it has not
 * changed since.
 */
export function formerAt(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  position: number,
): Omit<FormerValue, 'type'> | undefined {
  const at = successorOf(store, codec, key, position)
  if (at === undefined) return undefined
  const former = rowAt(store, codec, key, at)
  invariant(former !== undefined, 'a change that is remembered has what was there before it')
  return former
}

/** The first change of a key that is not before a position. */
export function successorOf(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  position: number,
): number | undefined {
  const last = lastChangeOf(store, codec, key)
  if (last === undefined || last.position < position) return undefined
  const isBehind = (at: number | null): at is number => at !== null && at >= position
  let at = isBehind(last.mark) ? last.mark : last.position
  for (;;) {
    const row = rowAt(store, codec, key, at)
    invariant(row !== undefined, 'a change that is remembered has what was there before it')
    const { mark, previous } = row
    if (isBehind(mark)) at = mark
    else if (isBehind(previous)) at = previous
    else return at
  }
}

/** What a key held before the change at a position; undefined where that is not remembered. */
export function rowAt(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  position: number,
): Omit<FormerValue, 'type'> | undefined {
  const bytes = store.get(wasKey(key, position))
  if (bytes !== undefined) return formerIn(codec, bytes)
  const last = lastChangeOf(store, codec, key)
  return last?.isNew && last.position === position ? NOTHING : undefined
}

export function formerIn(codec: Codec, bytes: Uint8Array): FormerValue {
  const former = codec.decode(bytes)
  invariant(former.type === 'FormerValue', 'what was there before a change is a former value')
  return former
}
