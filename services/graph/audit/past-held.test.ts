/** What was held at a moment, folded again from the log, is what a graph process answered then. */
import { deepEqual, equal, match, ok, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { MemoryLog } from '../../../adapters/memory/log.ts'
import { SettableClock } from '../../../testing/settable-clock.ts'
import {
  appendAll,
  assign,
  BREAKER_STORY,
  codec,
  emptyStore,
  eventsOf,
  runTask,
  viewOf,
} from '../../../testing/task-rig.ts'
import { takeSnapshot } from '../fold/retention.ts'
import { heldIn, type OwnHeld } from '../query/held.ts'
import { WHOLE } from '../query/sight.ts'
import { readerOf } from '../query/view.ts'
import { type HeldQuestion, heldAt, type PastHeld } from './past-held.ts'
import { TooEarlyError } from './reach.ts'

const SCOPE = { namespace: undefined, isWhole: true, sight: async () => WHOLE }
const NO_NAMESAKES = { namesake: async () => '' }

async function heldThen(
  log: MemoryLog,
  asked: HeldQuestion['asked'],
): Promise<PastHeld | undefined> {
  const about = { asked, namespace: undefined, chosen: <T>(seen: readonly T[]) => seen }
  const parts = { log, codec, store: emptyStore(), partition: 0, clock: new SettableClock() }
  return await heldAt({ ...parts, ...about }, new AbortController().signal)
}

test('at a sample of positions it is what a graph process answered there', async () => {
  const log = new MemoryLog({ partitions: 1, clock: new SettableClock() })
  await assign(log)
  const told: { readonly position: bigint; readonly held: OwnHeld }[] = []
  await using running = runTask(log, emptyStore())
  for (const event of eventsOf(BREAKER_STORY)) {
    await appendAll(log, [event])
    await running.caughtUp()
    const { position } = running.task.status()
    const reader = readerOf(running.task.store, codec)
    const views = [viewOf(running.task)]
    told.push({ position, held: await heldIn(views, [reader], NO_NAMESAKES, SCOPE) })
  }
  ok(told.some(({ held }) => held.counts.length > 0))
  const sampled = told.filter(({ held }, index) => held.counts.length > 0 || index % 60 === 0)
  for (const { position, held } of sampled.filter((_, index) => index % 4 === 0)) {
    const then = await heldThen(log, { type: 'position', partition: 0, position })
    if (then?.clusters.length === 0) continue
    deepEqual(answerOf(then), answerOf(held), `position ${position}`)
  }
})

function answerOf(held: OwnHeld | undefined): object {
  const { mode, pauses, protections, breakers, counts, total, hidden, asOf } = held!
  return { mode, pauses, protections, breakers, counts, total, hidden, asOf }
}

test('a moment before the first snapshot that is kept is refused, with the earliest one', async () => {
  const clock = new SettableClock()
  const log = new MemoryLog({ partitions: 1, clock })
  await assign(log)
  await appendAll(log, eventsOf(['put deploy/web', 'put rs/web <- deploy/web']))
  const early = clock.now()
  clock.pass(10_000)
  {
    await using running = runTask(log, emptyStore(), undefined, 0, clock)
    await running.caughtUp()
    await takeSnapshot({ log, codec, task: running.task }, new AbortController().signal)
    await log.trim('events', 0, (await log.bounds('events', 0)).end)
    const { position } = running.task.status()
    const then = await heldThen(log, { type: 'position', partition: 0, position })
    deepEqual([then?.clusters.map(({ id }) => id), then?.total], [['c'], 0])
  }
  await rejects(heldThen(log, { type: 'time', at: early }), (error) => {
    ok(error instanceof TooEarlyError)
    match(error.message, /partition 0 can be folded again from \S+ on: name a later time/)
    return true
  })
  await rejects(heldThen(log, { type: 'position', partition: 0, position: 1n }), TooEarlyError)
  equal(await heldThen(log, { type: 'position', partition: 3, position: 1n }), undefined)
})
