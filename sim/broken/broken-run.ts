/**
 * Runs the checks that may notice a broken build, in the process that is broken, and prints the
 * failures as one line of JSON: seeds of the simulator (`--from`, `--to`), or small worlds
 * (`--small` for all of them, `--family` and `--world` for one).
 *
 * What must stay true: it ends at the first thing that is wrong. To be wrong is no failure of this
 * process: only the mistake may make it fail.
 */
import { parseArgs } from 'node:util'
import { FAULTS } from '../fault/faults.ts'
import { draw } from '../options.ts'
import { run } from '../run.ts'
import { FAMILIES, type Family, firstComplaint } from '../small/small-world.ts'
import type { Caught } from './broken-catch.ts'

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '0' },
    small: { type: 'boolean', default: false },
    family: { type: 'string' },
    world: { type: 'string' },
  },
})

const caught =
  values.small || values.world !== undefined
    ? smallWorld()
    : await seed(Number(values.from), Number(values.to))
console.log(JSON.stringify(caught ?? null))

async function seed(from: number, to: number): Promise<Caught | undefined> {
  for (let seed = from; seed <= to; seed++) {
    const [wrong] = (await run(draw(seed, FAULTS))).wrongs
    if (wrong !== undefined) return { by: `seed ${seed}`, wrong }
  }
  return undefined
}

function smallWorld(): Caught | undefined {
  const { family: named, world: only } = values
  for (const family of FAMILIES.filter((each) => named === undefined || each === named)) {
    const complaint = firstComplaint(family as Family, only)
    if (complaint !== undefined)
      return { by: `small world ${family}: ${complaint.world}`, wrong: complaint.wrong }
  }
  return undefined
}
