/**
 * Which worlds are run (../seeds.json): a range that every change runs, and those that failed once,
 * which `npm run sim` runs before fresh ones.
 *
 * Not here: what a seed draws (../options.ts).
 */
import { readFileSync } from 'node:fs'

interface Seeds {
  readonly from: number
  readonly count: number
  /** `why`: what went wrong in it then. */
  readonly fixed: readonly { readonly seed: number; readonly why: string }[]
}

const FILE = new URL('../seeds.json', import.meta.url)

export const SEEDS = JSON.parse(readFileSync(FILE, 'utf8')) as Seeds

/** What a release has had. */
export function releaseSeeds(fresh: number): number[] {
  const { from, fixed } = SEEDS
  const all = new Set(fixed.map(({ seed }) => seed))
  for (let seed = from; seed < from + fresh; seed++) all.add(seed)
  return [...all]
}
