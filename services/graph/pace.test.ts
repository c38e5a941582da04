/** How often a task commits: at once after a silence, in steps while events trickle in, without a pause while there is a backlog. */
import { deepEqual, ok } from 'node:assert/strict'
import { test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import type { Event } from '../../core/event.ts'
import { appendAll, codec, emptyStore, eventsOf } from '../../testing/task-rig.ts'
import { FAR, type Pace, READ_LIMIT } from './config.ts'
import { inTurn } from './in-turn.ts'
import { Task } from './task.ts'

const EVENT: Event = eventsOf([])[0]!

/** Tells of each commit how many records it held. */
async function committing(pace: Pace, t: { after(work: () => void): void }) {
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

test('a page that is full is followed by the next one at once', async (t) => {
  const { clock, log, commits } = await committing({ batchMs: 1_000, gatherMs: 50 }, t)
  await appendAll(log, [EVENT])
  await clock.advance(0)
  await appendAll(
    log,
    Array.from({ length: READ_LIMIT + 1 }, () => EVENT),
  )
  await clock.advance(50)
  deepEqual(commits, [1, READ_LIMIT, 1])
})

/** Two tasks of one process; tells of which partition each event was, in the order in which they were folded, and of how many each commit. */
async function sharing(told: readonly [number, number], t: { after(work: () => void): void }) {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 2, clock })
  for (const [partition, count] of told.entries()) {
    const events = Array.from({ length: count }, () => EVENT)
    await appendAll(log, events, partition)
  }
  const folded: number[] = []
  const behind = inTurn()
  const stop = new AbortController()
  t.after(() => stop.abort())
  for (const partition of [0, 1]) {
    const observe = { folded: () => void folded.push(partition) }
    const options = { log, codec, store: emptyStore(), partition, clock, pace: FAR, observe }
    new Task({ ...options, behind }).run(stop.signal).catch(() => undefined)
  }
  await clock.advance(0)
  return folded
}

test('of tasks that are behind one folds at a time', async (t) => {
  const folded = await sharing([READ_LIMIT, READ_LIMIT], t)
  const changes = folded.filter((partition, at) => at > 0 && partition !== folded[at - 1])
  deepEqual([folded.length, changes], [2 * READ_LIMIT, [1]])
})

test('who is not behind waits for nobody who is', async (t) => {
  const folded = await sharing([READ_LIMIT, 2], t)
  const last = folded.lastIndexOf(1)
  ok(last < READ_LIMIT, `folded after ${last} of the other`)
})
