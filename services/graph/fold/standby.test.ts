/**
 * A task that folded a moment ago becomes a standby over the same store, although its last commit
 * may not be visible yet.
 */
import { deepEqual, equal, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Bounds } from '../../../ports/log.ts'
import { LogError } from '../../../ports/log.ts'
import type { Store } from '../../../ports/store.ts'
import { systemClock } from '../../../runtime/clock.ts'
import {
  appendAll,
  codec,
  contentOf,
  emptyStore,
  eventsOf,
  runTask,
} from '../../../testing/rig/task-rig.ts'
import { Standby } from './standby.ts'

/** The markers of the last commit are delayed for as long as the test demands. */
class SlowMarkers extends MemoryLog {
  isSlow = true

  override async bounds(...asked: Parameters<MemoryLog['bounds']>): Promise<Bounds> {
    const { start, end } = await super.bounds(...asked)
    return { start, end: this.isSlow ? end - 1n : end }
  }
}

async function folded(): Promise<{ log: SlowMarkers; store: Store }> {
  const log = new SlowMarkers({ partitions: 1, clock: systemClock() })
  log.isSlow = false
  const store = emptyStore()
  await appendAll(log, eventsOf(['put cm/a']))
  await using running = runTask(log, store)
  await running.caughtUp()
  log.isSlow = true
  return { log, store }
}

test('a commit whose markers are not written yet is waited for', async () => {
  const { log, store } = await folded()
  const before = await contentOf(store)
  const clock = new ManualClock()
  const stop = new AbortController()
  const standby = new Standby({ log, codec, clock, store, partition: 0 })
  const running = standby.run(stop.signal)
  let failure: unknown
  running.catch((error: unknown) => {
    failure = error
  })
  await clock.advance(5_000)
  equal(failure, undefined)
  log.isSlow = false
  await clock.advance(5_000)
  equal(failure, undefined)
  equal(standby.status().lagEntries, 0n)
  deepEqual(await contentOf(store), before)
  stop.abort()
  await running
})

test('a changelog that stays behind the store has lost its end', async () => {
  const { log, store } = await folded()
  const clock = new ManualClock()
  const standby = new Standby({ log, codec, clock, store, partition: 0 })
  const running = standby.run(new AbortController().signal)
  const ended = rejects(running, (error) => error instanceof LogError && error.code === 'DAMAGED')
  await clock.advance(60_000)
  await ended
})
