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

/** A value as one word of a shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
