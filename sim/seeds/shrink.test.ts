/** A failing world is reduced to the faults that it needs to fail, in few runs. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { FAULTS } from '../fault/faults.ts'
import { draw, type SimOptions } from '../options.ts'
import { shrink } from './shrink.ts'

const SEED = 7
const MOST_RUNS = 60

/** Fails where these faults are left, and this time at which users were busy. */
function failing(options: SimOptions, faults: readonly number[], burst: number) {
  const needed = faults.map((each) => options.faults[each])
  const runs = { count: 0 }
  const fails = async (tried: SimOptions): Promise<boolean> => {
    runs.count += 1
    const isThere = needed.every((each) => each !== undefined && tried.faults.includes(each))
    return isThere && tried.bursts.includes(options.bursts[burst]!)
  }
  return { fails, runs, needed }
}

test('two faults that fail only together are left, and the users that they need', async () => {
  const options = draw(SEED, FAULTS)
  ok(options.faults.length > 8 && options.bursts.length > 8)
  const last = options.faults.length - 1
  const { fails, runs, needed } = failing(options, [1, last], 3)
  const left = await shrink(options, fails)
  deepEqual(left.faults, needed)
  ok(left.bursts.includes(options.bursts[3]!) && left.bursts.length < options.bursts.length)
  ok(runs.count <= MOST_RUNS, `${runs.count} runs`)
  deepEqual({ ...left, faults: [], bursts: [] }, { ...options, faults: [], bursts: [] })
})
