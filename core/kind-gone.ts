/**
 * When a kind was served no more, and relists that missed a mass: the last few, and in doubt all before them.
 *
 * What must stay true: what is forgotten for want of room counts as the worse: that owners went with their kind, or were missed with a mass. So a kind that comes and goes for
 * ever costs a few numbers, and nothing goes without a person because its kind went once more.
 */
import { KINDS_GONE_REMEMBERED, MASS_SYNCS_REMEMBERED } from './constant.ts'
import type { SyncId } from './id.ts'

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

export function withMassSync(syncs: readonly SyncId[], sync: SyncId): readonly SyncId[] {
  return [...syncs, sync].slice(-MASS_SYNCS_REMEMBERED)
}

/** Relists are numbered upwards. */
export function mayHaveMissedAMass(syncs: readonly SyncId[], sync: SyncId): boolean {
  const isFull = syncs.length >= MASS_SYNCS_REMEMBERED
  return syncs.includes(sync) || (isFull && sync < Math.min(...syncs))
}
