/**
 * Times for people, as in RFC 3339, in UTC.
 *
 * What must stay true: a time is never printed earlier than it is, so an announced event has not happened before.
 */

/** The last one that a `Date` can name. */
const LAST_MS = 8.64e15

/** `2026-11-21T20:55:00Z`, rounded up to a second. */
export function timeText(timeMs: number): string {
  const whole = Math.min(Math.ceil(timeMs / 1000) * 1000, LAST_MS)
  // biome-ignore lint/style/noRestrictedGlobals: of a given time, so no clock
  return new Date(whole).toISOString().replace('.000Z', 'Z')
}
