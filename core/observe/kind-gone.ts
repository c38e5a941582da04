/**
 * When a kind became absent from discovery: the last few times, and in doubt any time before them.
 *
 * What must stay true: when an entry is evicted, every time before it counts as one at which the kind was gone, so eviction can only make a decision more
 * conservative. A kind that comes and goes for ever costs a few numbers.
 */
import { KINDS_GONE_REMEMBERED } from '../model/constant.ts'

/** In order of time. Of a full list the second is forgotten: between the first and the next it may have gone at any time. */
export function withGone(goneAt: readonly number[], at: number): readonly number[] {
  if (goneAt.length < KINDS_GONE_REMEMBERED) return [...goneAt, at]
  const [first = at, , ...later] = goneAt
  return [first, ...later, at]
}

/** Whether it may have gone in that time, both ends included. */
export function mayHaveGone(goneAt: readonly number[], from: number, to: number): boolean {
  const [first = 0, second = 0] = goneAt
  const isFull = goneAt.length >= KINDS_GONE_REMEMBERED
  if (isFull && from <= second && first <= to) return true
  return goneAt.some((gone) => from <= gone && gone <= to)
}
