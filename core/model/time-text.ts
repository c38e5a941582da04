/**
 * Times for people, as in RFC 3339, in UTC.
 *
 * What must stay true: a time is never told earlier than it is, so what is said to happen then has not happened before.
 */

const DAY_MS = 86_400_000

/** `2026-11-21T20:55:00Z`, rounded up to a second. */
export function timeText(timeMs: number): string {
  const seconds = Math.ceil(timeMs / 1000)
  const days = Math.floor((seconds * 1000) / DAY_MS)
  const ofDay = seconds - (days * DAY_MS) / 1000
  const [year, month, day] = dateOf(days)
  const date = [padded(year, 4), padded(month, 2), padded(day, 2)].join('-')
  const hours = Math.floor(ofDay / 3600)
  const minutes = Math.floor((ofDay % 3600) / 60)
  const time = [hours, minutes, ofDay % 60].map((each) => padded(each, 2)).join(':')
  return `${date}T${time}Z`
}

/** `30s`, `10m`, `1h`: the largest unit that it is a whole number of. */
export function spanText(spanMs: number): string {
  const seconds = Math.ceil(spanMs / 1000)
  if (seconds === 0 || seconds % 60 !== 0) return `${seconds}s`
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds / 60}m`
}

/** Days since 1970 as a date of the Gregorian calendar, counted in eras of 400 years that begin in March. */
function dateOf(days: number): readonly [number, number, number] {
  const shifted = days + 719_468
  const era = Math.floor(shifted / 146_097)
  const ofEra = shifted - era * 146_097
  const leaps = Math.floor(ofEra / 1460) - Math.floor(ofEra / 36_524) + Math.floor(ofEra / 146_096)
  const yearOfEra = Math.floor((ofEra - leaps) / 365)
  const before = 365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100)
  const ofYear = ofEra - before
  const fromMarch = Math.floor((5 * ofYear + 2) / 153)
  const day = ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  return [yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day]
}

function padded(number: number, digits: number): string {
  return String(number).padStart(digits, '0')
}
