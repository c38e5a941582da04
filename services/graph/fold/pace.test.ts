/**
 * How often a task commits: at once after a silence, in steps while events trickle in, without a
 * pause while there is a backlog.
 */
import { deepEqual } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ManualClock } from '../../../adapters/memory/clock.ts'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import type { Event } from '../../../core/model/event.ts'
import { appendAll, codec, emptyStore, eventsOf } from '../../../testing/rig/task-rig.ts'
import { FAR, type Pace, READ_LIMIT } from '../config.ts'
import { Task } from './task.ts'

const EVENT: Event = eventsOf([])[0]!
const BEAT: Event = { type: 'Heartbeat', cluster: 'c', epoch: 1, kinds: [] }

/** Records for each commit how many records it held. */
async function committing(pace: Pace, t: TestContext) {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  const commits: number[] = []
  const observe = { committed: (records: number) => void commits.push(records) }
  const store = emptyStore()
  const task = new Task({ log, codec, store, partition: 0, clock, pace, observe })
  const stop = new AbortController()
  t.after(() => stop.abort())
  task.run(stop.signal).catch(() => undefined)
  await clock.advance(0)
  return { clock, log, commits }
}

test('the first event after a silence is committed at once, those behind it together', async (t) => {
  const { clock, log, commits } = await committing(FAR, t)
  await appendAll(log, [EVENT])
  await clock.advance(0)
  deepEqual(commits, [1])
  await appendAll(log, [EVENT, EVENT])
  await clock.advance(FAR.gatherMs - 1)
  await appendAll(log, [EVENT])
  deepEqual(commits, [1])
  await clock.advance(1)
  deepEqual(commits, [1, 3])
  await clock.advance(FAR.gatherMs)
  await appendAll(log, [EVENT])
  await clock.advance(0)
  deepEqual(commits, [1, 3, 1])
})

test('heartbeats wait for others, and for nothing else', async (t) => {
  const { clock, log, commits } = await committing(FAR, t)
  await appendAll(log, [BEAT])
  await clock.advance(FAR.quietMs / 2)
  await appendAll(log, [BEAT])
  await clock.advance(FAR.quietMs / 2 - 1)
  deepEqual(commits, [])
  await clock.advance(1)
  deepEqual(commits, [2])
  await clock.advance(FAR.gatherMs)
  await appendAll(log, [BEAT])
  await clock.advance(FAR.quietMs / 2)
  deepEqual(commits, [2])
  await appendAll(log, [EVENT])
  await clock.advance(0)
  deepEqual(commits, [2, 2])
})

test('a page that is full is followed by the next one at once', async (t) => {
  const { clock, log, commits } = await committing({ batchMs: 1_000, gatherMs: 50, quietMs: 0 }, t)
  await appendAll(log, [EVENT])
  await clock.advance(0)
  await appendAll(
    log,
    Array.from({ length: READ_LIMIT + 1 }, () => EVENT),
  )
  await clock.advance(50)
  deepEqual(commits, [1, READ_LIMIT, 1])
})

test('a task that is taken away lets go after the batch in hand', async (t) => {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await appendAll(log, [EVENT, EVENT, EVENT])
  const stop = new AbortController()
  t.after(() => stop.abort())
  const commits: number[] = []
  const committed = (records: number): void => {
    commits.push(records)
    stop.abort()
  }
  const pace = { ...FAR, batchMs: 0 }
  const options = { log, codec, store: emptyStore(), partition: 0, clock, pace }
  const running = new Task({ ...options, observe: { committed } }).run(stop.signal)
  await clock.advance(0)
  await running
  deepEqual(commits, [1])
})
