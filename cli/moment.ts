/**
 * A moment as flags name it: RFC 3339, or how long ago.
 *
 * What must stay true: what is neither is refused, never guessed. `24h` is before this machine's clock; the log's own may differ by what clocks differ.
 */
import { bad, duration } from './setting.ts'

const AGO = /^\d+[smhd]$/
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/

/** As RFC 3339 in UTC. */
export function momentOf(flag: string, text: string, now: number): string {
  if (AGO.test(text)) {
    const ms = duration({ key: flag, value: text, from: flag }) ?? 0
    return new Date(now - ms).toISOString()
  }
  const time = TIME.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(time)) return new Date(time).toISOString()
  throw bad(`${flag} ${text} is neither how long ago (24h) nor a time (2026-01-31T09:30:00Z)`)
}
