/**
 * `npm run sim -- --seed N` runs one world, `--seeds COUNT --from N` many: exit code 0 when all is well, 1 when a world went wrong.
 *
 * Not here: what happens in a world (run.ts).
 */
import { parseArgs } from 'node:util'
import { runSeed } from './run.ts'

const { values } = parseArgs({
  options: { seed: { type: 'string' }, seeds: { type: 'string' }, from: { type: 'string' } },
})
const first = Number(values.seed ?? values.from ?? 1)
const count = values.seed === undefined ? Number(values.seeds ?? 1) : 1
for (let seed = first; seed < first + count; seed++) {
  const { wrongs, reaped } = await runSeed(seed)
  console.log(`seed ${seed}: ${wrongs.length === 0 ? 'well' : 'WRONG'}, ${reaped} reaped`)
  for (const wrong of wrongs) console.log(`  ${wrong}`)
  if (wrongs.length === 0) continue
  console.log(`  npm run sim -- --seed ${seed}`)
  process.exitCode = 1
}
