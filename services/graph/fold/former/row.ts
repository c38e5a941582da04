/**
 * A row of a fold's store: a value of the state and, behind it, in which records its key was
 * changed lately. So the list costs no read and no write of its own.
 *
 * What must stay true: every row of the state ends with the length of that list, zero for none. A
 * key that comes anew has a list of its own: what it was before is in the row of its older changes
 * (former-chain.ts).
 */
import { invariant } from '../../../../core/model/invariant.ts'

/** Longer lists lose their older half. */
export const MOST_RECENT = 32

const LENGTH_BYTES = 2

/** The newest part of the list of records in which a key was changed; never empty. */
export interface Recent {
  /** Of the newest change. */
  readonly position: number
  /** Numbers of the records, in ascending order; none is before the changes that it has. */
  readonly records: readonly number[]
}

/** A view of the row. */
export function valueIn(row: Uint8Array): Uint8Array {
  return row.subarray(0, endOfValue(row))
}

export function recentIn(row: Uint8Array): Recent | undefined {
  at = endOfValue(row)
  const end = row.length - LENGTH_BYTES
  if (at === end) return undefined
  const records: number[] = []
  const behind = varint(row)
  for (let number = 0; at < end; ) {
    number += varint(row)
    records.push(number)
  }
  return { position: (records.at(-1) ?? 0) - behind, records }
}

export function rowOf(value: Uint8Array, recent?: Recent): Uint8Array {
  const list = recent === undefined ? 0 : bytesOf(recent)
  const row = new Uint8Array(value.length + list + LENGTH_BYTES)
  row.set(value)
  row.set(scratch.subarray(0, list), value.length)
  row[row.length - 2] = list >> 8
  row[row.length - 1] = list & 0xff
  return row
}

function endOfValue(row: Uint8Array): number {
  const { length } = row
  const list = ((row[length - 2] ?? 0) << 8) | (row[length - 1] ?? 0)
  const end = length - LENGTH_BYTES - list
  invariant(end >= 0, 'a row of the store ends with the length of its list')
  return end
}

/** A number has eight bytes at most. */
const scratch = new Uint8Array((MOST_RECENT + 1) * 8)
let at = 0

function bytesOf({ position, records }: Recent): number {
  at = 0
  putVarint((records.at(-1) ?? 0) - position)
  let before = 0
  for (const number of records) {
    putVarint(number - before)
    before = number
  }
  return at
}

function putVarint(number: number): void {
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
