/**
 * When a comparison has another result, as log time passes.
 *
 * What must stay true: times are all that depends on log time, and only by sums, so each grows or
 * shrinks evenly and a comparison changes at moments that can be computed: no expression has to be
 * evaluated again and again. Bounds of times are left out: they are thousands of years away.
 */
import type { Comparison } from './tree.ts'
import type { Value } from './value.ts'
import { isTime } from './value.ts'

/** Milliseconds of log time until it may be another one; null: it never is. */
export function changesAfter(op: Comparison, left: Value, right: Value): number | null {
  if (!isTime(left) || !isTime(right) || left.type !== right.type) return null
  const slope = left.slope - right.slope
  if (slope === 0) return null
  const isGrowing = slope > 0
  /** How far both are from being equal; negative once they were. */
  const away = isGrowing ? right.ms - left.ms : left.ms - right.ms
  if (away < 0) return null
  const past = Math.floor(away / Math.abs(slope)) + 1
  const equal = away === 0 ? null : Math.ceil(away / Math.abs(slope))
  switch (op) {
    case '==':
    case '!=':
      return equal ?? past
    case '>':
    case '<=':
      return isGrowing ? past : equal
    case '<':
    case '>=':
      return isGrowing ? equal : past
  }
}
