/**
 * Shows that an object with thousands of owners is proven in the end, and that nothing a restore
 * could hide behind counts as proof.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerClaim } from '../../core/model/command.ts'
import { GONE_CLAIM, type Running, World } from '../../testing/rig/reaper-world.ts'
import { LOOKS_AT_ONCE } from './long-proof.ts'

/** More than can be verified within the time for which one live GET is valid. */
const MANY = 40 * LOOKS_AT_ONCE
const ANSWER_MS = 200

interface Told {
  readonly outcome: string
  /** How often each owner was verified, and by how many of them. */
  readonly looks: Readonly<Record<string, number>>
}

/**
 * A DELETE whose owners all have to be proven. `trouble`: how the server answers the n-th question
 * for its identity, if otherwise than usual.
 */
async function proven(
  trouble: (question: number, world: World) => Promise<number | undefined>,
  kind: OwnerClaim['claim'] = 'absent',
): Promise<Told> {
  const world = await World.open()
  const pod = await world.dependent('pod')
  const counts = new Map<string, number>()
  let questions = 0
  const running: Running = world.start()
  await world.clock.advance(10)
  world.server.inject(async ({ method, path }) => {
    if (method !== 'GET') return undefined
    if (path.includes('kube-system')) {
      const status = await trouble(++questions, world)
      return status === undefined ? undefined : { status, headers: {}, body: none() }
    }
    const name = /gone-\d+/.exec(path)?.[0]
    if (name === undefined) return undefined
    counts.set(name, (counts.get(name) ?? 0) + 1)
    await world.clock.sleep(ANSWER_MS)
    return undefined
  })
  const owners = Array.from({ length: MANY }, (_, i): OwnerClaim => {
    return { ...GONE_CLAIM, name: `gone-${i}`, claim: i === 0 ? kind : 'absent' }
  })
  await world.command(world.deleteOf(pod, { evidence: 'not-found', freshness: 'recheck', owners }))
  const [result] = await world.settled(1)
  await running.stop()
  if (result?.type !== 'CommandSettled') throw new Error('it was not settled')
  const looks = Object.groupBy([...counts.values()], (count) => `${count}`)
  const shown = Object.entries(looks).map(([times, all]) => [times, all?.length ?? 0])
  return { outcome: result.outcome, looks: Object.fromEntries(shown) }
}

async function* none(): AsyncGenerator<Uint8Array> {}

test('proves more owners than can be looked at while one look is good, where the cluster was there all the time', async () => {
  const told = await proven(async () => undefined)
  deepEqual(told, { outcome: 'done', looks: { 1: MANY } })
})

test('looks at all of them again when the cluster was away in between', async () => {
  const told = await proven(async (question) => (question === 20 ? 503 : undefined))
  deepEqual(told, { outcome: 'done', looks: { 2: MANY } })
})

test('looks at all of them again when the cluster did not say for too long that it is there', async () => {
  const told = await proven(async (question, world) => {
    if (question === 20) await world.clock.sleep(5_001)
    return undefined
  })
  deepEqual(told, { outcome: 'done', looks: { 2: MANY } })
})

test('looks last at an owner whose user may change his mind', async () => {
  const told = await proven(async () => undefined, 'waiting')
  deepEqual(told, { outcome: 'done', looks: { 1: MANY } })
})

test('stops at the first owner that is there', async () => {
  const world = await World.open()
  const there = await world.create('gone-0')
  const pod = await world.dependent('pod')
  const running = world.start()
  await world.clock.advance(10)
  const owners = Array.from({ length: MANY }, (_, i): OwnerClaim => {
    return { ...GONE_CLAIM, name: `gone-${i}`, uid: i === 0 ? there.uid : 'u-gone' }
  })
  world.calls()
  await world.command(world.deleteOf(pod, { evidence: 'not-found', freshness: 'recheck', owners }))
  await world.settled(2)
  await running.stop()
  equal(world.calls()['GET'], LOOKS_AT_ONCE)
  equal(world.exists('pod'), true)
})
