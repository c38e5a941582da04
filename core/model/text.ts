/**
 * Times, and words of commands, in texts for people.
 *
 * What must stay true: a time is never printed earlier than it is, so an announced event has not
 * happened before. A user who pastes a command runs it and nothing else, whatever others put into
 * the values in it.
 */

/** The last one that a `Date` can name. */
const LAST_MS = 8.64e15

/** `2026-11-21T20:55:00Z`, in UTC, rounded up to a second. */
export function timeText(timeMs: number): string {
  const whole = Math.min(Math.ceil(timeMs / 1000) * 1000, LAST_MS)
  // biome-ignore lint/style/noRestrictedGlobals: of a given time, so no clock
  return new Date(whole).toISOString().replace('.000Z', 'Z')
}

/**
 * A time as RFC 3339 has it, in milliseconds since 1970; null for any other text. Without a zone,
 * or as a day alone, it is UTC; seconds may be left out.
 */
export function timeOf(text: string): number | null {
  const [, day, clock = ' 00:00', zone = 'Z'] = TIME.exec(text) ?? []
  if (day === undefined) return null
  // biome-ignore lint/style/noRestrictedGlobals: of a given text, so no clock
  const time = Date.parse(`${day}T${clock.slice(1)}${zone}`)
  return time >= 0 && time <= LAST_TIME_MS ? time : null
}

const TIME =
  /^(\d{4}-\d{2}-\d{2})(?:([T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)(Z|[+-]\d{2}:\d{2})?)?$/
/** The end of the year 9999. */
const LAST_TIME_MS = 253_402_300_799_999

/** `90m`, `1h30m`, `36h`, `7d` or `2w`, in milliseconds; null for any other text. */
export function durationOf(text: string): number | null {
  if (!/^(\d{1,9}(ms|s|m|h|d|w))+$/.test(text)) return null
  let ms = 0
  for (const [, count, unit] of text.matchAll(/(\d+)(ms|s|m|h|d|w)/g)) {
    ms += Number(count) * (LENGTHS[unit ?? ''] ?? 0)
  }
  return ms <= LAST_TIME_MS ? ms : null
}

const LENGTHS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** A value as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** In the largest unit that it is a whole number of. */
export function durationText(ms: number): string {
  for (const [unit, length] of UNITS) if (ms % length === 0) return `${ms / length} ${unit}`
  return `${ms} ms`
}
