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
  ChangedKeys,
  FormerReach,
  FormerValue,
  LastChange,
} from '../../../../ports/record/former-value.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import {
  changedFrom,
  changedKey,
  lastKey,
  positionOfChanged,
  REACH_KEY,
  wasKey,
} from './former-key.ts'

/** Changes between two marks: a search takes so many steps at most, and one for each mark. */
const MARK_EVERY = 64
/** Commits of which what they changed is forgotten at once. */
const FORGOTTEN_COMMITS = 2

/** One event's change of one key. */
export interface FormerChange {
  readonly key: string
  /** Of the event, and its append time. */
  readonly position: bigint
  readonly at: number
  /** Undefined: there was none. */
  readonly before: Uint8Array | undefined
}

/** The positions that a commit folded: from the first to the one behind the last. */
export interface Folded {
  readonly from: bigint
  readonly to: bigint
}

const NO_BYTES = new Uint8Array()

/** In the order of events. */
export function formerRows(
  store: Pick<Store, 'get'>,
  codec: Codec,
  changes: readonly FormerChange[],
  { from, to }: Folded,
): StoreChange[] {
  const rows: StoreChange[] = []
  const lasts = new Map<string, LastChange>()
  for (const { key, position: offset, before } of changes) {
    const position = Number(offset)
    const last = lasts.get(key) ?? lastChangeOf(store, codec, key)
    const [previous, mark] = [last?.position ?? null, last?.mark ?? null]
    const value = before ?? NO_BYTES
    rows.push([wasKey(key, position), codec.encode({ type: 'FormerValue', previous, mark, value })])
    const count = (last?.count ?? 0) + 1
    const isMark = count % MARK_EVERY === 0
    lasts.set(key, { type: 'LastChange', position, count, mark: isMark ? position : mark })
  }
  for (const [key, last] of lasts) rows.push([lastKey(key), codec.encode(last)])
  const newest = changes.at(-1)
  if (newest !== undefined) {
    const keys = changes.map(({ key }) => key)
    const positions = changes.map(({ position }) => Number(position))
    const times = changes.map(({ at }) => at)
    const changed = codec.encode({ type: 'ChangedKeys', keys, positions, times })
    rows.push([changedKey(Number(newest.position)), changed])
  }
  rows.push([REACH_KEY, codec.encode(reachAfter(reachOf(store, codec), from, to))])
  return rows
}

/** Behind a gap it begins anew: what lies below is filled from the log (filling.ts). */
function reachAfter(known: FormerReach | undefined, from: bigint, to: bigint): FormerReach {
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
  for (const [row, bytes] of commits) {
    const last = positionOfChanged(row)
    if (last >= Number(before)) break
    const { keys, positions } = codec.decode(bytes) as ChangedKeys
    for (const [index, key] of keys.entries())
      rows.push(...forgotten(store, codec, key, positions[index] ?? 0))
    rows.push([row, null])
    begin = last + 1
  }
  const isDone = !isCut && rows.length === 0
  if (isDone) begin = Math.max(reach.begin, Math.min(Number(before), reach.end))
  if (rows.length === 0 && begin <= reach.begin) return []
  const { older } = reach
  const left = older !== null && older.end > begin ? { ...older, begin } : null
  const known: FormerReach = { ...reach, begin: Math.max(begin, reach.begin), older: left }
  return [...rows, [REACH_KEY, codec.encode(known)]]
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
): FormerValue | undefined {
  const at = successorOf(store, codec, key, position)
  return at === undefined ? undefined : rowOf(store, codec, key, at)
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
    const { mark, previous } = rowOf(store, codec, key, at)
    if (isBehind(mark)) at = mark
    else if (isBehind(previous)) at = previous
    else return at
  }
}

function rowOf(
  store: Pick<Store, 'get'>,
  codec: Codec,
  key: string,
  position: number,
): FormerValue {
  const bytes = store.get(wasKey(key, position))
  invariant(bytes !== undefined, 'a change that is remembered has what was there before it')
  return formerIn(codec, bytes)
}

export function formerIn(codec: Codec, bytes: Uint8Array): FormerValue {
  const former = codec.decode(bytes)
  invariant(former.type === 'FormerValue', 'what was there before a change is a former value')
  return former
}
