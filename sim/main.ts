/**
 * `npm run sim -- --seed N` runs one world, `--seeds COUNT --from N` many: exit code 0 when all is well, 1 when a world went wrong.
 *
 * Not here: what happens in a world (run.ts).
 */
import { parseArgs } from 'node:util'
import { FAULTS } from './faults.ts'
import { draw } from './options.ts'
import { run } from './run.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string' },
    seeds: { type: 'string' },
    from: { type: 'string' },
    trace: { type: 'boolean' },
  },
})
const first = Number(values.seed ?? values.from ?? 1)
const count = values.seed === undefined ? Number(values.seeds ?? 1) : 1
const print = values.trace === true ? (line: string): void => console.log(line) : undefined
for (let seed = first; seed < first + count; seed++) {
  const before = process.cpuUsage()
  const { wrongs, reaped, digest, fired } = await run(draw(seed, FAULTS), print)
  const { user, system } = process.cpuUsage(before)
  const cpu = `${((user + system) / 1e6).toFixed(1)} s`
  const hits = [...fired.values()].reduce((sum, each) => sum + each, 0)
  const how = wrongs.length === 0 ? 'well' : 'WRONG'
  console.log(`seed ${seed}: ${how}, ${reaped} reaped, ${hits} faults, ${cpu}, digest ${digest}`)
  for (const wrong of wrongs) console.log(`  ${wrong}`)
  if (wrongs.length === 0) continue
  console.log(`  npm run sim -- --seed ${seed}`)
  process.exitCode = 1
}
