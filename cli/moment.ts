/**
 * A moment of the past as people write it: a time, how long ago, a position, or just before a command.
 *
 * What must stay true: how long ago is counted back once, by the clock of who asks, and sent as a time: each page of an answer is about the same moment.
 *
 * Loaded only where one is asked about.
 *
 * Not here: whether it can be asked (services/graph/query/past.ts).
 */
import { EXIT, ExitError } from '../runtime/lifecycle.ts'
import type { AsOf } from '../services/graph/api/document.ts'

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** As the endpoint takes it. */
export function momentOf(text: string, nowMs: number = Date.now()): string {
  const ago = agoIn(text)
  if (ago !== undefined) return new Date(nowMs - ago).toISOString()
  if (/^(pos:\d+-\d+|before:\d+-\d+-\d+|\d{4}-\d{2}-\d{2}[Tt].*)$/.test(text)) return text
  throw new ExitError(
    EXIT.input,
    `${text}: expected a moment, as 2026-01-31T09:30:00Z, 2h (ago), pos:PARTITION-OFFSET or before:COMMAND`,
  )
}

/** As kubectl has durations, and days: 1h30m, 45s, 7d. */
function agoIn(text: string): number | undefined {
  if (!/^(\d+[dhms])+$/.test(text)) return undefined
  return [...text.matchAll(/(\d+)([dhms])/g)].reduce((sum, [, count, unit]) => {
    return sum + Number(count) * (UNITS[unit ?? ''] ?? 0)
  }, 0)
}

/** Which moment an answer is about, for people. */
export function momentText(asOf: readonly AsOf[] | undefined): string {
  const [first] = asOf ?? []
  if (first === undefined) return ''
  const { partition, position, time } = first
  if (position === null) return `at ${time}`
  return `before pos:${partition}-${position}${time === null ? '' : `, ${time}`}`
}
