/** However many tokens a client makes up, a user whom a cluster knows is let in (T16). */
import { deepEqual, equal, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ManualClock } from '../../adapters/memory/clock.ts'
import type { User } from '../../ports/review.ts'
import { Cuts } from '../shares/cuts.ts'
import type { Problem } from './problem.ts'
import { TokenReviews } from './token-reviews.ts'

const ANN: User = { name: 'ann', uid: '1', groups: [], extra: {} }
const shown = (token: string, source = '10.0.0.9') => ({ authorization: `Bearer ${token}`, source })

function rig({ isSlow = false } = {}) {
  const clock = new ManualClock()
  const cuts = new Cuts(clock)
  const asked: string[] = []
  const open: (() => void)[] = []
  const ask = async (token: string): Promise<User | undefined> => {
    asked.push(token)
    if (isSlow) await new Promise<void>((resolve) => open.push(resolve))
    return token === 'ann' ? ANN : undefined
  }
  return { clock, cuts, asked, open, reviews: new TokenReviews({ ask, clock, cuts }) }
}

test('T16: made-up tokens of one address are reviewed twenty at once and ten a second, and no more', async () => {
  const { reviews, asked, cuts, clock } = rig()
  deepEqual(await reviews.userOf(shown('ann'), false), ANN)
  const statuses: (number | undefined)[] = []
  const attack = async (count: number, from: string): Promise<void> => {
    for (let index = 0; index < count; index++) {
      await reviews.userOf(shown(`${from}-${index}`, '10.6.6.6'), false).then(
        () => statuses.push(undefined),
        (error: Problem) => statuses.push(error.status),
      )
    }
  }
  await attack(3_020, 'a')
  equal(asked.length, 1 + 20)
  equal(statuses.filter((status) => status === 429).length, 3_000)
  equal(cuts.of('token reviews a second', '10.6.6.6')?.count, 3_000)
  await clock.advance(1_000)
  await attack(3_000, 'b')
  equal(asked.length, 1 + 20 + 10)
  // Another address is none the worse for it, nor a user who is known there, long after the answer
  // about them has lapsed.
  equal(await reviews.userOf(shown('ben', '10.0.0.8'), false), undefined)
  await clock.advance(70_000)
  await attack(100, 'c')
  deepEqual(await reviews.userOf(shown('ann', '10.6.6.6'), false), ANN)
})

test('T16: refused tokens push out no known one, and are not asked about again', async () => {
  const { reviews, asked, clock } = rig()
  deepEqual(await reviews.userOf(shown('ann'), false), ANN)
  for (let index = 0; index < 12_000; index++) {
    await reviews.userOf(shown(`made-up-${index}`, `10.6.${index >> 8}.${index & 255}`), false)
    await clock.advance(2)
  }
  const before = asked.length
  deepEqual(await reviews.userOf(shown('ann'), false), ANN)
  equal(await reviews.userOf(shown('made-up-0'), false), undefined)
  equal(asked.length, before)
})

test('T16: while unknown tokens wait for a slow cluster, a known one waits for none of them', async () => {
  const { reviews, asked, open, clock } = rig({ isSlow: true })
  const first = reviews.userOf(shown('ann'), false)
  await setImmediate()
  open.shift()?.()
  await first
  await clock.advance(70_000)
  const attack = Array.from({ length: 200 }, (_, index) =>
    reviews.userOf(shown(`x-${index}`, `10.6.6.${index >> 4}`), false).catch(() => undefined),
  )
  await setImmediate()
  equal(asked.length, 1 + 12)
  const mine = reviews.userOf(shown('ann'), false)
  await setImmediate()
  deepEqual(asked.slice(13), ['ann'])
  for (let end = open.shift(); end !== undefined; end = open.shift()) {
    end()
    await setImmediate()
  }
  deepEqual(await mine, ANN)
  await Promise.all(attack)
})

test('T16: one token is reviewed once for all who show it, and for orders anew', async () => {
  const { reviews, asked, open } = rig({ isSlow: true })
  const all = [1, 2, 3].map(() => reviews.userOf(shown('ann'), false))
  await setImmediate()
  const orders = [1, 2].map(() => reviews.userOf(shown('ann'), true))
  await setImmediate()
  deepEqual(asked, ['ann'])
  open.shift()?.()
  deepEqual(await Promise.all(all), [ANN, ANN, ANN])
  await setImmediate()
  deepEqual(asked, ['ann', 'ann'])
  open.shift()?.()
  deepEqual(await Promise.all(orders), [ANN, ANN])
})

test('a review that fails is not remembered', async () => {
  const clock = new ManualClock()
  let isAway = true
  const reviews = new TokenReviews({
    ...{ clock, cuts: new Cuts(clock) },
    ask: async () => {
      if (isAway) throw new Error('away')
      return ANN
    },
  })
  await rejects(reviews.userOf(shown('ann'), false), /away/)
  isAway = false
  ok(await reviews.userOf(shown('ann'), false))
})
