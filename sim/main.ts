/**
 * `npm run sim` runs what a release has to have had: the worlds that failed once, and 3,000 others.
 * `--seed N` runs one world, `--seeds COUNT --from N` other ones: exit code 0 when all is well, 1
 * when a world went wrong, or when in none of many worlds some fault happened, 2 for bad input.
 *
 * What must stay true: every failure can be run again by the line that is printed.
 *
 * Not here: the course of a world (run.ts).
 */
import { parseArgs } from 'node:util'
import { FAULTS } from './fault/faults.ts'
import { draw, ELSEWHERE_FROM, type SimOptions } from './options.ts'
import { runSeeds } from './seeds/crowd.ts'
import { releaseSeeds } from './seeds/seeds.ts'
import { shrink } from './seeds/shrink.ts'
import { Tally } from './seeds/tally.ts'
import { type Report, report } from './seeds/worker.ts'
import { stamp } from './trace.ts'

const HELP = `npm run sim -- [options]
  --seed N        one world, and a digest of all that happened
                  without any option those that failed once, and 3,000 others: what a release has to have had
  --seeds COUNT   many, from --from N (150001; smaller ones have no rules about owners in other clusters, those below 140001 none that ask about other objects, those below 130001 no policies of clusters, those below 120001 none at all, those below 110001 no rules, and those below 100000 take longer); told one by one up to a hundred, beyond that those that went wrong and, each minute, how far it is;
                  of 300 and more every fault must come about
  --processes N   at once (2)
  --trace         print what happens
  --only F5,F9    of one seed: leave out all other faults
  --no-shrink     do not look for the faults that a failing seed needs`

/** With more than that, seeds are not printed one by one, unless they fail. */
const MOST_TOLD = 100
const PROGRESS_MS = 60_000
const RELEASE_SEEDS = 3_000
const BAD_INPUT = 2
/** As shells have it. */
const INTERRUPTED = 130

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
else if (values.seed !== undefined) await one(numberOf('seed', 0))
else if (values.seeds === undefined && values.from === undefined)
  await many(releaseSeeds(RELEASE_SEEDS), numberOf('processes', 2))
else
  await many(
    range(numberOf('from', ELSEWHERE_FROM + 1), numberOf('seeds', 20)),
    numberOf('processes', 2),
  )

function range(from: number, count: number): number[] {
  return Array.from({ length: count }, (_, index) => from + index)
}

/** A number that is none would run nothing, and all would seem well. */
function numberOf(name: 'seed' | 'seeds' | 'from' | 'processes', otherwise: number): number {
  const text = values[name] ?? String(otherwise)
  if (/^\d{1,15}$/.test(text) && (name === 'seed' || name === 'from' || Number(text) > 0))
    return Number(text)
  console.error(`--${name} must be a whole number, and is "${text}"`)
  process.exit(BAD_INPUT)
}

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
  const unknown = rows.find((row) => !FAULTS.some((fault) => fault.row === row))
  if (unknown !== undefined) {
    console.error(`--only names "${unknown}", and there is no such fault`)
    process.exit(BAD_INPUT)
  }
  return { ...options, faults: options.faults.filter(({ row }) => rows.includes(row)) }
}

/** Until it is done or interrupted; what is known by then is printed. */
async function many(seeds: readonly number[], processes: number): Promise<void> {
  const count = seeds.length
  const tally = new Tally(count)
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  const progress = setInterval(() => console.log(tally.progress()), PROGRESS_MS)
  const onReport = (each: Report): void => {
    tally.add(each)
    if (count <= MOST_TOLD || each.wrongs.length > 0) tell(each)
  }
  await runSeeds(seeds, processes, onReport, stop.signal)
  clearInterval(progress)
  for (const line of tally.lines()) console.log(line)
  if (tally.lacksFaults) process.exitCode = 1
  if (stop.signal.aborted) process.exitCode = INTERRUPTED
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
