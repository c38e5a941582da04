/**
 * Leaves out of a failing world everything that it fails without: delta debugging over its faults
 * and its users' busy times.
 *
 * What must stay true: the rest still fails, and was run to prove that. Leaving out something
 * changes what happens after it, so any failure counts, not only the same one.
 */
import type { SimOptions } from '../options.ts'

/** Runs at most; a world takes seconds. */
const MOST_RUNS = 60

export async function shrink(
  options: SimOptions,
  fails: (options: SimOptions) => Promise<boolean>,
): Promise<SimOptions> {
  let runs = 0
  const may = async (tried: SimOptions): Promise<boolean> => ++runs <= MOST_RUNS && fails(tried)
  const few = await fewest(options.faults, (faults) => may({ ...options, faults }))
  const lean = { ...options, faults: few }
  const bursts = await fewest(options.bursts, (tried) => may({ ...lean, bursts: tried }))
  return { ...lean, bursts }
}

/**
 * Zeller's ddmin, without its tests of complements alone: halves first, then ever smaller parts.
 */
async function fewest<T>(
  all: readonly T[],
  fails: (some: readonly T[]) => Promise<boolean>,
): Promise<readonly T[]> {
  let left = all
  for (let parts = 2; left.length > 0; ) {
    const size = Math.ceil(left.length / parts)
    let isShorter = false
    for (let from = 0; from < left.length; from += size) {
      const without = [...left.slice(0, from), ...left.slice(from + size)]
      if (!(await fails(without))) continue
      left = without
      parts = Math.max(2, parts - 1)
      isShorter = true
      break
    }
    if (isShorter) continue
    if (size === 1) break
    parts *= 2
  }
  return left
}
