/**
 * One seed of the simulator, as broken builds are shown to it.
 *
 * Not here: what a seed draws (options.ts).
 */
import { FAULTS } from './faults.ts'
import { draw } from './options.ts'
import { run } from './run.ts'

/** What was wrong in it; empty when all was well. */
export async function wrongsOf(seed: number): Promise<readonly string[]> {
  return (await run(draw(seed, FAULTS))).wrongs
}
