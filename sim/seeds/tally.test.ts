/** The sum of many seeds: a fault that happened in none of them is a fault of the run. */
import { equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import { BY_THEMSELVES, FAULTS } from '../fault/faults.ts'
import { Tally } from './tally.ts'
import { type Report, unfinished } from './worker.ts'

const SEEDS = 300
const ROWS = [...FAULTS.map(({ row }) => row), ...Object.keys(BY_THEMSELVES)]

function tallyOf(seeds: number, rows: readonly string[]): Tally {
  const tally = new Tally(seeds)
  const each: Report = { ...unfinished(1, ''), wrongs: [], fired: rows.map((row) => [row, 1]) }
  for (let seed = 0; seed < seeds; seed++) tally.add({ ...each, seed })
  return tally
}

test('of many seeds every fault must have come about, also one that comes about by itself', () => {
  equal(tallyOf(SEEDS, ROWS).lacksFaults, false)
  for (const missing of ['F9', 'F92']) {
    const tally = tallyOf(
      SEEDS,
      ROWS.filter((row) => row !== missing),
    )
    equal(tally.lacksFaults, true)
    match(tally.lines().join('\n'), new RegExp(`never reached: ${missing}$`))
  }
})

test('of a few seeds not all are to be expected', () => {
  equal(tallyOf(SEEDS - 1, []).lacksFaults, false)
})
