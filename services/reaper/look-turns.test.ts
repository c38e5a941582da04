/**
 * Shows that live GETs of one namespace's owners leave places to others, however many there are.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import type { OwnerClaim } from '../../core/model/command.ts'
import { GONE_CLAIM, World } from '../../testing/rig/reaper-world.ts'
import { LookTurns } from './look-turns.ts'

test('T10: eight commands with 500 owners each do not delay the GET of another namespace', async () => {
  const world = await World.open()
  const sent: string[] = []
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const running = world.start()
  await world.clock.advance(10)
  world.server.inject(async ({ method, path }) => {
    const name = /(hostile|bystander)-\d+$/.exec(path)?.[0]
    if (method !== 'GET' || name === undefined) return undefined
    sent.push(name)
    await released
    return { status: 403, headers: {}, body: none() }
  })
  for (let i = 0; i < 8; i++) {
    const pod = await world.dependent(`pod-${i}`)
    const owners = claims(500, 'hostile', 'default', i)
    await world.command(
      world.deleteOf(pod, { evidence: 'not-found', freshness: 'recheck', owners }),
    )
  }
  await world.clock.advance(100)
  // Of 16 at the throttle's first limit.
  equal(sent.length, 12)
  const other = { ...(await world.dependent('other')), namespace: 'other', uid: 'u-other' }
  const owners = claims(1, 'bystander', 'other', 0)
  await world.command(
    world.deleteOf(other, { evidence: 'not-found', freshness: 'recheck', owners }),
  )
  await world.clock.advance(100)
  deepEqual(sent.slice(12), ['bystander-0'])
  release()
  await world.settled(9)
  await running.stop()
})

test('T10: namespaces take turns, and each has at most three quarters', async () => {
  const turns = new LookTurns(() => 2)
  const started: string[] = []
  const ends: (() => void)[] = []
  const ask = (namespace: string): Promise<void> =>
    turns.run(namespace, () => {
      started.push(namespace)
      return new Promise((resolve) => void ends.push(resolve))
    })
  const all = [...'aaaaaaa', ...'bb', 'c'].map(ask)
  await settled()
  equal(started.join(''), 'aaab')
  for (let i = 0; i < all.length; i++) {
    ends[i]?.()
    await settled()
  }
  await Promise.all(all)
  equal(started.join(''), 'aaababcaaa')
})

test('T10: an overloaded cluster gets one live GET of a namespace at a time', async () => {
  const turns = new LookTurns(() => 1)
  let [underWay, most] = [0, 0]
  const ask = (): Promise<void> =>
    turns.run('a', async () => {
      most = Math.max(most, ++underWay)
      await settled()
      underWay--
    })
  await Promise.all(Array.from({ length: 20 }, ask))
  equal(most, 1)
})

function claims(count: number, name: string, namespace: string, of: number): OwnerClaim[] {
  const claim = { ...GONE_CLAIM, namespace }
  return Array.from({ length: count }, (_, i) => ({ ...claim, name: `${name}-${of * count + i}` }))
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve))
}

async function* none(): AsyncGenerator<Uint8Array> {}
