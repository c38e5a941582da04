/**
 * `npm run sim -- --seed N` runs one world, `--seeds COUNT --from N` many: exit code 0 when all is well, 1 when a world went wrong.
 *
 * What must stay true: whatever failed can be run again by the line that is printed.
 *
 * Not here: what happens in a world (run.ts).
 */
import { parseArgs } from 'node:util'
import { runSeeds } from './crowd.ts'
import { FAULTS } from './faults.ts'
import { draw, type SimOptions } from './options.ts'
import { shrink } from './shrink.ts'
import { stamp } from './trace.ts'
import { type Report, report } from './worker.ts'

const HELP = `npm run sim -- [options]
  --seed N        one world, and a digest of all that happened
  --seeds COUNT   many, from --from N (1)
  --processes N   at once (2)
  --trace         print what happens
  --only F5,F9    of one seed: leave out all other faults
  --no-shrink     do not look for the faults that a failing seed needs`

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string' },
    processes: { type: 'string' },
    trace: { type: 'boolean' },
    only: { type: 'string' },
    'no-shrink': { type: 'boolean' },
    help: { type: 'boolean' },
  },
})

if (values.help === true) console.log(HELP)
else if (values.seed !== undefined) await one(Number(values.seed))
else await many(Number(values.seeds ?? 20), Number(values.from ?? 1))

async function one(seed: number): Promise<void> {
  const print = values.trace === true ? (line: string): void => console.log(line) : undefined
  const options = kept(draw(seed, FAULTS), values.only)
  const result = await report(options, print)
  tell(result)
  if (result.wrongs.length === 0 || values['no-shrink'] === true) return
  console.log('looking for the faults that it needs')
  const fails = async (tried: SimOptions): Promise<boolean> =>
    (await report(tried)).wrongs.length > 0
  const { faults, bursts } = await shrink(options, fails)
  for (const { row, atMs, lastsMs, target } of faults)
    console.log(`  ${stamp(atMs)} ${row} for ${lastsMs} ms, target ${target}`)
  for (const { atMs, acts } of bursts) console.log(`  ${stamp(atMs)} users: ${acts} acts`)
}

function kept(options: SimOptions, only: string | undefined): SimOptions {
  if (only === undefined) return options
  const rows = only.split(',')
  return { ...options, faults: options.faults.filter(({ row }) => rows.includes(row)) }
}

async function many(count: number, from: number): Promise<void> {
  const seeds = Array.from({ length: count }, (_, index) => from + index)
  const totals = { hits: 0, cpuMs: 0, elapsedMs: 0, wrong: 0 }
  const fired = new Map<string, number>()
  await runSeeds(seeds, Number(values.processes ?? 2), (each) => {
    tell(each)
    totals.cpuMs += each.cpuMs
    totals.elapsedMs += each.elapsedMs
    totals.wrong += each.wrongs.length > 0 ? 1 : 0
    for (const [row, times] of each.fired) {
      fired.set(row, (fired.get(row) ?? 0) + 1)
      totals.hits += times
    }
  })
  const never = FAULTS.filter(({ row }) => !fired.has(row)).map(({ row }) => row)
  const hours = Math.round(totals.elapsedMs / 3_600_000)
  const cpu = (totals.cpuMs / 1_000 / count).toFixed(1)
  console.log(`${count} seeds, ${hours} virtual hours, ${totals.hits} faults, ${cpu} s of CPU each`)
  console.log(`${totals.wrong} went wrong; never reached: ${never.join(' ') || 'none'}`)
}

function tell({ seed, wrongs, reaped, fired, cpuMs, digest }: Report): void {
  const hits = fired.reduce((sum, [, times]) => sum + times, 0)
  const how = wrongs.length === 0 ? 'well' : 'WRONG'
  const cpu = (cpuMs / 1_000).toFixed(1)
  console.log(`seed ${seed}: ${how}, ${reaped} reaped, ${hits} faults, ${cpu} s, digest ${digest}`)
  if (wrongs.length === 0) return
  for (const wrong of wrongs) console.log(`  ${wrong}`)
  console.log(`  npm run sim -- --seed ${seed}`)
  process.exitCode = 1
}
