/**
 * What a store keeps of each change of a fact: what the key held before. So the state can be read
 * as it was before any event that is not older than the store remembers (store-at.ts).
 *
 * What must stay true: rows are in one write with the changes that they are of, so a store that has
 * folded a commit has them. A store that was brought up to the changelog, which has none, remembers
 * from there on: `FormerReach` says since when nothing is missing. Old values lie in records as the
 * log has them, each with what some events changed; a record is known by the position of its last
 * event, and each key has a list of its records, so that an old value is found by reads of whole
 * keys.
 *
 * Not here: which facts are kept (core/graph/table.ts), the lists (former-chain.ts).
 */
import { tableOf } from '../../../../core/graph/table.ts'
import { invariant } from '../../../../core/model/invariant.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { FormerReach, PackedFormers } from '../../../../ports/record/former-value.ts'
import type { Store, StoreChange, StoreEntry } from '../../../../ports/store.ts'
import {
  lastPositionOf,
  numbersBack,
  olderChangesOf,
  PendingRows,
  putRecent,
  type RowsReader,
} from './former-chain.ts'
import {
  chainKey,
  changedFrom,
  changedKey,
  END_OF_STATE,
  lastKey,
  positionOfChanged,
  REACH_KEY,
} from './former-key.ts'
import {
  type Folded,
  type FormerChange,
  OpenedRecord,
  recordsOf,
  valuesIn,
} from './former-record.ts'
import { type Listed, MOST_RECENT, nextRow, type Recent, recentIn, rowOf } from './row.ts'

/** Records of which what they changed is forgotten at once. */
const FORGOTTEN_RECORDS = 8
/** Rows that are removed at once where nothing is remembered any more. */
const ROWS_LEFT = 2_000

/** A commit: its changes in the order of events, and the records of the log that have them. */
export interface Formers {
  readonly changes: readonly FormerChange[]
  readonly records: readonly PackedFormers[]
  readonly folded: Folded
}

const NO_CHANGES: ReadonlyMap<string, KeyChange> = new Map()

/** What a commit says of one key: the last record that has it, and its newest change there. */
interface KeyChange extends Listed {
  /** It held nothing before. */
  readonly isNew: boolean
  number: number
  position: number
  /** The numbers of the records before that one, in ascending order; null for none. */
  before: number[] | null
}

/**
 * What a commit writes: the values, each with its list, and what is kept beside them. `formers`:
 * undefined where none are kept.
 */
export function rowsOf(
  rows: RowsReader,
  codec: Codec,
  values: readonly StoreChange[],
  formers?: Formers,
): StoreChange[] {
  const reach = formers && reachAfter(reachOf(rows, codec), formers.folded)
  const changes = formers === undefined ? NO_CHANGES : changesIn(formers)
  const older = new PendingRows(rows)
  if (formers !== undefined && formers.changes.length > 0)
    for (const record of formers.records) older.put(...changedRow(codec, record))
  const written = values.map((each): StoreChange => {
    const key = each[0]
    const value = each[1]
    const change = changes.get(key)
    const row = reach !== undefined && hasList(key, change) ? rows.row(key) : undefined
    const isOne = change === undefined || change.before === null
    const next = value && isOne ? nextRow(value, row, change) : undefined
    if (next !== undefined) return [key, next]
    const all = withRecords(row && recentIn(row), change)
    const [moved, kept] = value === null ? [all] : halvesOf(all)
    if (moved !== undefined) putRecent(older, codec, key, since(reach, moved))
    return [key, value && rowOf(value, kept)]
  })
  written.push(...older.changes)
  if (reach !== undefined) written.push([REACH_KEY, codec.encode(reach)])
  return written
}

/** A row of it may be there, with a list. */
function hasList(key: string, change: KeyChange | undefined): boolean {
  return change?.isNew !== true && tableOf(key).hasFormer
}

function withRecords(
  recent: Recent | undefined,
  change: KeyChange | undefined,
): Recent | undefined {
  if (change === undefined) return recent
  const { position, number, before } = change
  const listed = before === null ? [number] : [...before, number]
  return { position, records: recent === undefined ? listed : [...recent.records, ...listed] }
}

/** The older one, where the list is too long, and what stays with the value. */
function halvesOf(
  list: Recent | undefined,
): readonly [older: Recent | undefined, kept: Recent | undefined] {
  if (list === undefined || list.records.length <= MOST_RECENT) return [undefined, list]
  const half = -MOST_RECENT / 2
  const { position, records } = list
  return [
    { position: 0, records: records.slice(0, half) },
    { position, records: records.slice(half) },
  ]
}

/** Without the records that are forgotten, which nothing would ever remove again. */
export function since(reach: FormerReach | undefined, recent: Recent): Recent {
  const { position, records } = recent
  const first = reach?.older?.begin ?? reach?.begin ?? 0
  if ((records[0] ?? first) >= first) return recent
  return { position, records: records.filter((number) => number >= first) }
}

function changesIn({ changes, records }: Formers): ReadonlyMap<string, KeyChange> {
  const all = new Map<string, KeyChange>()
  let next = 0
  for (const { to } of records) {
    const number = to - 1
    for (; next < changes.length; next++) {
      const { key, position: at, before } = changes[next]!
      const position = Number(at)
      if (position >= to) break
      const change = all.get(key)
      if (change === undefined) {
        all.set(key, { isNew: before === undefined, number, position, before: null })
        continue
      }
      if (change.number !== number) change.before = [...(change.before ?? []), change.number]
      change.number = number
      change.position = position
    }
  }
  return all
}

export function changedRow(codec: Codec, record: PackedFormers): StoreEntry {
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

/**
 * Forgets what was changed by events before a position, some records at a time; none where all is
 * forgotten already. To be written with `FormerReach` by who folds: a store has one writer.
 */
export async function forgottenRows(
  store: Store,
  codec: Codec,
  before: bigint,
): Promise<StoreChange[]> {
  const reach = reachOf(store, codec)
  if (reach === undefined || reach.begin >= Number(before)) return []
  const range = { ...changedFrom(0), limit: FORGOTTEN_RECORDS }
  const rows: StoreChange[] = []
  let begin = (reach.older ?? reach).begin
  const { rows: records, isCut } = await store.page(range)
  let isDone = !isCut
  for (const [row, bytes] of records) {
    const number = positionOfChanged(row)
    if (number >= Number(before)) {
      isDone = true
      break
    }
    const { keys } = valuesIn(codec, codec.decode(bytes) as PackedFormers)
    for (const key of new Set(keys)) rows.push(...forgotten(store, codec, key, number))
    rows.push([row, null])
    begin = number + 1
  }
  // Of a record that the position cuts all is left, and none of it is asked any more.
  if (isDone) begin = Math.max(reach.begin, Math.min(Number(before), reach.end))
  if (rows.length === 0 && begin <= reach.begin) return []
  const { older } = reach
  const left = older !== null && older.end > begin ? { ...older, begin } : null
  // What lies below is forgotten: lists of records end there, and nothing is filled any more.
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
  // Records last: with them goes what is left of the lists where it remembers again before the end.
  const limit = ROWS_LEFT
  const lists = await store.page({ gte: lastKey(''), lt: '~', limit })
  const isLast = lists.rows.length === 0
  const { rows } = isLast ? await store.page({ gte: END_OF_STATE, lt: '~', limit }) : lists
  return rows.map(([row]): StoreChange => [row, null])
}

/**
 * The part of its list that ends with the record; with its newest change all that is kept of a key.
 */
function forgotten(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  number: number,
): StoreChange[] {
  const part = chainKey(key, number)
  if (store.get(part) !== undefined) return [[part, null]]
  return olderChangesOf(store, codec, key)?.records.at(-1) === number ? [[lastKey(key), null]] : []
}

/** What a key held before a change. */
export interface FormerValue {
  /** Of the event that changed it. */
  readonly position: number
  /** Undefined: nothing. */
  readonly value: Uint8Array | undefined
}

/**
 * The first change of a key that is not before a position; undefined where it has not changed
 * since.
 */
export function formerAt(
  store: RowsReader,
  codec: Codec,
  key: string,
  position: number,
): FormerValue | undefined {
  const last = lastPositionOf(store, codec, key)
  if (last === undefined || last < position) return undefined
  for (const { number, behind } of numbersBack(store, codec, key, position)) {
    for (const change of openedRecord(store, codec, number)?.changesOf(key) ?? [])
      if (change.position >= position) return change
    // All of its changes in that one came before.
    const next = behind === undefined ? undefined : openedRecord(store, codec, behind)
    const [change] = next?.changesOf(key) ?? []
    invariant(change !== undefined, 'a change that is remembered has what was there before it')
    return change
  }
  return undefined
}

/** Undefined where it is forgotten. */
export function openedRecord(
  store: Pick<Store, 'get'>,
  codec: Codec,
  number: number,
): OpenedRecord | undefined {
  const opened = recordsOf(store)
  const known = opened.get(number)
  if (known !== undefined) return known
  const bytes = store.get(changedKey(number))
  if (bytes === undefined) return undefined
  const record = new OpenedRecord(valuesIn(codec, codec.decode(bytes) as PackedFormers))
  opened.set(number, record)
  return record
}
