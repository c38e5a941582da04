/**
 * How far back a question about the past reaches, and the refusal of one that reaches further.
 *
 * What must stay true: what was removed is unknown, so a question about it is refused with the
 * earliest moment, or answered with less where that was asked for and is said.
 */
import { Problem } from '../../../runtime/http/problem.ts'
import type { ChangeList } from '../api/answer-schema.ts'
import { timeOf } from '../api/document.ts'
import { earliestOf, type Reach } from '../query/index/log-reach.ts'
import type { AskedSpan } from './span.ts'

export type Horizon = NonNullable<ChangeList['horizon']>

const BEGINS = 'the record begins then: nothing was removed from it'
const TRIMMED = 'what was older was removed together with its events ("keep" and "keepEvents")'
const NOTHING = 'nothing is recorded yet'

export function horizonOf(reach: readonly Reach[]): Horizon {
  const earliest = earliestOf(reach)
  if (earliest === null) return { earliest: null, because: NOTHING }
  // The one that reaches least far says why.
  const isTrimmed = reach.some((each) => !each.isWhole && each.earliest === earliest)
  return { earliest: timeOf(earliest), because: isTrimmed ? TRIMMED : BEGINS }
}

/**
 * From when on a question is answered, in milliseconds, null where nothing is recorded; `partial`
 * says what is missing. Throws 410 where it reaches further back than the record does.
 */
export function reached(
  horizon: Horizon,
  { since, isPartialFine }: Pick<AskedSpan, 'since' | 'isPartialFine'>,
): { readonly since: number | null; readonly partial: string } {
  const earliest = horizon.earliest === null ? null : Date.parse(horizon.earliest)
  if (since === null) return { since: earliest, partial: '' }
  if (earliest !== null && since >= earliest) return { since, partial: '' }
  if (!isPartialFine) throw beyond(horizon, since)
  const begin = horizon.earliest === null ? '' : `nothing is known of before ${horizon.earliest}: `
  return { since: earliest, partial: `${begin}${horizon.because}` }
}

function beyond({ earliest, because }: Horizon, since: number): Problem {
  const asked = timeOf(since)
  if (earliest === null) return new Problem(410, `nothing is known of ${asked}: ${because}`)
  return new Problem(
    410,
    `${asked} lies before ${earliest}, the earliest moment that is known: ${because}; ask from then on`,
  )
}

/** Trimmed while a client reads it page by page. */
export function trimmedMeanwhile(): Problem {
  return new Problem(
    410,
    'what comes next was removed from the log meanwhile; begin without continue',
  )
}
