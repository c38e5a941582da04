/** A cluster that was out of sight: time without use begins anew with the list that follows. */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { World } from '../../testing/model/story.ts'

const HOUR_MS = 3_600_000

for (const first of ['the list', 'a sign of life'] as const) {
  test(`an hour out of sight counts for no use, where ${first} comes first`, () => {
    const world = new World()
    world.begin()
    for (const line of ['rule free cm 0 unused:7200', 'enforce-rule free all', 'beat 1 pod 0']) {
      world.step(line)
    }
    world.step('put cm/a')
    world.step('beat 60 pod 0')
    const out = world.now
    if (first === 'a sign of life') world.step('beat 3600 pod 3600')
    for (const event of world.relist('pod')) world.folder.fold(event, out + HOUR_MS)
    if (first === 'the list') world.step('beat 3601 pod 1')
    const back = out + HOUR_MS
    const deletedAt: number[] = []
    while (world.now < back + 4 * HOUR_MS) {
      const answers = world.step('beat 100 pod 0')
      if (answers.some((each) => each.startsWith('> DeleteObject cm/a'))) deletedAt.push(world.now)
    }
    const early = deletedAt.filter((at) => at < back + 2 * HOUR_MS)
    deepEqual([early, deletedAt.length > 0], [[], true])
  })
}
