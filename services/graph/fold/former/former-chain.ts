/**
 * In which records a key was changed: a list for each key. Its newest part lies with the key's
 * value (row.ts), what is older in a row of its own, parts before that in rows of theirs; of a key
 * that holds nothing the row of what is older has all.
 *
 * What must stay true: a part of the list begins behind the one that it names as older, and that
 * one is known by its last number, which never changes. Numbers of records that are forgotten may
 * stay in a list: what lies so far back is not asked. Where a number is in two parts, the newer one
 * has all from its first number on.
 *
 * Not here: what is in a record (former-record.ts).
 */
import { invariant } from '../../../../core/model/invariant.ts'
import type { Codec } from '../../../../ports/record/codec.ts'
import type { FormerChain, LastChange } from '../../../../ports/record/former-value.ts'
import type { Store, StoreChange } from '../../../../ports/store.ts'
import { chainKey, changedKey, lastKey } from './former-key.ts'
import { type Recent, recentIn } from './row.ts'

/** Longer lists lose their older half to a row of its own. */
const MOST_NUMBERS = 128

type Reader = Pick<Store, 'get'>
type Part = Pick<FormerChain, 'records' | 'older'>

/** Rows that are not written yet, before those that are. */
export class PendingRows {
  readonly #store: Reader
  readonly #rows = new Map<string, Uint8Array>()

  constructor(store: Reader) {
    this.#store = store
  }

  get changes(): readonly StoreChange[] {
    return [...this.#rows]
  }

  get(key: string): Uint8Array | undefined {
    return this.#rows.get(key) ?? this.#store.get(key)
  }

  put(key: string, value: Uint8Array): void {
    this.#rows.set(key, value)
  }
}

/** Rows of the state, and what is kept beside it. */
export type RowsReader = Reader & { row(key: string): Uint8Array | undefined }

/** Undefined where no older change of the key is remembered. */
export function olderChangesOf(store: Reader, codec: Codec, key: string): LastChange | undefined {
  const bytes = store.get(lastKey(key))
  return bytes === undefined ? undefined : lastChangeIn(codec, bytes)
}

/** Of its newest change; undefined where none is remembered. */
export function lastPositionOf(store: RowsReader, codec: Codec, key: string): number | undefined {
  return (recentOf(store, key) ?? olderChangesOf(store, codec, key))?.position
}

function recentOf(store: RowsReader, key: string): Recent | undefined {
  const row = store.row(key)
  return row && recentIn(row)
}

export function lastChangeIn(codec: Codec, bytes: Uint8Array): LastChange {
  const last = codec.decode(bytes)
  invariant(last.type === 'LastChange', 'a key of the state has a last change')
  return last
}

/**
 * `position`: of the newest of its changes in that record, which is put already. Known already:
 * nothing is put.
 */
export function putNumber(
  rows: PendingRows,
  codec: Codec,
  key: string,
  { number, position }: { readonly number: number; readonly position: number },
): void {
  const head = olderChangesOf(rows, codec, key)
  if (head === undefined) {
    const first = { type: 'LastChange', position, records: [number], older: null } as const
    rows.put(lastKey(key), codec.encode(first))
    return
  }
  let part: Part = head
  let at: number | null = null
  while (part.older !== null && number <= part.older) {
    const older = partAt(rows, codec, key, part.older)
    if (older === undefined) {
      // It is forgotten: a part that is put here may get its name.
      part = { ...part, older: null }
      break
    }
    ;[at, part] = [part.older, older]
  }
  const index = firstFrom(part.records, number)
  if (part.records[index] === number) return
  const records = part.records.toSpliced(index, 0, number)
  let { older } = part
  if (records.length > MOST_NUMBERS) {
    const moved = records.splice(0, records.length >> 1)
    const end = moved.at(-1) ?? 0
    // With the record that a part ends with it is removed: it is none where that is gone already.
    const isKept = rows.get(changedKey(end)) !== undefined
    if (isKept)
      rows.put(chainKey(key, end), codec.encode({ type: 'FormerChain', records: moved, older }))
    older = isKept ? end : null
  }
  if (at !== null) {
    rows.put(chainKey(key, at), codec.encode({ type: 'FormerChain', records, older }))
    return
  }
  const newest = Math.max(head.position, position)
  rows.put(lastKey(key), codec.encode({ type: 'LastChange', position: newest, records, older }))
}

/** All of a newer part, mostly behind what is older. */
export function putRecent(
  rows: PendingRows,
  codec: Codec,
  key: string,
  { records, position }: Recent,
): void {
  if (records.length === 0) return
  const known = olderChangesOf(rows, codec, key)
  const all = known === undefined ? records : [...known.records, ...records]
  const isBehind = (known?.records.at(-1) ?? -1) < (records[0] ?? 0)
  if (isBehind && all.length <= MOST_NUMBERS) {
    const newest = Math.max(known?.position ?? 0, position)
    const older = known?.older ?? null
    rows.put(
      lastKey(key),
      codec.encode({ type: 'LastChange', position: newest, records: all, older }),
    )
    return
  }
  const last = records.at(-1)
  for (const number of records)
    putNumber(rows, codec, key, { number, position: number === last ? position : 0 })
}

/**
 * Numbers of the records of a key: the first one that is not before a position, then those before
 * it, the newest first. `behind`: the one that follows the first, if there is one.
 */
export function* numbersBack(
  store: RowsReader,
  codec: Codec,
  key: string,
  position: number,
): Generator<{ readonly number: number; readonly behind: number | undefined }> {
  let isFound = false
  /** The first of the newer parts, which are not before the position. */
  let held: { readonly number: number; readonly behind: number | undefined } | undefined
  for (const records of partsBack(store, codec, key)) {
    let index = isFound ? records.length - 1 : firstFrom(records, position)
    const [first = 0, second] = records
    if (!isFound && index === 0) {
      // An older part may have one that is not before it, too.
      held = { number: first, behind: second ?? held?.number }
      continue
    }
    if (!isFound && held !== undefined && index === records.length) yield held
    isFound = true
    for (; index >= 0; index--) {
      const number = records[index]
      if (number !== undefined) yield { number, behind: records[index + 1] ?? held?.number }
    }
    held = { number: first, behind: second }
  }
  if (!isFound && held !== undefined) yield held
}

/** The parts of its list, the newest first; none is empty. */
function* partsBack(store: RowsReader, codec: Codec, key: string): Generator<readonly number[]> {
  const recent = recentOf(store, key)
  if (recent !== undefined) yield recent.records
  const before = recent?.records[0] ?? Number.POSITIVE_INFINITY
  let part: Part | undefined = olderChangesOf(store, codec, key)
  while (part !== undefined) {
    const { records, older }: Part = part
    const end = firstFrom(records, before)
    if (end > 0) yield end === records.length ? records : records.slice(0, end)
    part = older === null ? undefined : partAt(store, codec, key, older)
  }
}

function partAt(store: Reader, codec: Codec, key: string, end: number): FormerChain | undefined {
  const bytes = store.get(chainKey(key, end))
  if (bytes === undefined) return undefined
  const part = codec.decode(bytes)
  invariant(part.type === 'FormerChain', 'an older part of a list of records is one')
  return part
}

/** Index of the first that is not before it. */
function firstFrom(sorted: readonly number[], number: number): number {
  let [low, high] = [0, sorted.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((sorted[middle] ?? 0) < number) low = middle + 1
    else high = middle
  }
  return low
}
