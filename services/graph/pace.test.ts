/** How often a task commits: at once after a silence, in steps while events trickle in, without a pause while there is a backlog. */
import { deepEqual, equal, ok } from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ManualClock } from '../../adapters/memory/clock.ts'
import { MemoryLog } from '../../adapters/memory/log.ts'
import { placeAll } from '../../adapters/memory/placement.ts'
import type { Event } from '../../core/event.ts'
import { appendAll, codec, emptyStore, eventsOf } from '../../testing/task-rig.ts'
import { FAR, type Pace, READ_LIMIT } from './config.ts'
import { createGraph } from './graph.ts'
import { DEFAULT_RETENTION } from './retention.ts'
import { Task } from './task.ts'

const EVENT: Event = eventsOf([])[0]!

/** Tells of each commit how many records it held. */
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

test('a page that is full is followed by the next one at once', async (t) => {
  const { clock, log, commits } = await committing({ ...FAR, batchMs: 1_000 }, t)
  await appendAll(log, [EVENT])
  await clock.advance(0)
  await appendAll(
    log,
    Array.from({ length: READ_LIMIT + 1 }, () => EVENT),
  )
  await clock.advance(50)
  deepEqual(commits, [1, READ_LIMIT, 1])
})

/** Both partitions of one process; tells of which each event was, in the order in which they were folded. */
async function sharing(told: readonly [number, number], pace: Pace, t: TestContext) {
  const clock = new ManualClock()
  const log = new MemoryLog({ partitions: 2, clock })
  for (const [partition, count] of told.entries()) {
    const events = Array.from({ length: count }, () => EVENT)
    await appendAll(log, events, partition)
  }
  const folded: number[] = []
  const graph = createGraph({
    ...{ log, codec, clock, pace, retention: DEFAULT_RETENTION, placement: placeAll(2) },
    openStore: async () => emptyStore(),
    observe: { folded: (_event, { partition }) => void folded.push(partition) },
  })
  const stop = new AbortController()
  t.after(() => stop.abort())
  graph.run('', stop.signal).catch(() => undefined)
  await clock.advance(0)
  const changes = folded.filter((partition, at) => at > 0 && partition !== folded[at - 1])
  return { folded, changes: changes.length }
}

test('of tasks that are behind one folds at a time', async (t) => {
  const { folded, changes } = await sharing([READ_LIMIT, READ_LIMIT], FAR, t)
  deepEqual([folded.length, changes], [2 * READ_LIMIT, 1])
})

test('a turn ends with its batch, and not with its page', async (t) => {
  const { folded, changes } = await sharing([READ_LIMIT, READ_LIMIT], { ...FAR, turnMs: 0 }, t)
  deepEqual([folded.length, changes], [2 * READ_LIMIT, 2 * READ_LIMIT - 1])
})

test('who is not behind waits for nobody who is', async (t) => {
  const { folded } = await sharing([READ_LIMIT, 2], FAR, t)
  equal(folded.length, READ_LIMIT + 2)
  const last = folded.lastIndexOf(1)
  ok(last < READ_LIMIT, `folded after ${last} of the other`)
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
