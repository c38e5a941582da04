/**
 * However much one holder uses up, and with however many names, another one gets its part of it.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Cuts } from './cuts.ts'
import { RateShares } from './rate-shares.ts'

const HOUR_MS = 3_600_000

function rig(total: number): {
  readonly cuts: Cuts
  take(path: string, times?: number): number
  wait(hours: number): void
} {
  let now = 0
  const clock = { now: () => now, monotonicMs: () => now }
  const cuts = new Cuts(clock)
  const shares = new RateShares({ name: 'requests', total }, clock, cuts)
  return {
    cuts,
    take: (path, times = 1) =>
      Array.from({ length: times }, () => shares.take(path.split('/'))).filter(Boolean).length,
    wait: (hours) => {
      now += hours * HOUR_MS
    },
  }
}

test('one has all of it while nobody else asks, and what is refused is noted', () => {
  const { take, cuts } = rig(100)
  equal(take('c/evil/mallory', 150), 100)
  deepEqual([...cuts.counts()], [['requests', 50]])
  equal(cuts.of('requests', 'c/evil/mallory')?.count, 50)
})

test('what one has used up another one gets, half of it', () => {
  const { take } = rig(100)
  take('c/evil/mallory', 1_000)
  equal(take('c/shop/alice', 1_000), 50)
  equal(take('c/evil/mallory', 1_000), 0)
  equal(take('c/evil/other', 1_000), 25, 'of what its namespace has')
})

test('with however many names in its namespace, it has one part', () => {
  const { take } = rig(100)
  for (let each = 0; each < 1_000; each++) take(`c/evil/account-${each}`, 10)
  equal(take('c/shop/alice', 1_000), 50)
  equal(take('d/shop/alice', 1_000), 50)
  for (let each = 0; each < 1_000; each++) take(`c/evil/later-${each}`, 10)
  equal(take('c/shop/bob', 10), 10)
})

test('a day later all of it is there again, and an hour later none', () => {
  const { take, wait } = rig(100)
  take('c/evil/mallory', 60)
  wait(1)
  equal(take('c/evil/mallory', 60), 40)
  wait(22)
  equal(take('c/evil/mallory', 60), 0)
  wait(1)
  equal(take('c/evil/mallory', 100), 60)
  wait(24)
  equal(take('c/evil/mallory', 200), 100)
})

test('a holder that has had less than its part is never refused', () => {
  const holders = ['c/n/a', 'c/n/b', 'c/m/a', 'd/n/a', 'd/n/b', 'd/n/c']
  // Of two clusters, two namespaces or three users of one each.
  const part = Math.floor(60 / 2 / 2 / 3)
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...holders), { maxLength: 400 }), (asked) => {
      const { take } = rig(60)
      const had = new Map<string, number>()
      for (const path of asked) {
        const before = had.get(path) ?? 0
        const isTaken = take(path) === 1
        ok(isTaken || before >= part, `${path} has had ${before}`)
        had.set(path, before + Number(isTaken))
      }
      const sum = [...had.values()].reduce((all, each) => all + each, 0)
      ok(sum <= 60 * (1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5 + 1 / 6))
    }),
  )
})
