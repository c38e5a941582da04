/** Shows the times that a log gives while its machine's clocks do what clocks do. Whole logs: log.contract.ts. */
import { deepEqual, equal } from 'node:assert/strict'
import { test } from 'node:test'
import { AppendTime } from './append-time.ts'

const WALL_MS = 1_700_000_000_000

class Clocks {
  wallMs: number = WALL_MS
  elapsedMs = 5_000

  now(): number {
    return Math.floor(this.wallMs)
  }

  monotonicMs(): number {
    return this.elapsedMs
  }

  pass(ms: number): void {
    this.wallMs += ms
    this.elapsedMs += ms
  }
}

test('append times are the wall clock, also when it leaps ahead or runs at a pace of its own', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, 0)
  clocks.wallMs += 0.75
  equal(time.now(), WALL_MS)
  clocks.wallMs += 1_000
  equal(time.now(), WALL_MS + 1_000)
  clocks.elapsedMs += 1_000
  equal(time.now(), WALL_MS + 1_000)
})

test('append times go on by the monotonic clock while the wall clock is behind them', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, 0)
  clocks.wallMs += 10_000
  const ahead = time.now()
  clocks.wallMs -= 10_000
  const given = [0, 1, 3_000, 6_000, 4_000].map((ms) => {
    clocks.pass(ms)
    return time.now() - ahead
  })
  deepEqual(given, [0, 1, 3_001, 9_001, 13_001])
  clocks.wallMs = ahead + 20_000
  equal(time.now(), ahead + 20_000)
})

test('append times go on from those of an earlier process', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, WALL_MS + 86_400_000)
  clocks.pass(60_000)
  equal(time.now(), WALL_MS + 86_400_000 + 60_000)
})

test('append times do not stand when many are given within a millisecond', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, WALL_MS + 86_400_000)
  for (let i = 0; i < 400; i++) {
    clocks.pass(0.25)
    time.now()
  }
  equal(time.now(), WALL_MS + 86_400_000 + 100)
})

test('append times never go back, wherever the wall clock is set', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, 0)
  const given = [0, -5_000, 2_000, 9_000, -9_000, -1, 1].map((ms) => {
    clocks.wallMs += ms
    clocks.elapsedMs += 0.5
    return time.now()
  })
  deepEqual(
    given,
    given.toSorted((a, b) => a - b),
  )
})
