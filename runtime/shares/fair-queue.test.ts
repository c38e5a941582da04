/** A client that asks without end is the one that waits, and that is refused (T13). */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { OPERATORS, USERS } from '../http/client.ts'
import { Cuts } from './cuts.ts'
import { FairQueue } from './fair-queue.ts'
import type { Holder } from './grouped-shares.ts'

const user = (name: string): Holder => ({ group: USERS, name })
const OPERATOR: Holder = { group: OPERATORS, name: 'op' }

/** Work that ends when the test says so; names in the order in which it began. */
function rig(atOnce = 1, ofOne = 1) {
  const cap = { name: 'questions', total: 8, floor: 1, groupFloor: 2 }
  const queue = new FairQueue({ cap, atOnce, ofOne, cuts: new Cuts(new ManualClock()) })
  const begun: string[] = []
  const open: (() => void)[] = []
  const refused: string[] = []
  const ask = (client: Holder): void => {
    const work = async (): Promise<void> => {
      begun.push(client.name)
      await new Promise<void>((resolve) => open.push(resolve))
    }
    queue.run(client, work).catch(() => refused.push(client.name))
  }
  const endAll = async (): Promise<void> => {
    await setImmediate()
    for (let end = open.shift(); end !== undefined; end = open.shift()) {
      end()
      await setImmediate()
    }
  }
  return { queue, begun, refused, ask, open, endAll }
}

test('T13: a client that asks twelve at a time delays each other one by one piece of its own', async () => {
  const { begun, refused, ask, endAll } = rig()
  for (let count = 0; count < 12; count++) ask(user('loop'))
  ask(user('ann'))
  ask(OPERATOR)
  ask(user('ben'))
  await endAll()
  deepEqual(begun.slice(0, 5), ['loop', 'loop', 'op', 'ann', 'ben'])
  ok(refused.length > 0)
  deepEqual(new Set(refused), new Set(['loop']))
})

test('a client that nobody else competes with has all of it, and is told when that is full', async () => {
  const { queue, begun, refused, ask, endAll } = rig()
  for (let count = 0; count < 9; count++) ask(user('ann'))
  await rejects(
    queue.run(user('ann'), async () => undefined),
    { status: 429 },
  )
  await endAll()
  equal(begun.length, 9)
  deepEqual(refused, [])
})

test('no client has all that is done at a time', async () => {
  const { begun, ask, endAll } = rig(4, 2)
  for (let count = 0; count < 6; count++) ask(user('loop'))
  ask(user('ann'))
  await setImmediate()
  deepEqual(begun, ['loop', 'loop', 'ann'])
  await endAll()
  equal(begun.length, 7)
})
