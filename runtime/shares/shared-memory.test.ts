/** What lapsed gives its place before anything that counts, and counts for no holder. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { Cuts } from './cuts.ts'
import { SharedMemory } from './shared-memory.ts'

function rig() {
  const clock = new ManualClock()
  const cuts = new Cuts(clock)
  const cap = { name: 'places', total: 8, floor: 1 }
  return { clock, cuts, memory: new SharedMemory<number>({ cap, clock, cuts }) }
}

test('T16: what lapsed gives its place before anything that counts', async () => {
  const { clock, cuts, memory } = rig()
  // Of two lengths, so that what ends first is not what was remembered first.
  for (let index = 0; index < 3; index++) memory.set('ann', `long-${index}`, index, 60_000)
  for (let index = 0; index < 5; index++) memory.set('eve', `short-${index}`, index, 30_000)
  await clock.advance(30_000)
  equal(memory.get('short-0'), undefined)
  for (let index = 0; index < 5; index++) memory.set('ann', `new-${index}`, index, 30_000)
  deepEqual(
    [0, 1, 2].map((index) => memory.get(`long-${index}`)),
    [0, 1, 2],
  )
  equal(memory.size, 8)
  deepEqual([cuts.of('places', 'ann'), cuts.of('places', 'eve')], [undefined, undefined])
  // While all of it counts, the largest one makes room.
  memory.set('eve', 'another', 1, 30_000)
  equal(memory.get('long-0'), undefined)
  equal(cuts.of('places', 'ann')?.count, 1)
})

test('what is set anew lasts from then on, for as long as it says then', async () => {
  const { clock, memory } = rig()
  memory.set('ann', 'key', 1, 30_000)
  await clock.advance(20_000)
  memory.set('ann', 'key', 2, 60_000)
  await clock.advance(59_999)
  memory.set('ann', 'other', 3, 30_000)
  deepEqual([memory.get('key'), memory.size], [2, 2])
  await clock.advance(1)
  memory.set('ann', 'third', 4, 30_000)
  deepEqual([memory.get('key'), memory.size], [undefined, 2])
})
