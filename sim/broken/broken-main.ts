/**
 * `npm run sim:broken` says of each broken build whether the check that it names notices it: exit
 * code 1 when one does not. `--only NAME` for one build. `--search` searches for others that notice
 * it: small worlds, and seeds of the simulator (`--seeds COUNT --from N`); it takes hours for all
 * builds. Worlds have rules from one seed on and policies from another one (sim/options.ts).
 *
 * Not here: a record of what was found. A seed's world is another one after the next change of the
 * simulator; a build names a test or a small world.
 */
import { parseArgs } from 'node:util'
import { BROKEN_BUILDS } from './broken-builds.ts'
import { caughtBy, searchSeeds, searchWorlds } from './broken-catch.ts'

/** Mistakes that show at all show in so many, most of them in the first few. */
const MOST_SEEDS = '500'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    search: { type: 'boolean', default: false },
    seeds: { type: 'string', default: MOST_SEEDS },
    from: { type: 'string', default: '1' },
  },
})

const builds = BROKEN_BUILDS.filter(({ name }) => name === (values.only ?? name))
if (builds.length === 0) {
  console.error(`there is no broken build "${values.only}"`)
  process.exit(2)
}
const from = Number(values.from)
for (const build of builds) {
  const caught = await caughtBy(build)
  console.log(caught === undefined ? `NOT NOTICED: ${build.name}` : `${build.name}: ${caught.by}`)
  if (caught === undefined) process.exitCode = 1
  if (!values.search) continue
  const found = [
    await searchWorlds(build),
    await searchSeeds(build, { from, to: from + Number(values.seeds) - 1 }),
  ]
  for (const each of found)
    if (each !== undefined) console.log(`  ${each.by}: ${each.wrong.slice(0, 200)}`)
}
