/**
 * Keys of what a store keeps beside its values: what they were, and when they changed.
 *
 * What must stay true: all of them are behind every key of the state, so that the state alone is a
 * range; keys of the state are in the same order here as there.
 */

/** In the order of keys the state is before this, all that is kept beside it from here on. */
export const END_OF_STATE = '|'

const CHAIN = '|chain/'
const LAST = '|last/'
const CHANGED = '|changed/'

export const REACH_KEY = '|reach'

/** Digits of a position, so that keys are in its order. */
const DIGITS = 16

function padded(position: number): string {
  return position.toString().padStart(DIGITS, '0')
}

/** Of the part of a key's list of records that ends with that one. */
export function chainKey(key: string, number: number): string {
  return `${CHAIN}${key} ${padded(number)}`
}

/** Rows of keys of a range are a range: it ends with the row of its end. */
export function lastKey(key: string): string {
  return `${LAST}${key}`
}

export function keyOfLast(row: string): string {
  return row.slice(LAST.length)
}

/** Of the record whose last event has that position. */
export function changedKey(position: number): string {
  return `${CHANGED}${padded(position)}`
}

/** Of all records, from the one with that position on. */
export function changedFrom(position: number): { readonly gte: string; readonly lt: string } {
  return { gte: changedKey(position), lt: `${CHANGED}~` }
}

export function positionOfChanged(row: string): number {
  return Number(row.slice(CHANGED.length))
}
