/**
 * Conversions of an expression: from a text, as an API server writes it, to a value.
 *
 * What must stay true: a text that is not exactly of the form of its type is a failure; none is
 * guessed, and none depends on the machine, its time zone or its language. A timestamp is cut to
 * milliseconds (a Lease has microseconds); a duration that is finer is a failure.
 */
import type { ValueType } from './tree.ts'
import type { Value } from './value.ts'
import { duration, failure, int, isFailure, timestamp } from './value.ts'

export function converted(type: ValueType, value: Value): Value {
  if (isFailure(value)) return value
  switch (type) {
    case 'int':
      return intOf(value)
    case 'double':
      return doubleOf(value)
    case 'bool':
      return boolOf(value)
    case 'timestamp':
      return timestampOf(value)
    case 'duration':
      return typeof value === 'string' ? durationOf(value) : notOf('duration')
  }
}

function notOf(type: ValueType): Value {
  return failure(`a value of this type has no ${type}`)
}

/** In quotes, and short: it is in a sentence for people, and was written by others. */
function quoted(value: string): string {
  return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}…` : value)
}

function intOf(value: Value): Value {
  if (typeof value === 'bigint') return value
  if (typeof value === 'number')
    return Math.abs(value) < 2 ** 63
      ? BigInt(Math.trunc(value))
      : failure('a double does not fit into an int of 64 bits')
  if (typeof value !== 'string') return notOf('int')
  if (!/^[+-]?\d{1,19}$/.test(value)) return failure(`${quoted(value)} is no int`)
  return int(BigInt(value))
}

function doubleOf(value: Value): Value {
  if (typeof value === 'number') return value
  if (typeof value === 'bigint') return Number(value)
  if (typeof value !== 'string') return notOf('double')
  const named = NAMED_DOUBLES.get(value.toLowerCase())
  if (named !== undefined) return named
  const number = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(value) ? Number(value) : Number.NaN
  return Number.isFinite(number) ? number : failure(`${quoted(value)} is no double`)
}

const NAMED_DOUBLES: ReadonlyMap<string, number> = new Map([
  ...['inf', '+inf', 'infinity', '+infinity'].map((name): [string, number] => [
    name,
    Number.POSITIVE_INFINITY,
  ]),
  ...['-inf', '-infinity'].map((name): [string, number] => [name, Number.NEGATIVE_INFINITY]),
  ['nan', Number.NaN],
])

function boolOf(value: Value): Value {
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return notOf('bool')
  if (['1', 't', 'true', 'TRUE', 'True'].includes(value)) return true
  if (['0', 'f', 'false', 'FALSE', 'False'].includes(value)) return false
  return failure(`${quoted(value)} is no bool`)
}

function timestampOf(value: Value): Value {
  if (typeof value === 'bigint') return timestamp(Number(value) * 1_000)
  if (typeof value !== 'string') return notOf('timestamp')
  const ms = momentOf(value)
  return ms === undefined ? failure(`${quoted(value)} is no time of RFC 3339`) : timestamp(ms)
}

const MOMENT =
  /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:Z|([+-])(\d\d):(\d\d))$/

/** Milliseconds since 1970. */
function momentOf(value: string): number | undefined {
  const found = MOMENT.exec(value)
  if (found === null) return undefined
  const part = (index: number): number => Number(found[index] ?? 0)
  const [year, month, day] = [part(1), part(2), part(3)]
  const [hour, minute, second] = [part(4), part(5), part(6)]
  const [away, awayMinute] = [part(9), part(10)]
  if (month < 1 || month > 12 || day < 1 || day > daysOf(year, month)) return undefined
  if (hour > 23 || minute > 59 || second > 59 || away > 23 || awayMinute > 59) return undefined
  const ahead = (found[8] === '-' ? -1 : 1) * (away * 60 + awayMinute)
  const minutes = daysSince1970(year, month, day) * 1_440 + hour * 60 + minute - ahead
  const fraction = Number((found[7] ?? '').slice(0, 3).padEnd(3, '0'))
  return minutes * 60_000 + second * 1_000 + fraction
}

function daysOf(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28
  return [4, 6, 9, 11].includes(month) ? 30 : 31
}

/** Of the Gregorian calendar, in years that begin in March, so that a leap day is the last one. */
function daysSince1970(year: number, month: number, day: number): number {
  const from = month <= 2 ? year - 1 : year
  const era = Math.floor(from / 400)
  const yearOfEra = from - era * 400
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1
  const leapDays = Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  return era * 146_097 + yearOfEra * 365 + leapDays + dayOfYear - 719_468
}

const NANOSECONDS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['µs', 1_000n],
  ['ms', 1_000_000n],
  ['s', 1_000_000_000n],
  ['m', 60_000_000_000n],
  ['h', 3_600_000_000_000n],
])
/** Of a fraction so many digits count. */
const DIGITS = 13

/** Such as `1h30m`, `-1.5s`, `300ms`: as Go writes them. */
function durationOf(value: string): Value {
  const part = /(\d{1,19})(?:\.(\d*))?(ns|us|µs|ms|s|m|h)/y
  part.lastIndex = /^[+-]/.test(value) ? 1 : 0
  if (part.lastIndex === value.length) return failure(`${quoted(value)} is no duration`)
  let nanoseconds = 0n
  while (part.lastIndex < value.length) {
    const found = part.exec(value)
    if (found === null) return failure(`${quoted(value)} is no duration`)
    const unit = NANOSECONDS.get(found[3] ?? '') ?? 0n
    const fraction = BigInt((found[2] ?? '').slice(0, DIGITS).padEnd(DIGITS, '0'))
    nanoseconds += BigInt(found[1] ?? 0) * unit + (fraction * unit) / 10n ** BigInt(DIGITS)
  }
  if (nanoseconds % 1_000_000n !== 0n)
    return failure(`${quoted(value)} is finer than a millisecond`)
  const ms = Number(nanoseconds / 1_000_000n)
  return duration(value.startsWith('-') ? -ms : ms)
}
