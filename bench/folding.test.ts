/**
 * What an event and a dependent cost the fold, as counts, each with a bound: a count is the same on
 * a busy machine, where a time is not.
 *
 * What must stay true: a change that lowers a cost lowers its bound, and one that has to raise a
 * bound says why in its commit. Allocation differs by a few percent from run to run and reads by
 * one or two, so both have 15 % to spare. What is written is the same each time, and has 5 %.
 *
 * Not here: time (RESULTS.md).
 */
import { ok } from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { type Folded, folded } from './folding.ts'
import { rounded } from './rig/report.ts'

/** Of each unit: at most. */
const BOUNDS = {
  'an event of ownership': {
    ...{ 'KiB allocated': 43, 'reads of the store': 4.1, 'pages of the store': 0.07 },
    ...{ 'changelog records': 4.4, 'history records': 1.35, 'lineage records': 1.08 },
    'bytes written': 1_600,
  },
  'a deleted dependent': {
    ...{ 'KiB allocated': 91, 'reads of the store': 8.1, 'pages of the store': 0.04 },
    ...{ 'changelog records': 8.5, 'history records': 4.2, 'lineage records': 3.15 },
    'bytes written': 4_800,
  },
} as const

const OPTIONS = { events: 8_000, living: 1_000, dependents: 1_500, rounds: 2, commit: 120, heap: 1 }
const COMMAND = `npm run bench folding -- ${Object.entries(OPTIONS)
  .map(([name, value]) => `--${name} ${value}`)
  .join(' ')}`

suite('the fold, counted', () => {
  let figures: Readonly<Record<Unit, Figures>>
  before(async () => {
    // The round before is for V8: what it allocates while it compiles is not the fold's.
    const all = await folded({ ...OPTIONS, digests: 0, traces: 0 })
    const [ownership, cascade] = all.slice(-2).map(figuresOf) as [Figures, Figures]
    figures = { 'an event of ownership': ownership, 'a deleted dependent': cascade }
  })

  for (const [unit, bounds] of Object.entries(BOUNDS)) {
    for (const [what, bound] of Object.entries(bounds)) {
      test(`${unit}: ${what}, at most ${bound}`, (context) => {
        const figure = rounded(figures[unit as Unit][what as keyof Figures], 3)
        context.diagnostic(`it was ${figure}`)
        const says = `it was ${figure}, bound ${bound}: ${COMMAND} shows it`
        ok(figure <= bound, `${what} of ${unit}: ${says}`)
      })
    }
  }
})

type Unit = keyof typeof BOUNDS
type Figures = Readonly<Record<keyof (typeof BOUNDS)[Unit], number>>

function figuresOf({ units, allocated = Number.NaN, gets, pages, written }: Folded): Figures {
  const recordsOf = (what: string): number => {
    const [puts = Number.NaN, removals = 0] = written[what] ?? []
    return (puts + removals) / units
  }
  // The parts of the changelog are counted as a whole, too.
  const topics = Object.entries(written).filter(([what]) => !what.startsWith('changelog '))
  return {
    'KiB allocated': allocated / 1_024 / units,
    'reads of the store': gets / units,
    'pages of the store': pages / units,
    'changelog records': recordsOf('changelog'),
    'history records': recordsOf('history'),
    'lineage records': recordsOf('lineage'),
    'bytes written': topics.reduce((sum, [, [, , bytes = 0]]) => sum + bytes, 0) / units,
  }
}
