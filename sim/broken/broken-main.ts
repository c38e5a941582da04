/**
 * `npm run sim:broken` finds for each broken build a check that notices it, and records that: of the simulator the first seed, of small worlds the
 * first world. A recorded check that still notices its build stays. `--only NAME` for one build, `--seeds COUNT` for as many seeds at most, `--sim`
 * for seeds also of builds that a test notices.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { type Caught, replay, search, searchSeeds } from './broken-catch.ts'

/** A build that survives so many seeds counts as unnoticed. */
const MOST_SEEDS = 500
const RECORDED = fileURLToPath(new URL('../broken-seeds.json', import.meta.url))

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    seeds: { type: 'string', default: String(MOST_SEEDS) },
    sim: { type: 'boolean', default: false },
  },
})
const recorded = JSON.parse(readFileSync(RECORDED, 'utf8')) as Record<string, Caught>
for (const name of Object.keys(recorded))
  if (BROKEN_BUILDS.every((build) => build.name !== name)) delete recorded[name]

for (const build of BROKEN_BUILDS) {
  const { name } = build
  if (values.only !== undefined && values.only !== name) continue
  const seeds = { from: 1, to: Number(values.seeds) }
  const again = await replay(build, recorded[name])
  const isTest = (again?.by ?? 'test') === 'test'
  const seed = values.sim && isTest ? await searchSeeds(build, seeds) : undefined
  const caught = seed ?? again ?? (await search(build, seeds))
  if (caught === undefined) {
    console.log(`NOT NOTICED: ${name}`)
    process.exitCode = 1
    continue
  }
  const who = caught.by === 'sim' ? `seed ${caught.seed}` : caught.by
  console.log(`${name}: ${who}: ${caught.wrong.slice(0, 200)}`)
  // Recorded seeds are replayed: a seed that no longer notices anything would shadow the test that does.
  if (caught.by === 'test') delete recorded[name]
  else recorded[name] = { ...caught, wrong: caught.wrong.slice(0, 300) }
  writeFileSync(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`)
}
