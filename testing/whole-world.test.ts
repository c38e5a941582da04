/** Random worlds: no wrong delete ever, and once the troubles are over everything that should go has gone, and nothing else. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import type { ApiServer } from '../adapters/memory/api-server.ts'
import { WholeWorld } from './whole-world.ts'
import { leftoversOf, RESOURCES } from './whole-world-oracle.ts'
import { Users } from './whole-world-users.ts'

const MINUTE = 60_000
/** Of virtual time until everything is in order: two growing waits of ten minutes, and an hour for what only a relist shows. */
const PATIENCE_MS = 90 * MINUTE
const SEEDS = process.env['SEEDS'] ?? '1-24'

for (const seed of seedsOf(SEEDS)) {
  test(`a world of seed ${seed} loses what it should and nothing else`, async () => {
    const world = new WholeWorld({ seed, partitions: 1 + (seed % 3), troubles: 0.02 * (seed % 5) })
    const users = new Users(world)
    world.start()
    await live(world, users)
    await heal(world, users)
    deepEqual(world.wrongs, [], 'wrong effects')
    ok(world.reaped.length > 0, 'nothing was ever reaped')
    await world.stop()
    deepEqual(world.wrongs, [], 'wrong effects')
  })
}

// Between the owner's deletion and the commands' arrival the server dies, and comes back as it was before the deletion: every uid and version
// that a command names is there again, so no guard inside a call would notice.
for (const [outageMs, isKilled] of [
  [500, false],
  [3_000, false],
  [8_000, false],
  [60_000, false],
  [3_000, true],
  [60_000, true],
] as const) {
  const how = isKilled ? ' and Kinfold was killed' : ''
  test(`a restore in the middle of a cascade deletes nothing, after ${outageMs} ms${how}`, async () => {
    const world = new WholeWorld({ seed: outageMs, troubles: 0 })
    const before = world.newServer(outageMs)
    const { server: after } = world
    for (const server of [before, after]) makeFamily(world, server)
    world.start()
    await world.clock.advance(MINUTE)
    world.user('DELETE', `${CONFIG_MAPS}/owner`, { propagationPolicy: 'Background' })
    world.beforeEffect = () => {
      world.isDown = true
    }
    await world.clock.advance(3)
    ok(world.isDown, 'no DELETE was on its way')
    world.cut()
    await world.clock.advance(outageMs)
    if (isKilled) await world.kill()
    world.beforeEffect = () => undefined
    world.server = before
    world.isDown = false
    if (isKilled) world.start()
    await world.clock.advance(30 * MINUTE)
    deepEqual(world.wrongs, [])
    deepEqual(world.all([['', 'secrets']]).length, FAMILY)
    // A watermark may lag behind what was told before a kill, so that no version tells of the restore.
    if (!isKilled) deepEqual(world.watcher.status().clusterEpoch, 2)
    await world.stop()
  })
}

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps'
const FAMILY = 40

function makeFamily(world: WholeWorld, server: ApiServer): void {
  const { server: former } = world
  world.server = server
  world.user('POST', CONFIG_MAPS, { metadata: { name: 'owner' } })
  const { uid } = server.object('', 'configmaps', 'default', 'owner')?.metadata ?? {}
  const ownerReferences = [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid }]
  for (let i = 0; i < FAMILY; i++) {
    const metadata = { name: `d${i}`, ownerReferences }
    world.user('POST', '/api/v1/namespaces/default/secrets', { metadata })
  }
  world.server = former
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

async function heal(world: WholeWorld, users: Users): Promise<void> {
  world.isTroubled = false
  let left: readonly string[] = []
  for (let waitedMs = 0; waitedMs < PATIENCE_MS; waitedMs += 10_000) {
    users.releaseAll()
    await world.clock.advance(10_000)
    left = leftoversOf(world.server, world.all(RESOURCES))
    if (left.length === 0 && world.wrongs.length === 0) break
    if (world.wrongs.length > 0) return
  }
  deepEqual(left, [], 'left behind')
  // Nothing more happens, and nobody runs hot.
  await world.clock.advance(2 * MINUTE)
  const [commands, requests] = [await world.commands(), world.requests]
  await world.clock.advance(2 * MINUTE)
  deepEqual(leftoversOf(world.server, world.all(RESOURCES)), [])
  deepEqual(await world.complaints(RESOURCES), [], 'the graph')
  ok((await world.commands()) - commands < 40, 'commands go on')
  ok(world.requests - requests < 400, `${world.requests - requests} requests in two quiet minutes`)
}

/** `7`, or `1-24`. */
function seedsOf(text: string): number[] {
  const [first = 1, last = first] = text.split('-').map(Number)
  return Array.from({ length: last - first + 1 }, (_, index) => first + index)
}
