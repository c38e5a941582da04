/**
 * Single settings: from a flag or a key of the config file, each checked, each mistake a sentence
 * that names where it was made.
 *
 * What must stay true: an unknown key or a value out of its range ends the start; nothing is
 * guessed.
 */

import type { Setting } from '../../ports/rule/setting.ts'
import * as read from '../../ports/rule/setting.ts'
import { EXIT, ExitError } from '../../runtime/lifecycle.ts'

/** Beyond this a duration is a mistake. */
const MAX_DAYS = 36_500

export type { Setting }

/** Refuses what is no key of ours. */
export function checkKey(key: string, keys: readonly string[], where: string): void {
  orExit(() => read.checkKey(key, keys, where))
}

export function text(setting: Setting): string | undefined {
  return orExit(() => read.text(setting))
}

export function texts(setting: Setting): readonly string[] {
  return orExit(() => read.texts(setting))
}

export function oneOf<T extends string>(setting: Setting, allowed: readonly T[]): T | undefined {
  return orExit(() => read.oneOf(setting, allowed))
}

export function flag(setting: Setting): boolean | undefined {
  return orExit(() => read.flag(setting))
}

export function whole(setting: Setting, least: number, most: number): number | undefined {
  return orExit(() => read.whole(setting, least, most))
}

/** What is refused ends the start, with its own sentence. */
export function orExit<T>(reading: () => T): T {
  try {
    return reading()
  } catch (error) {
    if (error instanceof read.SettingError) throw bad(error.message)
    throw error
  }
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
}

export function duration({ value, from }: Setting): number | undefined {
  if (value === undefined) return undefined
  const match = /^(\d+)([smhd])$/.exec(String(value))
  const ms = Number(match?.[1]) * (UNITS[match?.[2] ?? ''] ?? Number.NaN)
  if (!(ms > 0 && ms <= MAX_DAYS * 24 * 3_600_000)) {
    throw bad(`${from}: expected a duration such as 30s, 5m, 12h or 30d, not ${read.show(value)}`)
  }
  return ms
}

const AGO = /^(\d+[smhd])+$/
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** Of the log: everything before an offset, or before the event that led to a command. */
const PLACE = /^(pos:\d{1,9}-\d{1,15}|before:\d{1,9}-\d{1,15}-\d{1,9})$/

/** Of the clock on the wall: a date and a time, or a time alone. */
const LOCAL = /^(?:(\d{4})-(\d\d)-(\d\d)T)?(\d\d):(\d\d)(?::(\d\d))?$/

/**
 * How long before `now`, such as 2h or 1h30m, RFC 3339, or a time of the wall clock here; as RFC
 * 3339 in UTC. A place of the log, where one is taken, is as it was written.
 */
export function moment(
  { key, value, from }: Setting,
  now: number,
  also?: 'place',
): string | undefined {
  if (value === undefined) return undefined
  const text = String(value)
  if (also === 'place' && PLACE.test(text)) return text
  const time = MOMENT.test(text)
    ? Date.parse(text)
    : (localIn(text, from, now) ?? now - agoIn({ key, value, from }, text))
  if (Math.abs(time) <= MAX_TIME) return new Date(time).toISOString()
  const places = also === 'place' ? ', or pos:PARTITION-OFFSET, or before:COMMAND' : ''
  throw bad(
    `${from}: expected how long ago, such as 24h, or a time, such as 22:40 or 2026-01-31T09:30:00Z${places}, not ${read.show(value)}`,
  )
}

/**
 * Undefined for what is no time of the wall clock. A time alone is the last such one. What was
 * twice, or never, when clocks were put back or forward, is refused: it is unclear which is meant.
 */
function localIn(text: string, from: string, now: number): number | undefined {
  const [is, year, month, day, hour, minute, second] = LOCAL.exec(text) ?? []
  if (is === undefined) return undefined
  const of = (date: Date): string =>
    [date.getFullYear(), date.getMonth(), date.getDate(), date.getHours(), date.getMinutes()].join()
  const date = new Date(now)
  if (year !== undefined) date.setFullYear(Number(year), Number(month) - 1, Number(day))
  const asked = [date.getFullYear(), date.getMonth(), date.getDate()]
  if (year !== undefined && asked.join() !== [year, Number(month) - 1, day].map(Number).join())
    return Number.NaN
  date.setHours(Number(hour), Number(minute), Number(second ?? 0), 0)
  if (year === undefined && date.getTime() > now) date.setDate(date.getDate() - 1)
  const wanted = [date.getFullYear(), date.getMonth(), date.getDate(), hour, minute].map(Number)
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second ?? 0) > 59) return Number.NaN
  const near = [-HOUR, HOUR].map((ms) => of(new Date(date.getTime() + ms)))
  if (of(date) === wanted.join() && !near.includes(of(date))) return date.getTime()
  throw bad(`${from}: ${text} was not once in this time zone; write it with its offset (+01:00)`)
}

const HOUR = 3_600_000

/** Beyond this a date is no date. */
const MAX_TIME = 8.64e15

/** NaN for what is no duration. */
function agoIn({ key, from }: Setting, text: string): number {
  if (!AGO.test(text)) return Number.NaN
  const parts = text.match(/\d+[smhd]/g) ?? []
  return parts.reduce((sum, value) => sum + (duration({ key, value, from }) ?? 0), 0)
}

const SIZES: Readonly<Record<string, number>> = { MiB: 1024 ** 2, GiB: 1024 ** 3, TiB: 1024 ** 4 }
const MOST_BYTES = 1024 ** 5

export function bytes({ value, from }: Setting): number | undefined {
  if (value === undefined) return undefined
  const match = /^(\d+)(MiB|GiB|TiB)$/.exec(String(value))
  const size = Number(match?.[1]) * (SIZES[match?.[2] ?? ''] ?? Number.NaN)
  if (!(size >= 0 && size <= MOST_BYTES)) {
    throw bad(`${from}: expected a size such as 512MiB or 2GiB, not ${read.show(value)}`)
  }
  return size
}

export function bad(message: string): ExitError {
  return new ExitError(EXIT.input, message)
}

/** As a flag is written: `logLevel` is `--log-level`. */
export function flagOf(key: string): string {
  return `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
