/**
 * Keys of what a store keeps beside its values: what they were, and when they changed.
 *
 * What must stay true: all of them are behind every key of the state, so that the state alone is a
 * range; those of one key of the state are together and in the order of positions, and keys of the
 * state are in the same order here as there: a space is before every character that they may have.
 */

/** In the order of keys the state is before this, all that is kept beside it from here on. */
export const END_OF_STATE = '|'

const WAS = '|was/'
const LAST = '|last/'
const CHANGED = '|changed/'

export const REACH_KEY = '|reach'

/** Digits of a position, so that keys are in its order. */
const DIGITS = 16

function padded(position: number): string {
  return position.toString().padStart(DIGITS, '0')
}

/** Of what a key held before the event at that position. */
export function wasKey(key: string, position: number): string {
  return `${WAS}${key} ${padded(position)}`
}

export interface Was {
  readonly key: string
  readonly position: number
}

export function wasIn(row: string): Was {
  const end = row.length - DIGITS
  return { key: row.slice(WAS.length, end - 1), position: Number(row.slice(end)) }
}

/**
 * Where what keys of the state from a bound of a range on held before begins. A bound right behind a
 * key ends with a zero.
 */
export function wasFrom(bound: string): string {
  return bound.endsWith('\0') ? wasBehind(bound.slice(0, -1)) : `${WAS}${bound}`
}

/** Behind all of one key. */
export function wasBehind(key: string): string {
  return `${WAS}${key}!`
}

export function lastKey(key: string): string {
  return `${LAST}${key}`
}

/** Of the commit whose last event has that position. */
export function changedKey(position: number): string {
  return `${CHANGED}${padded(position)}`
}

/** Of all commits, from the one with that position on. */
export function changedFrom(position: number): { readonly gte: string; readonly lt: string } {
  return { gte: changedKey(position), lt: `${CHANGED}~` }
}

export function positionOfChanged(row: string): number {
  return Number(row.slice(CHANGED.length))
}
