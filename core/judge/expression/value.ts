/**
 * Values of an expression, and what each operator makes of them.
 *
 * What must stay true: as in CEL, an int has 64 bits and overflows to a failure, a text is ordered
 * by code points, and NaN equals nothing. A failure is a value here, so that `||` and `&&` can
 * leave it out. Each operator is linear in the length of its texts, which has a bound.
 *
 * Not here: conversions of texts (conversion.ts).
 */
import type { Comparison, Sum } from './tree.ts'
import { TEXT_BOUND } from './tree.ts'

export interface Timestamp {
  readonly type: 'timestamp'
  /** Since 1970. */
  readonly ms: number
  /** What a millisecond of log time adds to it: 1 for `now`, 0 where it does not depend on that. */
  readonly slope: number
}

export interface Duration {
  readonly type: 'duration'
  readonly ms: number
  /** As a timestamp's. */
  readonly slope: number
}

/** Never true: why there is no value. */
export interface Failure {
  readonly type: 'failure'
  readonly text: string
}

/** An int is a bigint, a double a number. */
export type Value = string | bigint | number | boolean | Timestamp | Duration | Failure

/** The years 1 to 9999, and as long a duration. */
export const FIRST_TIMESTAMP_MS = -62_135_596_800_000
export const LAST_TIMESTAMP_MS = 253_402_300_799_999
export const LONGEST_DURATION_MS = 315_576_000_000_000

const LEAST_INT = -(2n ** 63n)
const LARGEST_INT = 2n ** 63n - 1n

export function failure(text: string): Failure {
  return { type: 'failure', text }
}

export function isFailure(value: Value): value is Failure {
  return typeof value === 'object' && value.type === 'failure'
}

/** Decimal digits of an int of 64 bits, as a tree has it. */
export function isInt(value: unknown): boolean {
  if (typeof value !== 'string' || !/^-?\d{1,19}$/.test(value)) return false
  return !isFailure(int(BigInt(value)))
}

export function int(value: bigint): bigint | Failure {
  if (value >= LEAST_INT && value <= LARGEST_INT) return value
  return failure('an int does not fit into 64 bits')
}

export function isTime(value: Value): value is Timestamp | Duration {
  return typeof value === 'object' && value.type !== 'failure'
}

export function timestamp(ms: number, slope = 0): Timestamp | Failure {
  if (ms >= FIRST_TIMESTAMP_MS && ms <= LAST_TIMESTAMP_MS) return { type: 'timestamp', ms, slope }
  return failure('a timestamp is not in the years 1 to 9999')
}

export function duration(ms: number, slope = 0): Duration | Failure {
  if (Math.abs(ms) <= LONGEST_DURATION_MS) return { type: 'duration', ms, slope }
  return failure('a duration is longer than 10,000 years')
}

export function text(value: string, whose: string): string | Failure {
  if (value.length <= TEXT_BOUND) return value
  return failure(`${whose} has more than ${TEXT_BOUND} characters`)
}

export function compared(op: Comparison, left: Value, right: Value): Value {
  if (isFailure(left)) return left
  if (isFailure(right)) return right
  const isText = typeof left === 'string' && typeof right === 'string'
  if (isText && (op === '==' || op === '!=')) return (left === right) === (op === '==')
  const order = orderOf(left, right)
  if (typeof order === 'object') return order
  switch (op) {
    case '==':
      return order === 0
    case '!=':
      return order !== 0
    case '<':
      return order < 0
    case '<=':
      return order <= 0
    case '>':
      return order > 0
    case '>=':
      return order >= 0
  }
}

/** Negative, zero or positive; NaN where there is no order, so that nothing but `!=` is true. */
function orderOf(left: Value, right: Value): number | Failure {
  if (isNumber(left) && isNumber(right)) return orderOfNumbers(left, right)
  if (typeof left === 'string' && typeof right === 'string') return orderOfTexts(left, right)
  if (typeof left === 'boolean' && typeof right === 'boolean') return Number(left) - Number(right)
  if (typeof left === 'object' && typeof right === 'object' && left.type === right.type) {
    if (left.type !== 'failure' && right.type !== 'failure') return left.ms - right.ms
  }
  return failure('values of two types cannot be compared')
}

function isNumber(value: Value): value is bigint | number {
  return typeof value === 'bigint' || typeof value === 'number'
}

/** An int and a double by their values, without rounding the int. */
function orderOfNumbers(left: bigint | number, right: bigint | number): number {
  if (left < right) return -1
  if (left > right) return 1
  return Number.isNaN(left) || Number.isNaN(right) ? Number.NaN : 0
}

function orderOfTexts(left: string, right: string): number {
  if (left === right) return 0
  const shorter = Math.min(left.length, right.length)
  let at = 0
  while (at < shorter && left[at] === right[at]) at++
  if (at === shorter) return left.length - right.length
  return rankOf(left.charCodeAt(at)) - rankOf(right.charCodeAt(at))
}

/** Surrogates are halves of code points that come after all others. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}

export function summed(op: Sum, left: Value, right: Value): Value {
  if (isFailure(left)) return left
  if (isFailure(right)) return right
  if (typeof left === 'bigint' && typeof right === 'bigint')
    return int(op === '+' ? left + right : left - right)
  if (typeof left === 'number' && typeof right === 'number')
    return op === '+' ? left + right : left - right
  if (op === '+' && typeof left === 'string' && typeof right === 'string')
    return text(left + right, 'a sum of texts')
  if (isTime(left) && isTime(right)) return summedTimes(op, left, right)
  return failure(`these values have no ${op}`)
}

function summedTimes(op: Sum, left: Timestamp | Duration, right: Timestamp | Duration): Value {
  const ms = op === '+' ? left.ms + right.ms : left.ms - right.ms
  const slope = op === '+' ? left.slope + right.slope : left.slope - right.slope
  if (left.type === 'duration' && right.type === 'duration') return duration(ms, slope)
  if (left.type === 'timestamp' && right.type === 'duration') return timestamp(ms, slope)
  if (op === '-' && left.type === 'timestamp') return duration(ms, slope)
  if (op === '+' && right.type === 'timestamp' && left.type === 'duration')
    return timestamp(ms, slope)
  return failure(`these times have no ${op}`)
}

export function negated(value: Value): Value {
  if (typeof value === 'bigint') return int(-value)
  if (typeof value === 'number' || isFailure(value))
    return typeof value === 'number' ? -value : value
  return failure('this value has no -')
}

/** Its code points: each pair of surrogates is one. */
export function lengthOf(value: string): bigint {
  let length = 0
  for (let at = 0; at < value.length; at++) {
    if (isHigh(value.charCodeAt(at)) && isLow(value.charCodeAt(at + 1))) at++
    length++
  }
  return BigInt(length)
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000
}

export function lowerAscii(value: string): string {
  return value.replace(/[A-Z]/g, (letter) => letter.toLowerCase())
}

/**
 * Whether `part` is in `whole`. By Knuth, Morris and Pratt: the engine's search takes the product
 * of both lengths for texts that were made for it.
 */
export function isIn(part: string, whole: string): boolean {
  const borders = bordersOf(part)
  let matched = 0
  for (let at = 0; at < whole.length && matched < part.length; at++) {
    while (matched > 0 && whole[at] !== part[matched]) matched = borders[matched - 1] ?? 0
    if (whole[at] === part[matched]) matched++
  }
  return matched === part.length
}

/** For each prefix: the length of its longest beginning that is also its end. */
function bordersOf(part: string): readonly number[] {
  const borders: number[] = [0]
  let matched = 0
  for (let at = 1; at < part.length; at++) {
    while (matched > 0 && part[at] !== part[matched]) matched = borders[matched - 1] ?? 0
    if (part[at] === part[matched]) matched++
    borders.push(matched)
  }
  return borders
}
