/** Random worlds: no wrong delete ever, and once the troubles are over everything that should go has gone, and nothing else. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { runSeed } from './run.ts'

for (let seed = 1; seed <= 24; seed++) {
  test(`a world of seed ${seed} loses what it should and nothing else`, async () => {
    deepEqual((await runSeed(seed)).wrongs, [])
  })
}
