/** How long a look counts, who shares it, and what voids it. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerClaim } from '../../core/command.ts'
import { GONE_CLAIM, World } from '../../testing/reaper-world.ts'
import { createCaller } from './call.ts'
import { DEFAULT_REAPER_CONFIG, type ReaperConfig } from './config.ts'
import { createProofs, type Proofs } from './proof.ts'
import { createThrottle } from './throttle.ts'

interface Looking {
  readonly proofs: Proofs
  /** Requests so far for kube-system, and for owners. */
  readonly asked: { identity: number; owner: number }
  identity(): Promise<string | undefined>
  owner(name?: string): Promise<string>
}

function looking(world: World, config: Partial<ReaperConfig> = {}): Looking {
  const bounds = { ...DEFAULT_REAPER_CONFIG, ...config }
  const { signal } = new AbortController()
  const cluster = world.connect()
  const caller = createCaller({
    cluster,
    throttle: createThrottle(bounds),
    clock: world.clock,
    random: { next: () => 0 },
    bounds,
    onAnswer: () => {},
    onBroken: () => {},
  })
  const proofs = createProofs(world.id, cluster, caller, world.clock, bounds)
  const asked = { identity: 0, owner: 0 }
  return {
    proofs,
    asked,
    identity: () => proofs.identity(() => asked.identity++, signal),
    async owner(name = 'gone') {
      const claim: OwnerClaim = { ...GONE_CLAIM, name }
      return (await proofs.owner(claim, () => asked.owner++, signal)).type
    },
  }
}

test('proves an identity once for all who ask within its time', async () => {
  const world = await World.open()
  const look = looking(world)
  deepEqual(await Promise.all([look.identity(), look.identity()]), [undefined, undefined])
  await world.clock.advance(24_999)
  await look.identity()
  equal(look.asked.identity, 1)
  await world.clock.advance(1)
  await look.identity()
  equal(look.asked.identity, 2)
})

test('asks again a second after it could not prove an identity', async () => {
  const world = await World.open()
  const end = world.server.inject(() => Promise.resolve({ status: 503, headers: {}, body: none() }))
  const look = looking(world)
  equal(typeof (await look.identity()), 'string')
  end()
  await world.clock.advance(999)
  equal(typeof (await look.identity()), 'string')
  equal(look.asked.identity, 1)
  await world.clock.advance(1)
  equal(await look.identity(), undefined)
})

test('looks at an owner once for all who ask within its time', async () => {
  const world = await World.open()
  const look = looking(world)
  deepEqual(await Promise.all([look.owner(), look.owner()]), ['Absent', 'Absent'])
  equal(look.asked.owner, 1)
  await world.create('gone')
  await world.clock.advance(1_999)
  equal(await look.owner(), 'Absent')
  await world.clock.advance(1)
  equal(await look.owner(), 'Found')
  equal(look.asked.owner, 2)
})

test('trusts nothing seen before a connection broke', async () => {
  const world = await World.open()
  const look = looking(world)
  await look.identity()
  await look.owner()
  look.proofs.voidAll()
  await look.identity()
  await look.owner()
  deepEqual(look.asked, { identity: 2, owner: 2 })
})

test('forgets the oldest look when it has too many', async () => {
  const world = await World.open()
  const look = looking(world, { ownerProofs: 2 })
  for (const name of ['a', 'b', 'c', 'b', 'c']) await look.owner(name)
  equal(look.asked.owner, 3)
  await look.owner('a')
  equal(look.asked.owner, 4)
})

async function* none(): AsyncGenerator<Uint8Array, void> {}
