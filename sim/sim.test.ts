/** Random worlds: no wrong delete ever, and once the troubles are over everything that should go has gone, and nothing else. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { FAULTS } from './faults.ts'
import { draw } from './options.ts'
import { run } from './run.ts'

for (let seed = 1; seed <= 8; seed++) {
  test(`a world of seed ${seed} loses what it should and nothing else`, async () => {
    deepEqual((await run(draw(seed, FAULTS))).wrongs, [])
  })
}
