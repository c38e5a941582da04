/**
 * One seed of the simulator, as broken builds are shown to it.
 *
 * Not here: what a seed draws (run.ts).
 */
import { runSeed } from './run.ts'

/** What was wrong in it; empty when all was well. */
export async function wrongsOf(seed: number): Promise<readonly string[]> {
  return (await runSeed(seed)).wrongs
}
