/**
 * Spans of time for people.
 *
 * What must stay true: a span is never shown shorter than it is.
 */

/** `30s`, `10m`, `1h`: the largest unit that it is a whole number of. */
export function spanText(spanMs: number): string {
  const seconds = Math.ceil(spanMs / 1000)
  if (seconds === 0 || seconds % 60 !== 0) return `${seconds}s`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`
}
