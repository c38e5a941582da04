/**
 * The words of a question about the past: from when, until when, how much. What must stay true: a
 * time that cannot be read is refused, never guessed.
 */
import { Problem } from '../../../runtime/http/problem.ts'

export interface AskedSpan {
  /** In milliseconds; null: as far back as is known. */
  readonly since: number | null
  /** Null: up to now. */
  readonly until: number | null
  /** What is known is an answer, too, where the record begins after `since`. */
  readonly isPartialFine: boolean
  readonly limit: number
}

type Words = Readonly<Record<string, string | undefined>>

const LISTED = 500
const LISTED_MOST = 2_000

export function spanOf({ since, until, reach, limit = `${LISTED}` }: Words): AskedSpan {
  const asked = { since: timeIn('since', since), until: timeIn('until', until) }
  if (asked.since !== null && asked.until !== null && asked.until <= asked.since) {
    throw new Problem(400, `until ${until} is not after since ${since}`)
  }
  const isPartialFine = reach === 'partial'
  return { ...asked, isPartialFine, limit: Math.min(Number(limit), LISTED_MOST) }
}

function timeIn(name: string, text: string | undefined): number | null {
  if (text === undefined) return null
  const time = Date.parse(text)
  if (Number.isNaN(time)) throw new Problem(400, `${name} ${text} is no time of RFC 3339`)
  return time
}
