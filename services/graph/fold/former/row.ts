/**
 * A row of a fold's store: a value of the state and, behind it, in which records its key was
 * changed lately. So the list costs no read and no write of its own.
 *
 * What must stay true: every row of the state ends with the length of that list, zero for none. A
 * key that comes anew has a list of its own: what it was before is in the row of its older changes
 * (former-chain.ts).
 */
import { invariant } from '../../../../core/model/invariant.ts'
import { roomFor } from '../bytes/slab.ts'

/** A longer list loses its older half. */
export const MOST_RECENT = 32

const LENGTH_BYTES = 2
/** A number has eight bytes at most; how far the newest change is before its record, too. */
const LIST_BYTES = (MOST_RECENT + 1) * 8

/** The newest part of the list of records in which a key was changed; never empty. */
export interface Recent {
  /** Of the newest change. */
  readonly position: number
  /** Numbers of the records, in ascending order; none is before the changes that it has. */
  readonly records: readonly number[]
}

/** A record, and the newest change of the key in it. */
export interface Listed {
  readonly number: number
  readonly position: number
}

/** A view of the row. */
export function valueIn(row: Uint8Array): Uint8Array {
  return row.subarray(0, endOfValue(row))
}

export function recentIn(row: Uint8Array): Recent | undefined {
  at = endOfValue(row)
  const end = row.length - LENGTH_BYTES
  if (at === end) return undefined
  const behind = varint(row)
  let number = varint(row)
  const position = number - behind
  const records = [number]
  while (at < end) {
    number -= varint(row)
    records.push(number)
  }
  return { position, records: records.reverse() }
}

export function rowOf(value: Uint8Array, recent?: Recent): Uint8Array {
  at = 0
  if (recent !== undefined) {
    const { position, records } = recent
    let next = records.at(-1) ?? 0
    put(next - position)
    put(next)
    for (let index = records.length - 2; index >= 0; index--) {
      const number = records[index] ?? 0
      put(next - number)
      next = number
    }
  }
  return withList(value, scratch.subarray(0, at))
}

/**
 * The row of another value of its key, with its list and one record more, if any; undefined where
 * the list may be too long for that.
 */
export function nextRow(
  value: Uint8Array,
  row: Uint8Array | undefined,
  listed: Listed | undefined,
): Uint8Array | undefined {
  const list = row?.subarray(endOfValue(row), row.length - LENGTH_BYTES) ?? NO_LIST
  if (listed === undefined) return withList(value, list)
  // Each number has a byte at least.
  if (list.length >= MOST_RECENT) return undefined
  const { number, position } = listed
  let older: Uint8Array = NO_LIST
  let last = 0
  if (list.length > 0) {
    at = 0
    varint(list)
    last = varint(list)
    older = list.subarray(at)
  }
  at = 0
  put(number - position)
  put(number)
  if (list.length > 0) put(number - last)
  scratch.set(older, at)
  return withList(value, scratch.subarray(0, at + older.length))
}

const NO_LIST = new Uint8Array()

function withList(value: Uint8Array, list: Uint8Array): Uint8Array {
  const row = roomFor(value.length + list.length + LENGTH_BYTES)
  row.set(value)
  row.set(list, value.length)
  row[row.length - 2] = list.length >> 8
  row[row.length - 1] = list.length & 0xff
  return row
}

function endOfValue(row: Uint8Array): number {
  const { length } = row
  const list = ((row[length - 2] ?? 0) << 8) | (row[length - 1] ?? 0)
  const end = length - LENGTH_BYTES - list
  invariant(end >= 0, 'a row of the store ends with the length of its list')
  return end
}

const scratch = new Uint8Array(LIST_BYTES)
let at = 0

function put(number: number): void {
  for (; number > 0x7f; number = Math.floor(number / 0x80)) scratch[at++] = (number % 0x80) | 0x80
  scratch[at++] = number
}

function varint(bytes: Uint8Array): number {
  let number = 0
  for (let unit = 1; ; unit *= 0x80) {
    const byte = bytes[at++] ?? 0
    number += (byte & 0x7f) * unit
    if (byte < 0x80) return number
  }
}
