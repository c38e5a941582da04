/** How old read input may be: nothing says how long it waited in a socket. */
import { equal } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { DEFAULT_CONFIG } from '../config.ts'
import { Lag } from './lag.ts'

const { awakeMs, behindMs, catchUpMs } = DEFAULT_CONFIG

function awake(clock: ManualClock): Lag {
  return new Lag({ clock, config: DEFAULT_CONFIG })
}

test('what a process reads that is awake is news', async () => {
  const clock = new ManualClock()
  const lag = awake(clock)
  for (let ticks = 0; ticks < 100; ticks++) {
    await clock.advance(awakeMs)
    equal(lag.ageMs(), 0)
    lag.tick()
  }
  lag.stood(behindMs - 1)
  equal(lag.ageMs(), 0)
})

test('what it reads when it wakes may be as old as its sleep, and so may the rest of the next minute', async () => {
  const clock = new ManualClock()
  const lag = awake(clock)
  await clock.advance(10_000)
  equal(lag.ageMs(), 10_000, 'before anything knows that it slept')
  lag.tick()
  equal(lag.ageMs(), 10_000)
  await clock.advance(awakeMs)
  lag.tick()
  equal(lag.ageMs(), 10_000 + awakeMs)
  for (let passedMs = awakeMs; passedMs < catchUpMs; passedMs += awakeMs) {
    await clock.advance(awakeMs)
    lag.tick()
  }
  equal(lag.ageMs(), 0)
})

test('who sleeps again before it caught up is behind since the first time', async () => {
  const clock = new ManualClock()
  const lag = awake(clock)
  await clock.advance(10_000)
  lag.tick()
  await clock.advance(5_000)
  lag.tick()
  equal(lag.ageMs(), 15_000)
})

test('a sleep that only the clock on the wall saw counts, too', async () => {
  const clock = new ManualClock()
  let suspendedMs = 0
  const machine = {
    now: () => clock.now() + suspendedMs,
    monotonicMs: () => clock.monotonicMs(),
    sleep: (ms: number, signal?: AbortSignal) => clock.sleep(ms, signal),
  }
  const lag = new Lag({ clock: machine, config: DEFAULT_CONFIG })
  suspendedMs = 3_600_000
  equal(lag.ageMs(), 3_600_000)
  lag.tick()
  await clock.advance(awakeMs)
  lag.tick()
  equal(lag.ageMs(), 3_600_000 + awakeMs)
})

test('nothing is news in the minute after nothing could be read', async () => {
  const clock = new ManualClock()
  const lag = awake(clock)
  lag.stood(behindMs)
  equal(lag.ageMs(), behindMs)
  for (let passedMs = 0; passedMs < catchUpMs; passedMs += awakeMs) {
    await clock.advance(awakeMs)
    lag.tick()
  }
  equal(lag.ageMs(), 0)
})
