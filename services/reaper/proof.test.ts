/** How long a live GET is valid, which commands share it, and what voids it. */
import { deepEqual, equal, match } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerClaim } from '../../core/model/command.ts'
import { GONE_CLAIM, World } from '../../testing/rig/reaper-world.ts'
import { createCaller } from './call.ts'
import { DEFAULT_REAPER_CONFIG, type ReaperConfig } from './config.ts'
import { Proofs } from './proof.ts'
import { Throttle } from './throttle.ts'

interface Looking {
  readonly proofs: Proofs
  /** Requests so far for kube-system, and for owners; and how often the first failed. */
  readonly asked: { identity: number; owner: number; trouble: number }
  identity(): Promise<string | undefined>
  owner(name?: string, since?: number): Promise<string>
}

function looking(world: World, config: Partial<ReaperConfig> = {}, id = world.id): Looking {
  const bounds = { ...DEFAULT_REAPER_CONFIG, ...config }
  const { signal } = new AbortController()
  const cluster = world.connect()
  const caller = createCaller({
    id,
    cluster,
    throttle: new Throttle(bounds),
    clock: world.clock,
    random: { next: () => 0 },
    bounds,
    onAnswer: () => {},
    onBroken: () => {},
  })
  const asked = { identity: 0, owner: 0, trouble: 0 }
  const { clock } = world
  const onTrouble = (): void => void asked.trouble++
  const proofs = new Proofs({ id, cluster, caller, clock, bounds, onTrouble })
  return {
    proofs,
    asked,
    identity: () => proofs.identity(() => asked.identity++, signal),
    async owner(name = 'gone', since = 0) {
      const claim: OwnerClaim = { ...GONE_CLAIM, name }
      return (await proofs.owner(claim, since, () => asked.owner++, signal)).answer.type
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

test('tries an identity again shortly, for all who wait for it', async () => {
  const world = await World.open()
  failFirst(world, 2, 503)
  const look = looking(world)
  const proofs = Promise.all([look.identity(), look.identity()])
  await world.clock.advance(300)
  deepEqual(await proofs, [undefined, undefined])
  deepEqual(look.asked, { identity: 3, owner: 0, trouble: 2 })
})

test('gives an identity up after three more tries, and asks again a second later', async () => {
  const world = await World.open()
  failFirst(world, 4, 503)
  const look = looking(world)
  const failed = look.identity()
  await world.clock.advance(700)
  equal(typeof (await failed), 'string')
  equal(look.asked.identity, 4)
  equal(typeof (await look.identity()), 'string')
  await world.clock.advance(649)
  equal(typeof (await look.identity()), 'string')
  equal(look.asked.identity, 4)
  await world.clock.advance(1_000)
  equal(await look.identity(), undefined)
})

test('gives an identity up at once when it is refused, or would take too long', async () => {
  for (const [status, headers] of [
    [403, {}],
    [429, { 'retry-after': '60' }],
  ] as const) {
    const world = await World.open()
    failFirst(world, 1, status, headers)
    const look = looking(world)
    equal(typeof (await look.identity()), 'string', `${status}`)
    equal(look.asked.identity, 1)
  }
})

test('gives an identity up when the first try took as long as a failed one stands', async () => {
  const world = await World.open()
  world.server.inject(async (_request) => {
    await world.clock.sleep(1_000)
    return { status: 503, headers: {}, body: none() }
  })
  const look = looking(world)
  const failed = look.identity()
  await world.clock.advance(1_000)
  equal(typeof (await failed), 'string')
  equal(look.asked.identity, 1)
})

test('takes another cluster for what it is at once', async () => {
  const world = await World.open()
  const look = looking(world, {}, 'another')
  match((await look.identity()) ?? '', /another cluster/)
  deepEqual(look.asked, { identity: 1, owner: 0, trouble: 0 })
})

test('trusts no owner seen before an identity was not answered', async () => {
  const world = await World.open()
  const look = looking(world)
  await look.owner()
  failFirst(world, 1, 503)
  const proof = look.identity()
  await world.clock.advance(100)
  equal(await proof, undefined)
  await look.owner()
  equal(look.asked.owner, 2)
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

test('looks at an owner anew for who needs a later look, once for all of them', async () => {
  const world = await World.open()
  const look = looking(world)
  await look.owner()
  await world.clock.advance(1_000)
  const since = world.clock.monotonicMs()
  await Promise.all([look.owner('gone', since), look.owner('gone', since)])
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
  deepEqual(look.asked, { identity: 2, owner: 2, trouble: 0 })
})

test('forgets the oldest look when it has too many', async () => {
  const world = await World.open()
  const look = looking(world, { ownerProofs: 2 })
  for (const name of ['a', 'b', 'c', 'b', 'c']) await look.owner(name)
  equal(look.asked.owner, 3)
  await look.owner('a')
  equal(look.asked.owner, 4)
})

function failFirst(
  world: World,
  count: number,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): void {
  let failed = 0
  world.server.inject(() => {
    return failed++ < count ? Promise.resolve({ status, headers, body: none() }) : undefined
  })
}

async function* none(): AsyncGenerator<Uint8Array, void> {}
