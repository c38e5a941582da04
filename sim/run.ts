/**
 * One seed's life: a time with faults, then everything heals and it must come to rest.
 *
 * What must stay true: all that happens follows from the seed.
 */
import { leftoversOf, RESOURCES } from './oracle.ts'
import { Users } from './workload.ts'
import { WholeWorld } from './world.ts'

const MINUTE = 60_000
/** Of virtual time until everything is in order: two growing waits of ten minutes, and an hour for what only a relist shows. */
const PATIENCE_MS = 90 * MINUTE

export interface Run {
  readonly seed: number
  /** What was wrong; empty when all is well. */
  readonly wrongs: readonly string[]
  readonly reaped: number
}

export async function runSeed(seed: number): Promise<Run> {
  const world = new WholeWorld({ seed, partitions: 1 + (seed % 3), troubles: 0.02 * (seed % 5) })
  const users = new Users(world)
  world.start()
  await live(world, users)
  const left = world.wrongs.length > 0 ? [] : await heal(world, users)
  if (world.reaped.length === 0) world.wrongs.push('nothing was ever reaped')
  await world.stop()
  return { seed, wrongs: [...world.wrongs, ...left], reaped: world.reaped.length }
}

async function live(world: WholeWorld, users: Users): Promise<void> {
  const { chance, clock } = world
  world.isTroubled = true
  for (let turn = 0; turn < 150; turn++) {
    const acts = 1 + chance.below(3)
    for (let i = 0; i < acts; i++) users.act()
    await clock.advance(chance.pick([5, 50, 500, 2_000, 6_000]))
    const lot = chance.below(200)
    if (lot < 4) world.cut()
    else if (lot < 6) world.server.compact()
    else if (lot < 9) world.log.loseNextCommitAnswer(chance.next() < 0.5)
    else if (lot < 13) await restart(world, users)
    if (world.wrongs.length > 0) return
  }
}

async function restart(world: WholeWorld, users: Users): Promise<void> {
  const { chance, clock } = world
  if (chance.next() < 0.3) await world.stop()
  else await world.kill(chance.next() < 0.3)
  const turns = chance.below(10)
  for (let turn = 0; turn < turns; turn++) {
    users.act()
    await clock.advance(chance.pick([10, 1_000, 60_000]))
  }
  if (chance.next() < 0.3) world.server.compact()
  world.start()
}

async function heal(world: WholeWorld, users: Users): Promise<readonly string[]> {
  world.isTroubled = false
  let left: readonly string[] = []
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 10_000) {
    users.releaseAll()
    await world.clock.advance(10_000)
    left = leftoversOf(world.server, world.all(RESOURCES))
    if (left.length === 0 && world.wrongs.length === 0) break
    if (world.wrongs.length > 0) return []
  }
  if (left.length > 0) return left
  // Nothing more happens, and nobody runs hot.
  await world.clock.advance(2 * MINUTE)
  const [commands, requests] = [await world.commands(), world.requests]
  await world.clock.advance(2 * MINUTE)
  const wrongs = [
    ...leftoversOf(world.server, world.all(RESOURCES)),
    ...(await world.complaints(RESOURCES)),
  ]
  if ((await world.commands()) - commands >= 40) wrongs.push('commands go on')
  const calls = world.requests - requests
  if (calls >= 400) wrongs.push(`${calls} requests in two quiet minutes`)
  return wrongs
}
