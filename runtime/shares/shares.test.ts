/** However much one holder uses, another one gets some, and what was cut is said. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Fields, Logger } from '../logger.ts'
import { Cuts } from './cuts.ts'
import { Shares } from './shares.ts'

const CLOCK = { now: () => 1_000, monotonicMs: () => 0 }

function sharesOf(total: number, floor: number, logger?: Logger): { shares: Shares; cuts: Cuts } {
  const cuts = new Cuts(CLOCK, logger)
  return { shares: new Shares({ name: 'things', total, floor }, cuts), cuts }
}

/**
 * Takes one, as the owner of the amount does: the giver gives first, and the holder may be the
 * giver.
 */
function taken(shares: Shares, holder: string): boolean {
  for (;;) {
    const giver = shares.giver(holder)
    if (giver === null) return shares.take(holder)
    if (giver === holder) return false
    shares.cut(giver)
    shares.give(giver)
  }
}

test('one holder may have all of it, until another one asks', () => {
  const { shares, cuts } = sharesOf(4, 1)
  deepEqual(
    [1, 2, 3, 4, 5].map(() => taken(shares, 'a')),
    [true, true, true, true, false],
  )
  equal(taken(shares, 'b'), true)
  deepEqual([shares.of('a'), shares.of('b'), shares.taken], [3, 1, 4])
  equal(cuts.of('things', 'a')?.count, 1)
})

test('what a holder has up to the floor is never taken from it', () => {
  const { shares } = sharesOf(6, 2)
  for (const holder of ['a', 'a', 'a', 'a', 'b', 'b']) equal(taken(shares, holder), true)
  deepEqual(
    [1, 2, 3].map(() => taken(shares, 'c')),
    [true, true, false],
  )
  equal(taken(shares, 'a'), false)
  deepEqual([shares.of('a'), shares.of('b'), shares.of('c')], [2, 2, 2])
})

test('where there are more holders than floors, each has an equal part', () => {
  const { shares } = sharesOf(4, 2)
  for (const holder of ['a', 'a', 'b', 'b', 'c', 'd']) equal(taken(shares, holder), true)
  deepEqual(
    ['a', 'b', 'c', 'd'].map((each) => shares.of(each)),
    [1, 1, 1, 1],
  )
  equal(taken(shares, 'e'), false)
})

test('what is given back is there for anybody, once', () => {
  const { shares } = sharesOf(2, 1)
  for (const holder of ['a', 'a']) taken(shares, holder)
  shares.give('a', 5)
  equal(shares.taken, 0)
  deepEqual([taken(shares, 'b'), taken(shares, 'b'), taken(shares, 'b')], [true, true, false])
})

test('whoever asks without end, the total is kept and nobody is below floor or equal share', () => {
  const asks = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 200 })
  fc.assert(fc.property(asks, fc.integer({ min: 5, max: 40 }), fc.integer({ min: 1, max: 3 }), run))
  function run(holders: readonly string[], total: number, floor: number): void {
    const { shares } = sharesOf(total, floor)
    const asked = new Map<string, number>()
    for (const holder of holders) {
      taken(shares, holder)
      asked.set(holder, (asked.get(holder) ?? 0) + 1)
      ok(shares.taken <= total)
    }
    const equalShare = Math.floor(total / Math.max(1, asked.size))
    for (const [holder, times] of asked) {
      ok(shares.of(holder) >= Math.min(times, floor, equalShare), `${holder} is below its floor`)
    }
  }
})

test('a cap that cuts is said once an hour in the log, and counted each time', () => {
  const lines: Fields[] = []
  const { shares, cuts } = sharesOf(1, 1, {
    log: (_level, _message, fields = {}) => lines.push(fields),
  })
  taken(shares, 'a')
  for (const holder of ['b', 'c', 'd']) equal(shares.take(holder), false)
  deepEqual(lines, [{ cap: 'things', holder: 'b', times: 1 }])
  deepEqual([...cuts.counts()], [['things', 3]])
})

test('a holder beyond those that are remembered apart is in doubt, never silent', () => {
  const cuts = new Cuts(CLOCK)
  for (let i = 0; i < 2_000; i++) cuts.note('things', `holder-${i}`)
  ok((cuts.of('things', 'holder-1999')?.count ?? 0) > 0)
  equal(cuts.of('other', 'holder-1'), undefined)
})
