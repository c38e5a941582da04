/**
 * Every story in core/scenarios is replayed and must have the result that is written there, and end
 * alike in every legal order of its watches.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { normalGraph } from '../testing/model/normal-graph.ts'
import { check } from '../testing/model/state-check.ts'
import { endOf, isStep, retell, World } from '../testing/model/story.ts'
import { type Chance, seeded } from '../testing/seeded.ts'
import type { Event } from './model/event.ts'

const folder = new URL('./scenarios/', import.meta.url)
const ORDERS = 50

for (const name of readdirSync(folder).sort()) {
  const title = name.replace('.txt', '').replaceAll('-', ' ')
  const file = new URL(name, folder)

  test(`story ${title}`, () => {
    const written = readFileSync(file, 'utf8')
    const told = retell(written)
    if (process.env['UPDATE'] === '1') writeFileSync(file, told)
    else equal(told, written)
  })

  test(`story ${title}, with states whose tables agree`, () => {
    const world = new World()
    world.begin()
    for (const line of readFileSync(file, 'utf8').split('\n').filter(isStep)) {
      world.step(line)
      world.folder.commit()
      deepEqual(check(world.folder.state), [], line)
    }
  })

  test(`story ${title}, in ${ORDERS} orders`, () => {
    const text = readFileSync(file, 'utf8')
    const end = normalGraph(endOf(text, (streams) => mixed(streams, seeded(0))))
    for (let seed = 1; seed <= ORDERS; seed++) {
      const chance = seeded(seed)
      const other = normalGraph(endOf(text, (streams) => mixed(streams, chance)))
      deepEqual(other, end, `seed ${seed}`)
    }
  })
}

/** Whose turn it is is drawn; each stream keeps its own order. */
function mixed(streams: readonly (readonly Event[])[], chance: Chance): Event[] {
  const left = streams.map((stream) => [...stream])
  const mix: Event[] = []
  for (;;) {
    const ready = left.filter((stream) => stream.length > 0)
    const event = ready[chance.below(ready.length)]?.shift()
    if (event === undefined) return mix
    mix.push(event)
  }
}
