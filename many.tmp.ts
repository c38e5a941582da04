import { FAULTS } from './sim/fault/faults.ts'
import { draw } from './sim/options.ts'
import { runSeeds } from './sim/seeds/crowd.ts'

const from = Number(process.argv[2]),
  count = Number(process.argv[3])
const seeds: number[] = []
for (let s = from; seeds.length < count; s++)
  if (draw(s, FAULTS).policy.rules.length > 0) seeds.push(s)
const fired = new Map<string, number>()
let done = 0,
  wrong = 0
await runSeeds(seeds, 1, (r) => {
  done++
  for (const [row] of r.fired) if (row.startsWith('rule')) fired.set(row, (fired.get(row) ?? 0) + 1)
  if (r.wrongs.length > 0) {
    wrong++
    console.log(
      `seed ${r.seed}: ${r.wrongs
        .slice(0, 3)
        .map((w) => w.slice(0, 420))
        .join('\n   ')}`,
    )
  }
  if (done % 20 === 0) console.log(`${done} done, ${wrong} wrong, ${[...fired].join(' ')}`)
})
console.log('END', done, wrong, [...fired].join(' '))
