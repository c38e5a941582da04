/**
 * Shows the times that a log gives while its machine's clocks misbehave. Whole logs:
 * log.contract.ts.
 */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { DEFAULT_CONFIG } from '../services/watcher/config.ts'
import { AppendTime, MOST_AHEAD_MS } from './append-time.ts'

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

test('append times are the wall clock, also when it is put right by a second or runs at a pace of its own', () => {
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
  const ahead = WALL_MS + 10_000
  const time = new AppendTime(clocks, ahead)
  time.confirm([0])
  const given = [0, 1, 3_000, 6_000, 4_000].map((ms) => {
    clocks.pass(ms)
    return time.now() - ahead
  })
  deepEqual(given, [0, 1, 3_001, 9_001, 13_001])
  clocks.pass(20_000)
  clocks.wallMs = ahead + 35_000
  equal(time.now(), ahead + 35_000, 'the wall clock has come up with it')
})

test('append times run ahead of the monotonic clock by a heartbeat at most, however often the wall clock is set forward', () => {
  equal(MOST_AHEAD_MS, DEFAULT_CONFIG.heartbeatMs)
  const clocks = new Clocks()
  const time = new AppendTime(clocks, WALL_MS - 60_000)
  time.confirm([0])
  for (const setMs of [3_000, 3_000, 3_600_000, -1_800_000, 86_400_000]) {
    clocks.pass(1_000)
    clocks.wallMs += setMs
    const goneMs = clocks.elapsedMs - 5_000
    ok(time.now() <= WALL_MS + goneMs + MOST_AHEAD_MS, `after ${setMs}`)
  }
  const before = time.now()
  clocks.pass(3_600_000)
  equal(time.now() - before, 3_600_000, 'it stands, or catches up')
  equal(time.wallAheadMs(), clocks.wallMs - time.now())
  const next = new AppendTime(clocks, time.now())
  next.confirm([0])
  equal(next.now(), clocks.wallMs, 'the next start goes by clocks that agree')
})

test('at a start the time since the newest entry counts as far as the wall clock and all others agree (T17)', () => {
  const hour = 3_600_000
  const slack = MOST_AHEAD_MS
  const cases: readonly [
    why: string,
    wallMs: number,
    skewsMs: readonly number[],
    countedMs: number,
  ][] = [
    ['a weekend that all confirm', 60 * hour, [300, -400], 60 * hour],
    ['nobody answers', 60 * hour, [], 0],
    ['65 minutes ahead at a restart', 65 * 60_000, [-65 * 60_000], slack],
    ['a weekend, and an hour ahead', 61 * hour, [-hour, -hour], 60 * hour + slack],
    ['one of two says less', 60 * hour, [0, -50 * hour], 10 * hour + slack],
    ['one says more', 60 * hour, [50 * hour], 60 * hour],
    ['a date of long ago', hour, [-WALL_MS], slack],
    ['a wall clock that is behind, and a date that says so', -hour, [2 * hour], 0],
  ]
  for (const [why, wallMs, skewsMs, countedMs] of cases) {
    const clocks = new Clocks()
    clocks.wallMs += wallMs
    const time = new AppendTime(clocks, WALL_MS)
    equal(time.now(), WALL_MS, `${why}: before anybody was asked`)
    time.confirm(skewsMs)
    const atMost = WALL_MS + countedMs
    const given = time.now()
    ok(given <= atMost && given >= atMost - slack, `${why}: ${given - WALL_MS}`)
    for (let minute = 0; minute < 30; minute++) {
      clocks.pass(60_000)
      time.now()
    }
    const later = time.now() - given
    ok(later >= hour / 2 && later <= hour / 2 + slack, `${why}: it goes on by the monotonic clock`)
  }
})

test('a person who says that the wall clock is right ends the wait, however long it ran', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, WALL_MS - 7_200_000)
  clocks.pass(60_000)
  equal(time.wallAheadMs(), 7_200_000)
  time.confirmWall()
  equal(time.wallAheadMs(), 0)
  clocks.wallMs += 3_600_000
  ok(time.wallAheadMs() > 3_590_000, 'what comes after is not confirmed')
  time.confirmWall()
  equal(time.now(), clocks.wallMs)
})

test('what was given before a start is as old as the wall clock says, whatever of that was confirmed', () => {
  for (const skewsMs of [[], [0], [-3_600_000]]) {
    const clocks = new Clocks()
    const time = new AppendTime(clocks, WALL_MS - 7_200_000)
    clocks.pass(1_000)
    time.confirm(skewsMs)
    clocks.pass(1_000)
    const ageMs = time.ageMs(WALL_MS - 7_200_000)
    ok(ageMs >= 7_202_000 - 1 && ageMs <= 7_203_000 + MOST_AHEAD_MS, `${skewsMs}: ${ageMs}`)
  }
})

test('what was given before the wall clock was set forward is as old as that clock says, and what comes after is young', () => {
  const clocks = new Clocks()
  const time = new AppendTime(clocks, 0)
  const before = time.now()
  clocks.pass(2_000)
  equal(time.ageMs(before), 2_000)
  clocks.wallMs += 3_600_000
  equal(time.ageMs(before), 3_602_000)
  clocks.pass(1_000)
  const after = time.now()
  clocks.pass(4_000)
  equal(time.ageMs(after), 4_000)
  equal(time.ageMs(before), 3_607_000)
  clocks.wallMs -= 3_600_000
  equal(time.ageMs(after), 4_000, 'set back')
  equal(time.ageMs(before), 3_607_000)
  clocks.wallMs += 1_800_000
  ok(time.ageMs(after) >= 1_804_000, 'set forward again')
  const ahead = new AppendTime(clocks, clocks.wallMs + 86_400_000)
  const given = ahead.now()
  clocks.wallMs += 3_600_000
  equal(ahead.ageMs(given), 3_600_000, 'set forward where the log is a day ahead')
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
